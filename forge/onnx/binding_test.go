package onnx

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/importer"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

type values map[string]*tensor.Tensor

// graphOf imports a model with values at hand for its inputs.
func graphOf(t *testing.T, p *proto.Model, v values) *importer.Program {
	t.Helper()
	got, err := read(t, p).Graph(context.Background(), importer.Binding{Values: v})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// wantOutputs runs a model and compares its outputs.
func wantOutputs(t *testing.T, p *proto.Model, v values, want ...*tensor.Tensor) *importer.Program {
	t.Helper()
	program := graphOf(t, p, v)
	got, err := execute(program, v)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("%d outputs, want %d", len(got), len(want))
	}
	for i := range want {
		if err := closeTo(got[i], want[i]); err != nil {
			t.Errorf("output %d: %v", i, err)
		}
	}
	return program
}

func wantError(t *testing.T, p *proto.Model, b importer.Binding, want string) {
	t.Helper()
	_, err := read(t, p).Graph(context.Background(), b)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
}

func f32s(t *testing.T, v ...float32) *tensor.Tensor { return mustFrom(t, []int{len(v)}, v) }
func i64s(t *testing.T, v ...int64) *tensor.Tensor   { return mustFrom(t, []int{len(v)}, v) }
func i64Of(t *testing.T, v int64) *tensor.Tensor     { return mustFrom(t, []int{}, []int64{v}) }

func TestBinding(t *testing.T) {
	reshape := node("Reshape", names("x", "x_like"), names("y"))
	reshape.Name = "flat"
	g := &proto.Graph{
		Inputs: []*proto.ValueInfo{info("x", proto.Float, 4), info("x_like", proto.Int64, 2)},
		Nodes:  []*proto.Node{reshape}, Outputs: untyped("y"),
	}
	x := f32s(t, 1, 2, 3, 4)
	p := wantOutputs(t, modelOf(17, g), values{"x": x, "x_like": i64s(t, 2, -1)}, mustFrom(t, []int{2, 2}, []float32{1, 2, 3, 4}))
	if len(p.Bound) != 1 || p.Bound[0].Input != "x_like" || p.Bound[0].For != `the shape of Reshape "flat"` || !slices.Equal(p.Bound[0].Value.Int64(), []int64{2, -1}) {
		t.Errorf("bound: %+v", p.Bound)
	}
	if !slices.Equal(p.Inputs, []string{"x"}) {
		t.Errorf("inputs: %v", p.Inputs)
	}
	wantError(t, modelOf(17, g), importer.Binding{}, `"x_like", the shape of Reshape "flat", must be known when the program is compiled: give a value for input "x_like"`)
}

// What an operand is computed from is bound, also through arithmetic.
func TestBindingThroughArithmetic(t *testing.T) {
	g := with(&proto.Graph{
		Inputs: []*proto.ValueInfo{info("x", proto.Float, 4), info("n", proto.Int64)},
		Nodes: []*proto.Node{
			node("Mul", names("n", "two"), names("m")), node("Unsqueeze", names("m", "zero"), names("u")),
			node("Concat", names("u", "rest"), names("shape"), intAttr("axis", 0)), node("Reshape", names("x", "shape"), names("y")),
		}, Outputs: untyped("y"),
	}, scalar("two", 2), ints("zero", 0), ints("rest", -1))
	p := wantOutputs(t, modelOf(17, g), values{"x": f32s(t, 1, 2, 3, 4), "n": i64Of(t, 1)}, mustFrom(t, []int{2, 2}, []float32{1, 2, 3, 4}))
	if len(p.Bound) != 1 || p.Bound[0].Input != "n" {
		t.Errorf("bound: %+v", p.Bound)
	}
	wantError(t, modelOf(17, g), importer.Binding{}, `"shape", the shape of Reshape -> "y", must be known when the program is compiled: give a value for input "n"`)
}

// Integers that are data stay inputs, though their values are at hand.
func TestDataIsNotBound(t *testing.T) {
	g := &proto.Graph{
		Inputs: []*proto.ValueInfo{info("table", proto.Float, 3), info("at", proto.Int64, 2)},
		Nodes:  []*proto.Node{node("Gather", names("table", "at"), names("y"))}, Outputs: untyped("y"),
	}
	p := wantOutputs(t, modelOf(17, g), values{"table": f32s(t, 1, 2, 3), "at": i64s(t, 2, 0)}, f32s(t, 3, 1))
	if len(p.Bound) != 0 || len(p.Inputs) != 2 {
		t.Errorf("bound %v, inputs %v", p.Bound, p.Inputs)
	}
}

func TestManyBound(t *testing.T) {
	g := &proto.Graph{Inputs: []*proto.ValueInfo{info("x0", proto.Float, 1)}, Outputs: untyped("y")}
	v := values{"x0": f32s(t, 1)}
	for i := range importer.MaxBound + 1 {
		name := fmt.Sprint("s", i)
		g.Inputs = append(g.Inputs, info(name, proto.Int64, 1))
		g.Nodes = append(g.Nodes, node("Reshape", names(fmt.Sprint("x", i), name), names(fmt.Sprint("x", i+1))))
		v[name] = i64s(t, 1)
	}
	g.Outputs = untyped(fmt.Sprint("x", importer.MaxBound+1))
	wantError(t, modelOf(17, g), importer.Binding{Values: v}, "more than 64 inputs act as attributes")
}

func symbolic(name string, dims ...any) *proto.ValueInfo {
	v := info(name, proto.Float)
	for _, d := range dims {
		switch d := d.(type) {
		case int:
			v.Type.Dims = append(v.Type.Dims, proto.Dim{Known: true, Value: int64(d)})
		case string:
			v.Type.Dims = append(v.Type.Dims, proto.Dim{Param: d})
		}
	}
	return v
}

// Chains from a shape to a Reshape are folded for every binding of its symbols.
func TestSymbols(t *testing.T) {
	g := with(&proto.Graph{
		Inputs: []*proto.ValueInfo{symbolic("x", "batch", 2, 3), symbolic("z", "batch", "?")},
		Nodes: []*proto.Node{
			node("Shape", names("x"), names("s")), node("Gather", names("s", "zero"), names("n")),
			node("Concat", names("n", "rest"), names("shape"), intAttr("axis", 0)), node("Reshape", names("x", "shape"), names("y")),
		}, Outputs: untyped("y"),
	}, ints("zero", 0), ints("rest", 6))
	m := read(t, modelOf(17, g))
	for _, batch := range []int{1, 4} {
		p, err := m.Graph(context.Background(), importer.Binding{Dims: map[string]int{"batch": batch, "?": 1}})
		if err != nil {
			t.Fatal(err)
		}
		if shape := p.Graph.Outputs[0].Spec.Shape; !slices.Equal(shape, []int{batch, 6}) {
			t.Errorf("batch %d: shape %v", batch, shape)
		}
	}
	for _, tt := range []struct {
		b    importer.Binding
		want string
	}{
		{importer.Binding{}, "dimension 0, batch, is open"},
		{importer.Binding{Dims: map[string]int{"batch": 2, "time": 3}}, `there is no open dimension "time"`},
		{importer.Binding{Shapes: map[string][]int{"x": {2, 9, 3}}}, "dimension 1 is 2 in the file; the shape given has 9"},
		{importer.Binding{Shapes: map[string][]int{"x": {2, 2, 3}, "z": {3, 1}}}, "batch is bound to 2; the shape given has 3"},
		{importer.Binding{Shapes: map[string][]int{"w": {2}}}, `there is no input "w"`},
	} {
		wantError(t, modelOf(17, g), tt.b, tt.want)
	}
}

func branches(then, otherwise []*proto.Node) []*proto.Attribute {
	return []*proto.Attribute{graphAttr("then_branch", &proto.Graph{Nodes: then, Outputs: untyped("t")}), graphAttr("else_branch", &proto.Graph{Nodes: otherwise, Outputs: untyped("e")})}
}

func TestIf(t *testing.T) {
	sameShape := branches([]*proto.Node{node("Neg", names("x"), names("t"))}, []*proto.Node{node("Abs", names("x"), names("e"))})
	otherShape := branches([]*proto.Node{node("Concat", names("x", "x"), names("t"), intAttr("axis", 0))}, []*proto.Node{node("Abs", names("x"), names("e"))})
	model := func(attrs []*proto.Attribute) *proto.Model {
		return modelOf(17, with(&proto.Graph{
			Inputs: []*proto.ValueInfo{info("x", proto.Float, 2), info("rate", proto.Int64)},
			Nodes:  []*proto.Node{node("Equal", names("rate", "wanted"), names("c")), node("If", names("c"), names("y"), attrs...)}, Outputs: untyped("y"),
		}, scalar("wanted", 16)))
	}
	x := f32s(t, -1, 2)
	p, err := read(t, model(sameShape)).Graph(t.Context(), importer.Binding{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Bound) != 0 || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "both branches are computed, of 1 and 1 nodes") {
		t.Errorf("bound %v, notes %v", p.Bound, p.Notes)
	}
	for rate, want := range map[int64]*tensor.Tensor{16: f32s(t, 1, -2), 8: f32s(t, 1, 2)} {
		got, err := execute(p, values{"x": x, "rate": i64Of(t, rate)})
		if err != nil {
			t.Fatal(err)
		}
		if err := closeTo(got[0], want); err != nil {
			t.Errorf("rate %d: %v", rate, err)
		}
	}
	// A small input of whole numbers is bound when its value is at hand.
	p = wantOutputs(t, model(sameShape), values{"x": x, "rate": i64Of(t, 16)}, f32s(t, 1, -2))
	if len(p.Bound) != 1 || p.Bound[0].Input != "rate" || p.Bound[0].For != `the condition of If -> "y"` || len(p.Notes) != 0 {
		t.Errorf("bound %v, notes %v", p.Bound, p.Notes)
	}
	wantOutputs(t, model(sameShape), values{"x": x, "rate": i64Of(t, 8)}, f32s(t, 1, 2))
	p = wantOutputs(t, model(otherShape), values{"x": x, "rate": i64Of(t, 16)}, f32s(t, -1, 2, -1, 2))
	if len(p.Bound) != 1 || p.Bound[0].Input != "rate" {
		t.Errorf("bound %v", p.Bound)
	}
	if strings.Contains(p.Graph.String(), "abs") {
		t.Errorf("the branch that is not taken is in the program:\n%v", p.Graph)
	}
	wantError(t, model(otherShape), importer.Binding{}, `"c", the condition, on which the shape of the result depends, of If -> "y", must be known when the program is compiled: give a value for input "rate"`)
}

// A function has defaults, attributes of the call, operands that are left out, and
// names and operator sets of its own.
func TestFunctions(t *testing.T) {
	f := &proto.Function{
		Name: "Lean", Domain: "local", Inputs: names("a", "b"), Outputs: names("r", "unused"), Attrs: names("slope"),
		Defaults: []*proto.Attribute{intAttr("axis", 0)}, Opsets: []proto.Opset{{Version: 13}},
		Nodes: []*proto.Node{
			node("LeakyRelu", names("a"), names("x"), &proto.Attribute{Name: "alpha", Type: proto.FloatType, Ref: "slope"}),
			node("Concat", names("x", "x"), names("r"), &proto.Attribute{Name: "axis", Type: proto.IntType, Ref: "axis"}),
			node("Neg", names("x"), names("unused")),
		},
	}
	lean := func(in, out []string, attrs ...*proto.Attribute) *proto.Node {
		return &proto.Node{Op: "Lean", Domain: "local", Inputs: in, Outputs: out, Attrs: attrs}
	}
	model := modelOf(18, one(lean(names("x", ""), names("y"), floatAttr("slope", 0.5))), f)
	wantOutputs(t, model, values{"x": f32s(t, -2, 3)}, f32s(t, -1, 3, -1, 3))
	wantError(t, modelOf(18, one(lean(names("x", "x", "x"), names("y"))), f), importer.Binding{}, "the function takes 2 inputs and gives 2 outputs")
	missing := *f
	missing.Nodes = f.Nodes[:1]
	wantError(t, modelOf(18, one(lean(names("x"), names("y"))), &missing), importer.Binding{}, `the function does not define its output "r"`)
}

func TestLoops(t *testing.T) {
	body := &proto.Graph{
		Inputs: untyped("i", "go", "v"),
		Nodes: []*proto.Node{
			node("Add", names("v", "v"), names("v2")), node("Less", names("i", "limit"), names("on")), node("Identity", names("v2"), names("seen")),
		}, Outputs: untyped("on", "v2", "seen"),
	}
	g := with(one(node("Loop", names("rounds", "", "x"), names("y", "all"), graphAttr("body", body))), scalar("rounds", 1<<62), scalar("limit", 2))
	g.Outputs = untyped("y", "all")
	wantOutputs(t, modelOf(17, g), values{"x": f32s(t, 1, 2)}, f32s(t, 8, 16), mustFrom(t, []int{3, 2}, []float32{2, 4, 4, 8, 8, 16}))

	sum := &proto.Graph{Inputs: untyped("s", "e"), Nodes: []*proto.Node{node("Add", names("s", "e"), names("s2")), node("Identity", names("s2"), names("seen"))}, Outputs: untyped("s2", "seen")}
	scan := node("Scan", names("start", "x"), names("last", "y"), intAttr("num_scan_inputs", 1), intsAttr("scan_input_directions", 1), graphAttr("body", sum))
	g = with(one(scan), &proto.Tensor{Name: "start", Type: proto.Float, Floats: []float32{0}})
	wantOutputs(t, modelOf(17, g), values{"x": f32s(t, 1, 2)}, f32s(t, 2, 3))
	g.Inputs = append(g.Inputs, info("start2", proto.Float))
	scan.Inputs[0] = "start2"
	wantOutputs(t, modelOf(17, g), values{"x": f32s(t, 1, 2), "start2": mustFrom(t, []int{}, []float32{10})}, f32s(t, 12, 13))
}

// An initializer that is declared among the inputs is a default, which is not asked
// for.
func TestDefaults(t *testing.T) {
	g := with(one(node("Add", names("x", "w"), names("y"))), floats("w", 10, 20))
	g.Inputs = append(g.Inputs, info("w", proto.Float, 2))
	m := read(t, modelOf(17, g))
	if in := m.Inputs(); len(in) != 1 || in[0].Name != "x" {
		t.Errorf("inputs: %v", in)
	}
	wantOutputs(t, modelOf(17, g), values{"x": f32s(t, 1, 2)}, f32s(t, 11, 22))
}

// Outputs may be left out, at the end or by an empty name.
func TestOptionalOutputs(t *testing.T) {
	g := one(node("TopK", names("x", "k"), names("", "y")), node("Dropout", names("x"), names("z")))
	g.Outputs = untyped("y", "z")
	with(g, ints("k", 1))
	wantOutputs(t, modelOf(17, g), values{"x": f32s(t, 1, 2)}, i64s(t, 1), f32s(t, 1, 2))
}

// Names may be any text: the program's are identifiers, and the file's are kept
// beside it.
func TestNames(t *testing.T) {
	g := &proto.Graph{
		Inputs: []*proto.ValueInfo{info("a/b:0", proto.Float, 2), info("a.b.0", proto.Float, 2), info("1", proto.Float, 2)},
		Nodes:  []*proto.Node{node("Sum", names("a/b:0", "a.b.0", "1"), names("größe, \n")), node("Neg", names("größe, \n"), names("return"))}, Outputs: untyped("return", "größe, \n"),
	}
	v := values{"a/b:0": f32s(t, 1, 2), "a.b.0": f32s(t, 10, 20), "1": f32s(t, 100, 200)}
	p := wantOutputs(t, modelOf(17, g), v, f32s(t, -111, -222), f32s(t, 111, 222))
	if want := []string{"a/b:0", "a.b.0", "1"}; !slices.Equal(p.Inputs, want) {
		t.Errorf("inputs %q, want %q", p.Inputs, want)
	}
	var ids []string
	for _, in := range p.Graph.Inputs {
		ids = append(ids, in.Name)
	}
	if want := []string{"a_b_0", "a_b_0_2", "_1"}; !slices.Equal(ids, want) {
		t.Errorf("identifiers %q, want %q", ids, want)
	}
}

// All unsupported nodes are in one message, those that depend on others of them as
// well, and those that only depend on them are not.
func TestUnsupported(t *testing.T) {
	fft := node("DFT", names("x"), names("d"))
	fft.Name = "spectrum"
	g := one(fft, node("Relu", names("d"), names("r")), &proto.Node{Op: "Fancy", Domain: "com.acme", Inputs: names("x"), Outputs: names("f")},
		node("Gelu", names("r"), names("r2")), node("Gelu", names("x"), names("g")), node("Add", names("r2", "f"), names("y")))
	_, err := read(t, modelOf(17, g)).Graph(context.Background(), importer.Binding{})
	want := `test.onnx: 4 nodes are not supported:
  DFT "spectrum", domain ai.onnx, operator set 17
  com.acme.Fancy -> "f", domain com.acme, operator set 0: the model does not import that domain
  Gelu -> "r2", domain ai.onnx, operator set 17: the operator is supported from version 20 on
  Gelu -> "g", domain ai.onnx, operator set 17: the operator is supported from version 20 on`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %v", err, want)
	}
}

// Elements of the file's type are told where they are held in another.
func TestElementTypes(t *testing.T) {
	g := &proto.Graph{Inputs: []*proto.ValueInfo{info("x", proto.Uint8, 2)}, Nodes: []*proto.Node{node("Add", names("x", "x"), names("y"))}, Outputs: untyped("y")}
	p := wantOutputs(t, modelOf(17, g), values{"x": mustFrom(t, []int{2}, []int32{200, 3})}, mustFrom(t, []int{2}, []int32{144, 6}))
	if want := []string{"input x: uint8 is held as i32", "output y: uint8 is held as i32"}; !slices.Equal(p.Notes, want) {
		t.Errorf("notes %q, want %q", p.Notes, want)
	}
}

// Images of one column are convolved as rows, which backends work along.
func TestColumn(t *testing.T) {
	conv := node("Conv", names("x", "w"), names("y"), intsAttr("strides", 2, 3), intsAttr("pads", 1, 0, 0, 0), intsAttr("dilations", 2, 1))
	w := floats("w", 1, 10, 100)
	w.Dims = []int64{1, 1, 3, 1}
	g := with(&proto.Graph{Inputs: []*proto.ValueInfo{info("x", proto.Float, 1, 1, 6, 1)}, Nodes: []*proto.Node{conv}, Outputs: untyped("y")}, w)
	x := mustFrom(t, []int{1, 1, 6, 1}, []float32{1, 2, 3, 4, 5, 6})
	p := wantOutputs(t, modelOf(17, g), values{"x": x}, mustFrom(t, []int{1, 1, 2, 1}, []float32{420, 642}))
	if text := p.Graph.String(); !strings.Contains(text, "f32[1,1,1,2] = conv2d") {
		t.Errorf("the program is\n%s", text)
	}
}

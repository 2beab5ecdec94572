package ir_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

func parse(t testing.TB, src string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(op.Registry, src)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// samples are programs that use every syntax of the text form.
var samples = []string{
	`graph empty(%x: f32[0,3]) {
  return %x
}
`,
	`graph layer(%x: f32[8,16] @ "mlp.fs":1:11, %w: f32[16,12] @ "mlp.fs":1:14) {
  %0: f32[8,12] = matmul %x, %w @ "mlp.fs":2:12
  %1: f32[] = const {value = f32[] 2.0} @ "mlp.fs":2:18
  %y: f32[8,12] = mul %0, %1 @ "mlp.fs":2:16, @ "a \"b\"":3:1
  return %y, %0, %y
}
`,
	`graph fused_kernel(%x: f32[4], %größe: f32[]) {
  %y: f32[4] = fused %x, %größe (%a: f32[], %b: f32[]) {
    %c: f32[] = const {value = f32[] -0.0}
    %0: f32[] = add %a, %b @ "k":1:0
    %1: f32[] = maximum %0, %c
    return %1
  } @ "k":7:7
  return %y
}
`,
	`graph constants() {
  %a: i64[3] = const {value = i64[3] -9223372036854775808 0 9223372036854775807}
  %b: bool[2,1] = const {value = bool[2,1] true false}
  %c: f16[3] = const {value = f16[3] 6.1035156e-05 nan -inf}
  %d: bf16[1] = const {value = bf16[1] 3.3895314e+38}
  %e: f64[2] = const {value = f64[2] 0.1 5e-324}
  %f: i32[0] = const {value = i32[0]}
  %g: f32[4] = const {value = f32[4] 1e-45 inf 3.4028235e+38 1.6777216e+07}
  return %a, %b, %c, %d, %e, %f, %g
}
`,
	`graph attributes(%x: f32[2,3]) {
  %0: f32[2,1] = sum %x {axes = [1], keepdims = true}
  %1: f32[6] = reshape %x {shape = [6]}
  %2: f32[2,3] = gelu %x {approximate = "tanh"}
  %3: f32[2,3] = softmax %2 {axis = 0}
  %4: f32[2,3] = max %3 {axes = []}
  return %0, %1, %4
}
`,
	`graph devices(%x: f32[2,3] on cuda:0 @ "d.fs":1:7, %y: f32[3] on cuda:0) {
  %0: f32[2,3] on cuda:0 = add %x, %y
  %1: f32[] on cuda:0 = const {device = "cuda:0", value = f32[] 2.0}
  %2: f32[2,3] on cuda:0 = mul %0, %1
  return %2
}
`,
	`graph results(%x: f32[2,5]) {
  %a: f32[2,2], %b: f32[2,0], %1: f32[2,3] = split %x {axis = 1, sizes = [2, 0, 3]} @ "s":1:1
  %c: f32[2,2] = narrow %1 {axis = 1, length = 2, start = 2, step = -2}
  return %a, %c, %b
}
`,
	`graph operators(%x: f32[4,6], %c: bool[4,1], %i: i32[2], %w: f32[6]) {
  %0: f32[4,6] = where %c, %x, %w
  %1: f16[4,6] = cast %0 {dtype = "f16"}
  %2: f16[2,6] = gather %1, %i
  %3: f16[6,6] = concat %1, %2 {axis = 0}
  %4: f16[8,7] = pad %3 {high = [1, 1], low = [1, 0], value = inf}
  %5: f32[4,6] = layer_norm %x, %w, %w {axis = 1, eps = 0.5}
  %6: i64[4,1] = argmax %5 {axis = 1, keepdims = true}
  %7: f32[3,4,6] = expand %5 {shape = [3, 4, 6]}
  %8: bool[3,4,6] = lt %7, %x
  return %4, %6, %8
}
`,
	`graph data() {
  %a: f32[17] = const {value = f32[17] @0}
  %b: f32[1] = const {value = f32[1] @1}
  return %a, %b
}
data @0 = "AAAAAAAAgD8AAABAAABAQAAAgEAAAKBAAADAQAAA4EAAAABBAAAQQQAAIEEAADBBAABAQQAAUEEAAGBBAABwQQAAgEE="
data @1 = "AQDAfw=="
`,
}

func TestJSONRoundTrip(t *testing.T) {
	for _, src := range samples {
		g := parse(t, src)
		raw, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		h, err := ir.ParseJSON(op.Registry, raw)
		if err != nil {
			t.Fatalf("%v\n%s", err, raw)
		}
		if !ir.Equal(g, h) {
			t.Errorf("got\n%s\nwant\n%s", h, src)
		}
	}
}

func TestOutlineHoldsNoElements(t *testing.T) {
	raw, err := parse(t, samples[len(samples)-1]).Outline()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "AAAA") {
		t.Errorf("the outline carries data: %s", raw)
	}
	if _, err := ir.ParseJSON(op.Registry, raw); err == nil || !strings.Contains(err.Error(), "f32[17] needs 68 bytes, got 0") {
		t.Errorf("got error %v", err)
	}
}

func TestBuilder(t *testing.T) {
	b := ir.NewBuilder(op.Registry, "layer")
	b.At(ir.Pos{Source: "mlp.fs", Line: 1, Col: 11})
	x := must(b.Input("x", ir.F32(8, 16)))(t)
	w := must(b.Input("w", ir.F32(16, 12)))(t)
	b.At(ir.Pos{Source: "mlp.fs", Line: 2, Col: 12})
	h := must(b.Apply("matmul", nil, x, w))(t)
	b.Name(h, "hidden")
	b.Name(h, "other") // a named value keeps its name
	b.Name(x, "other")
	s := must(b.Apply("sum", ir.Attrs{"axes": []int{1}, "keepdims": false}, h))(t)
	b.Name(s, "x")
	half := must(b.Scalar(tensor.F32, 0.5))(t)
	y := must(b.Apply("mul", nil, s, half))(t)
	g := must(b.Finish(y))(t)
	want := `graph layer(%x: f32[8,16] @ "mlp.fs":1:11, %w: f32[16,12] @ "mlp.fs":1:11) {
  %hidden: f32[8,12] = matmul %x, %w @ "mlp.fs":2:12
  %x_1: f32[8] = sum %hidden {axes = [1]} @ "mlp.fs":2:12
  %2: f32[] = const {value = f32[] 0.5} @ "mlp.fs":2:12
  %3: f32[8] = mul %x_1, %2 @ "mlp.fs":2:12
  return %3
}
`
	if g.String() != want {
		t.Errorf("got\n%s\nwant\n%s", g, want)
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestBuilderRefuses(t *testing.T) {
	b := ir.NewBuilder(op.Registry, "f")
	x := must(b.Input("x", ir.F32(8, 16)))(t)
	w := must(b.Input("w", ir.F32(12, 16)))(t)
	d := must(b.Input("d", ir.F64(8, 16)))(t)
	for want, f := range map[string]func() (*ir.Value, error){
		"matmul(%x: f32[8,16], %w: f32[12,16]): inner dimensions differ: a has 16 columns, b has 12 rows":                                   func() (*ir.Value, error) { return b.Apply("matmul", nil, x, w) },
		"add(%x: f32[8,16], %w: f32[12,16]): shapes [8,16] and [12,16] do not broadcast: dimension -2 is 8 on one side and 12 on the other": func() (*ir.Value, error) { return b.Apply("add", nil, x, w) },
		"add(%x: f32[8,16], %d: f64[8,16]): operands %x and %d have different types, f32 and f64; cast one of them":                         func() (*ir.Value, error) { return b.Apply("add", nil, x, d) },
		"add(%x: f32[8,16]): takes 2 operands, got 1":                                                                                       func() (*ir.Value, error) { return b.Apply("add", nil, x) },
		"add: operand 1 is missing": func() (*ir.Value, error) { return b.Apply("add", nil, x, nil) },
		"fused is made by compiler passes and cannot be applied by a program":    func() (*ir.Value, error) { return b.Apply("fused", nil, x) },
		"softmax(%x: f32[8,16]): axis 2 is out of range for rank 2; use -2 to 1": func() (*ir.Value, error) { return b.Apply("softmax", ir.Attrs{"axis": 2}, x) },
		"input x is declared twice":                                                         func() (*ir.Value, error) { return b.Input("x", ir.F32()) },
		`input name "a b" is not an identifier`:                                             func() (*ir.Value, error) { return b.Input("a b", ir.F32()) },
		"input y: shape [-1] has the negative dimension -1 at index 0":                      func() (*ir.Value, error) { return b.Input("y", ir.F32(-1)) },
		"reshape(%x: f32[8,16]): cannot reshape f32[8,16]: [100] has 100 elements, not 128": func() (*ir.Value, error) { return b.Apply("reshape", ir.Attrs{"shape": []int{100}}, x) },
		"transpose(%x: f32[8,16]): perm [0] has 1 axes for rank 2":                          func() (*ir.Value, error) { return b.Apply("transpose", ir.Attrs{"perm": []int{0}}, x) },
		"transpose(%x: f32[8,16]): perm [0 -2] names axis 0 twice":                          func() (*ir.Value, error) { return b.Apply("transpose", ir.Attrs{"perm": []int{0, -2}}, x) },
		"sum(%x: f32[8,16]): axis -2 is named twice":                                        func() (*ir.Value, error) { return b.Apply("sum", ir.Attrs{"axes": []int{0, -2}}, x) },
	} {
		if _, err := f(); err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
	// A refused step leaves no trace.
	g := must(b.Finish(x))(t)
	if len(g.Nodes) != 0 || len(g.Inputs) != 3 {
		t.Errorf("failed steps changed the graph:\n%s", g)
	}
	if _, err := ir.NewBuilder(op.Registry, "f").Finish(); err == nil {
		t.Error("a graph without outputs was accepted")
	}
}

// TestVerify breaks one invariant at a time.
func TestVerify(t *testing.T) {
	for want, damage := range map[string]func(g *ir.Graph){
		"two values are called %x":            func(g *ir.Graph) { g.Nodes[0].Out[0].Name = "x" },
		"neither an identifier nor a number":  func(g *ir.Graph) { g.Nodes[0].Out[0].Name = "a b" },
		"has two producers":                   func(g *ir.Graph) { g.Nodes[2].Out[0] = g.Nodes[0].Out[0] },
		"does not point to the node":          func(g *ir.Graph) { g.Nodes[0].Out[0].Def = g.Nodes[1] },
		"reads %0 before it is defined":       func(g *ir.Graph) { g.Nodes[0], g.Nodes[2] = g.Nodes[2], g.Nodes[0] },
		"%0 is declared f32[9]":               func(g *ir.Graph) { g.Nodes[0].Out[0].Spec = ir.F32(9) },
		"unknown attribute":                   func(g *ir.Graph) { g.Nodes[0].Attrs = ir.Attrs{"x": true} },
		"has 2 results, inference gives 1":    func(g *ir.Graph) { g.Nodes[0].Out = append(g.Nodes[0].Out, &ir.Value{}) },
		"no outputs":                          func(g *ir.Graph) { g.Outputs = nil },
		"output %z is not defined":            func(g *ir.Graph) { g.Outputs[0] = &ir.Value{Name: "z"} },
		"has no operator":                     func(g *ir.Graph) { g.Nodes[0].Op = nil },
		"impossible source position":          func(g *ir.Graph) { g.Nodes[0].Pos = []ir.Pos{{}} },
		"a value is nil":                      func(g *ir.Graph) { g.Inputs[0] = nil },
		"has a body exactly when it is fused": func(g *ir.Graph) { g.Nodes[0].Body = g.Clone() },
		"operand 0 is missing":                func(g *ir.Graph) { g.Nodes[0].In[0] = nil },
		`name "" is not an identifier`:        func(g *ir.Graph) { g.Name = "" },
		"is not an element type":              func(g *ir.Graph) { g.Inputs[0].Spec.DType = 99 },
	} {
		g := parse(t, "graph f(%x: f32[8]) {\n %0: f32[8] = exp %x\n %1: f32[8] = neg %x\n %2: f32[8] = add %0, %1\n return %2\n}")
		damage(g)
		if err := ir.Verify(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

func TestHash(t *testing.T) {
	base := parse(t, `graph f(%x: f32[8], %y: f32[8]) {
  %0: f32[8] = sub %x, %y @ "a":1:1
  %1: f32[] = const {value = f32[] 0.0}
  %2: f32[8] = mul %0, %1
  return %2
}`)
	renamed := parse(t, `graph g(%a: f32[8], %b: f32[8]) {
  %d: f32[8] = sub %a, %b @ "b":7:1
  %c: f32[] = const {value = f32[] 0.0}
  %e: f32[8] = mul %d, %c
  return %e
}`)
	if base.Hash() != renamed.Hash() {
		t.Error("the hash depends on names or positions")
	}
	seen := map[string]string{base.Hash(): "the base"}
	for _, edit := range [][2]string{
		{"sub %x, %y", "sub %y, %x"}, {"sub %x", "add %x"}, {"f32[] 0.0", "f32[] -0.0"}, {"f32[8]", "f32[9]"}, {"return %2", "return %0"}, {"return %2", "return %2, %2"},
	} {
		src := strings.ReplaceAll(base.String(), edit[0], edit[1])
		if h := parse(t, src).Hash(); seen[h] != "" {
			t.Errorf("%v has the hash of %s", edit, seen[h])
		} else {
			seen[h] = edit[1]
		}
	}
}

func TestCost(t *testing.T) {
	g := parse(t, `graph f(%x: f32[8,16], %w: f32[16,12]) {
  %0: f32[8,12] = matmul %x, %w
  %1: f32[96] = reshape %0 {shape = [96]}
  %2: f32[96] = gelu %1
  %3: f32[96] = mul %2, %2
  return %3
}`)
	for i, want := range []ir.Cost{
		{FLOPs: 2 * 8 * 16 * 12, Bytes: 4 * (128 + 192 + 96)},
		{},
		{FLOPs: 8 * 96, Bytes: 4 * 2 * 96},
		{FLOPs: 96, Bytes: 4 * 2 * 96}, // %2 is read twice but counts once
	} {
		if got := g.Nodes[i].Cost(); got != want {
			t.Errorf("%s costs %+v, want %+v", g.Nodes[i].Op.Name, got, want)
		}
	}
}

func TestDrawing(t *testing.T) {
	g := parse(t, samples[2])
	d := g.Drawing()
	if len(d.Clusters) != 1 || len(d.Nodes) != 2+3+1 || len(d.Edges) != 5 {
		t.Errorf("unexpected drawing %+v", d)
	}
	if _, err := d.SVG(); err != nil {
		t.Error(err)
	}
}

// TestDrawingResults draws a node of two results as one box whose edges tell
// them apart.
func TestDrawingResults(t *testing.T) {
	d := parse(t, `graph f(%x: f32[2,5]) {
  %a: f32[2,2], %1: f32[2,3] = split %x {axis = 1, sizes = [2, 3]}
  %b: f32[2,3] = exp %1
  return %a, %b
}`).Drawing()
	var labels []string
	for _, e := range d.Edges {
		labels = append(labels, e.From+" "+e.Label+" "+e.To)
	}
	want := "x  a|a %1: f32[2,3] b|a %a: f32[2,2] output %a|b  output %b"
	if got := strings.Join(labels, "|"); got != want {
		t.Errorf("got edges %s, want %s", got, want)
	}
	if sub := d.Nodes[1].Sub; sub != "%a: f32[2,2], %1: f32[2,3]" {
		t.Errorf("the box says %q", sub)
	}
}

// TestNaNPayload checks that a constant keeps the exact bits of a NaN.
func TestNaNPayload(t *testing.T) {
	b := ir.NewBuilder(op.Registry, "f")
	x := must(tensor.FromFloat32([]int{1}, []float32{math.Float32frombits(0x7fc12345)}))(t)
	c := must(b.Const(x))(t)
	x.Float32()[0] = 1 // the builder keeps a copy
	g := must(b.Finish(c))(t)
	h := parse(t, g.String())
	if bits := math.Float32bits(h.Nodes[0].Tensor("value").Float32()[0]); bits != 0x7fc12345 {
		t.Errorf("the NaN came back as %#x", bits)
	}
}

func FuzzParseJSON(f *testing.F) {
	for _, src := range samples {
		raw, err := json.Marshal(parse(f, src))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		g, err := ir.ParseJSON(op.Registry, raw)
		if err != nil {
			return
		}
		if h, err := ir.Parse(op.Registry, g.String()); err != nil || !ir.Equal(g, h) {
			t.Fatalf("the text form differs (%v):\n%s", err, g)
		}
	})
}

// TestDonation takes the storage of values that something else still reads.
func TestDonation(t *testing.T) {
	const header = "graph f(%c: f32[1,1,4,2], %n: f32[1,1,1,2], %p: i64[]) {\n"
	for _, c := range []struct{ body, want string }{
		{"%d: f32[1,1,4,2] = kv_append %c, %n, %p\n %e: f32[1,1,4,2] = kv_append %d, %n, %p\n return %e", ""},
		{"%x: f32[1,1,4,2] = exp %c\n %d: f32[1,1,4,2] = kv_append %c, %n, %p\n return %d, %x", ""},
		{"%d: f32[1,1,4,2] = kv_append %c, %n, %p\n %x: f32[1,1,4,2] = exp %c\n return %d, %x",
			"exp(%c: f32[1,1,4,2]) reads %c after kv_append(%c: f32[1,1,4,2], %n: f32[1,1,1,2], %p: i64[]) has taken its storage"},
		{"%v: f32[8] = reshape %c {shape = [8]}\n %d: f32[1,1,4,2] = kv_append %c, %n, %p\n %x: f32[8] = exp %v\n return %d, %x", "reads %v after kv_append"},
		{"%v: f32[1,1,4,2] = reshape %c {shape = [1, 1, 4, 2]}\n %d: f32[1,1,4,2] = kv_append %v, %n, %p\n return %d, %c", "output %c has no storage left"},
		{"%d: f32[1,1,4,2] = kv_append %c, %c, %p\n return %d", "takes the storage of %c and reads it as operand 1"},
		{"%k: f32[1,1,4,2] = const {value = f32[1,1,4,2] 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0}\n" +
			"%d: f32[1,1,4,2] = kv_append %k, %n, %p\n %e: f32[1,1,4,2] = kv_append %k, %n, %p\n return %d, %e", ""},
	} {
		_, err := ir.Parse(op.Registry, header+c.body+"\n}")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s\ngot error %v, want %q", c.body, err, c.want)
		}
	}
}

// A constant is a copy of the tensor, or the tensor itself when it is shared.
func TestConstants(t *testing.T) {
	w := tensor.Scalar(tensor.F32, 1)
	b := ir.NewBuilder(op.Registry, "f")
	for name, add := range map[string]func(*tensor.Tensor) (*ir.Value, error){"copied": b.Const, "shared": b.SharedConst} {
		v, err := add(w)
		if err != nil {
			t.Fatal(err)
		}
		if have := v.Def.Tensor("value"); (have == w) != (name == "shared") || !tensor.Identical(have, w) {
			t.Errorf("%s: the constant is %v", name, have)
		}
	}
}

// TestVerifierPlaces sees that what only the verifier finds in a text has its place there.
func TestVerifierPlaces(t *testing.T) {
	_, err := ir.Parse(op.Registry, `graph f(%c: f32[1,1,4,2], %n: f32[1,1,1,2], %p: i64[]) {
  %d: f32[1,1,4,2] = kv_append %c, %n, %p
  %y: f32[1,1,4,2] = exp %c
  return %d, %y
}
`)
	var syntax *ir.SyntaxError
	if !errors.As(err, &syntax) || syntax.Line != 3 || syntax.Col != 3 || syntax.Text != "  %y: f32[1,1,4,2] = exp %c" ||
		!strings.HasPrefix(syntax.Message, "exp(%c: f32[1,1,4,2]) reads %c after") {
		t.Errorf("the error is %#v", err)
	}
}

package op

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// TestBroadcast is NumPy's table of broadcast shapes; "" means that NumPy
// refuses the pair.
func TestBroadcast(t *testing.T) {
	for _, c := range []struct {
		a, b []int
		want string
	}{
		{nil, nil, "[]"},
		{nil, []int{3}, "[3]"},
		{[]int{1}, []int{3}, "[3]"},
		{[]int{3}, []int{1}, "[3]"},
		{[]int{2}, []int{3}, ""},
		{[]int{256, 256, 3}, []int{3}, "[256,256,3]"},
		{[]int{8, 1, 6, 1}, []int{7, 1, 5}, "[8,7,6,5]"},
		{[]int{5, 4}, []int{1}, "[5,4]"},
		{[]int{5, 4}, []int{4}, "[5,4]"},
		{[]int{15, 3, 5}, []int{15, 1, 5}, "[15,3,5]"},
		{[]int{15, 3, 5}, []int{3, 5}, "[15,3,5]"},
		{[]int{15, 3, 5}, []int{3, 1}, "[15,3,5]"},
		{[]int{2, 1}, []int{8, 4, 3}, ""},
		{[]int{0}, []int{1}, "[0]"},
		{[]int{0}, []int{2}, ""},
		{[]int{3, 0}, []int{1, 1}, "[3,0]"},
		{[]int{1, 1, 1}, []int{2}, "[1,1,2]"},
	} {
		for _, pair := range [][2][]int{{c.a, c.b}, {c.b, c.a}} {
			shape, err := Broadcast(pair[0], pair[1])
			got := ""
			if err == nil {
				got = tensor.FormatShape(shape)
			}
			if got != c.want {
				t.Errorf("Broadcast(%v, %v) = %s, want %s", pair[0], pair[1], got, c.want)
			}
		}
	}
}

// TestWalker compares loads of every length and start with indexing.
func TestWalker(t *testing.T) {
	out := []int{3, 4, 5}
	for _, in := range [][]int{{3, 4, 5}, {1}, {}, {5}, {4, 1}, {4, 5}, {3, 1, 5}, {3, 1, 1}, {1, 4, 1}} {
		src := make([]float32, product(in))
		for i := range src {
			src[i] = float32(i)
		}
		strides := broadcastStrides(in, out)
		want := func(pos int) float32 {
			off := 0
			for d := len(out) - 1; d >= 0; d-- {
				off += pos % out[d] * strides[d]
				pos /= out[d]
			}
			return src[off]
		}
		w := newWalker(in, out)
		for lo := range 60 {
			for hi := lo; hi <= 60; hi++ {
				for i, v := range load(&w, src, make([]float32, 60), lo, hi) {
					if v != want(lo+i) {
						t.Fatalf("%v in %v: position %d of [%d,%d) is %v, want %v", in, out, lo+i, lo, hi, v, want(lo+i))
					}
				}
			}
		}
	}
}

func TestWalkerMergesDimensions(t *testing.T) {
	for _, c := range []struct {
		in, out []int
		runs    int
	}{
		{[]int{4, 5}, []int{3, 4, 5}, 2}, {[]int{3, 1, 1}, []int{3, 4, 5}, 2}, {nil, []int{3, 4, 5}, 1}, {[]int{4, 1}, []int{3, 4, 5}, 3},
	} {
		if w := newWalker(c.in, c.out); len(w.dims) != c.runs {
			t.Errorf("%v in %v walks %d dimensions, want %d", c.in, c.out, len(w.dims), c.runs)
		}
	}
}

func TestSignature(t *testing.T) {
	for name, want := range map[string]string{
		"add": "add(a, b)", "softmax": "softmax(x, axis=-1)", "sum": "sum(x, [axes], keepdims=false)",
		"reshape": "reshape(x, shape)", "fused": "fused(x...)", "const": "const(value, [device])",
	} {
		o, err := Registry.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := Signature(o); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestBodyReusesVectors checks that a chain of any length needs two vectors
// beside its operands, also when an operand is read late.
func TestBodyReusesVectors(t *testing.T) {
	body := "graph f(%x: f32[9]) {\n  %y: f32[9] = fused %x (%a: f32[]) {\n    %v0: f32[] = exp %a\n"
	const steps = 50
	for i := 1; i <= steps; i++ {
		body += fmt.Sprintf("    %%v%d: f32[] = add %%v%d, %%a\n", i, i-1)
	}
	body += fmt.Sprintf("    return %%v%d\n  }\n  return %%y\n}", steps)
	g, err := ir.Parse(Registry, body)
	if err != nil {
		t.Fatal(err)
	}
	p, err := bodyProgram(&ir.Call{Node: g.Nodes[0]})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.types) > 3 || len(p.steps) != steps+1 {
		t.Errorf("%d steps use %d vectors", len(p.steps), len(p.types))
	}
}

// TestMovementOfEveryType moves elements of each type through transpose and
// reshape.
func TestMovementOfEveryType(t *testing.T) {
	for dtype := tensor.F32; dtype.Valid(); dtype++ {
		x, err := tensor.Zeros(dtype, 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		for i := range x.Len() {
			x.SetElem(i, float64(i))
		}
		b := ir.NewBuilder(Registry, "f")
		v, err := b.Const(x)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			op    string
			attrs ir.Attrs
			order []int
		}{
			{"transpose", nil, []int{0, 3, 1, 4, 2, 5}},
			{"reshape", ir.Attrs{"shape": []int{3, -1}}, []int{0, 1, 2, 3, 4, 5}},
		} {
			y, err := b.Apply(c.op, c.attrs, v)
			if err != nil {
				t.Fatal(err)
			}
			out, err := tensor.Zeros(dtype, y.Spec.Shape...)
			if err != nil {
				t.Fatal(err)
			}
			call := &ir.Call{Ctx: t.Context(), Node: y.Def, In: []*tensor.Tensor{x}, Out: []*tensor.Tensor{out}, Workers: 1}
			if err := y.Def.Op.Eval(call); err != nil {
				t.Fatal(err)
			}
			for i, from := range c.order {
				if out.Elem(i) != x.Elem(from) {
					t.Errorf("%s %v: element %d is %v, want %v", c.op, dtype, i, out.Elem(i), x.Elem(from))
				}
			}
		}
	}
}

// TestDTypeErrors applies every arithmetic operator to integers.
func TestDTypeErrors(t *testing.T) {
	for _, o := range Registry.All() {
		if o.Types != floats.String() {
			continue
		}
		b := ir.NewBuilder(Registry, "f")
		v, err := b.Input("x", ir.Spec{DType: tensor.I64, Shape: []int{2, 2}})
		if err != nil {
			t.Fatal(err)
		}
		operands := slices.Repeat([]*ir.Value{v}, len(o.Operands))
		attrs := ir.Attrs{}
		for _, a := range o.Attrs {
			if a.Required {
				attrs[a.Name] = []int{1, 1}
			}
		}
		if _, err := b.Apply(o.Name, attrs, operands...); err == nil || !strings.Contains(err.Error(), "operand %x has type i64; f32, f64, f16 or bf16 is needed") {
			t.Errorf("%s on i64: got error %v", o.Name, err)
		}
	}
}

// TestBodyResults runs bodies whose result is an operand, a constant, or
// computed before other values.
func TestBodyResults(t *testing.T) {
	for body, want := range map[string][]float32{
		"return %a": {1, 2},
		"%c: f32[] = const {value = f32[] 7.0}\n return %c":                                                 {7, 7},
		"%c: f32[] = neg %a\n %d: f32[] = exp %c\n return %c":                                               {-1, -2},
		"%c: f32[] = neg %a\n %d: f32[] = neg %c\n %e: f32[] = add %d, %a\n %f: f32[] = neg %e\n return %d": {1, 2},
	} {
		g, err := ir.Parse(Registry, "graph f(%x: f32[2]) {\n %y: f32[2] = fused %x (%a: f32[]) {\n "+body+"\n }\n return %y\n}")
		if err != nil {
			t.Fatal(err)
		}
		x, err := tensor.FromFloat32([]int{2}, []float32{1, 2})
		if err != nil {
			t.Fatal(err)
		}
		out, err := tensor.Zeros(tensor.F32, 2)
		if err != nil {
			t.Fatal(err)
		}
		n := g.Nodes[0]
		if err := n.Op.Eval(&ir.Call{Ctx: t.Context(), Node: n, In: []*tensor.Tensor{x}, Out: []*tensor.Tensor{out}, Workers: 1}); err != nil {
			t.Fatal(err)
		}
		if got := out.Float32(); got[0] != want[0] || got[1] != want[1] {
			t.Errorf("%s gives %v, want %v", body, got, want)
		}
	}
}

// TestReduceNothing reduces a tensor without elements whose partial result
// would have 2^40.
func TestReduceNothing(t *testing.T) {
	g, err := ir.Parse(Registry, `graph f(%x: f32[1048576,1048576,0]) {
  %0: f32[1048576] = sum %x {axes = [0, 2]}
  %1: f32[1048576] = mean %x {axes = [1, 2]}
  return %0, %1
}`)
	if err != nil {
		t.Fatal(err)
	}
	x, err := tensor.Zeros(tensor.F32, 1<<20, 1<<20, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range g.Nodes {
		out, err := tensor.Full(tensor.F32, 9, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Op.Eval(&ir.Call{Ctx: t.Context(), Node: n, In: []*tensor.Tensor{x}, Out: []*tensor.Tensor{out}, Workers: 2}); err != nil {
			t.Fatal(err)
		}
		if v := out.Elem(5); i == 0 && v != 0 || i == 1 && v == v {
			t.Errorf("%s of nothing is %v", n.Op.Name, v)
		}
	}
}

// TestBodyOfSeveralTypes runs a kernel whose values have five types.
func TestBodyOfSeveralTypes(t *testing.T) {
	g, err := ir.Parse(Registry, `graph f(%x: f32[4], %n: i64[1]) {
  %y: f16[4] = fused %x, %n (%a: f32[], %k: i64[]) {
    %half: f16[] = cast %a {dtype = "f16"}
    %third: f16[] = const {value = f16[] 0.33325195}
    %scaled: f16[] = mul %half, %third
    %whole: i32[] = cast %a {dtype = "i32"}
    %wide: i64[] = cast %whole {dtype = "i64"}
    %small: bool[] = lt %wide, %k
    %zero: f16[] = const {value = f16[] 0.0}
    %out: f16[] = where %small, %scaled, %zero
    return %out
  }
  return %y
}`)
	if err != nil {
		t.Fatal(err)
	}
	out := evalNode(t, g.Nodes[0], from[float32](t, []int{4}, 1, 2.9, 3, float32(math.NaN())), from[int64](t, []int{1}, 3))
	third := 0.333251953125
	half := float64(tensor.RoundToHalf(tensor.F16, 2.9))
	wantElems(t, out[0], third, float64(tensor.RoundToHalf(tensor.F16, half*third)), 0, math.NaN())
}

// TestEvalStops gives kernels a context that ends while they run.
func TestEvalStops(t *testing.T) {
	x := random(t, 1, 1<<20)
	half, err := x.Convert(tensor.F16)
	if err != nil {
		t.Fatal(err)
	}
	index, err := tensor.Zeros(tensor.I64, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		inputs, result, node string
		in                   []*tensor.Tensor
	}{
		{"%x: f32[1048576]", "f32[1048576]", "sin %x", []*tensor.Tensor{x}},
		{"%x: f16[1048576]", "f16[1048576]", "softmax %x", []*tensor.Tensor{half}},
		{"%x: f32[1048576]", "f32[1048576]", "layer_norm %x", []*tensor.Tensor{x}},
		{"%x: f32[1048576]", "f32[1048576]", "log_softmax %x", []*tensor.Tensor{x}},
		{"%x: f32[1048576]", "i64[]", "argmin %x {axis = 0}", []*tensor.Tensor{x}},
		{"%x: f32[1048576]", "f32[]", "min %x", []*tensor.Tensor{x}},
		{"%x: f32[1048576]", "f32[2097152]", "concat %x, %x {axis = 0}", []*tensor.Tensor{x}},
		{"%x: f32[1048576]", "f32[1048578]", "pad %x {low = [1], high = [1]}", []*tensor.Tensor{x}},
		{"%x: f32[1048576]", "f32[524288]", "narrow %x {axis = 0, start = 0, length = 524288, step = 2}", []*tensor.Tensor{x}},
		{"%x: f32[1048576], %i: i64[1048576]", "f32[1048576]", "gather %x, %i", []*tensor.Tensor{x, index}},
	} {
		if strings.HasPrefix(c.node, "concat") {
			c.in = append(c.in, x)
		}
		ctx := &stoppingContext{Context: t.Context()}
		if _, err := runNode(ctx, c.inputs, c.result, c.node, c.in...); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got error %v", c.node, err)
		}
	}
}

// stoppingContext ends when it is looked at for the second time.
type stoppingContext struct {
	context.Context
	looks atomic.Int32
}

func (c *stoppingContext) Err() error {
	if c.looks.Add(1) > 1 {
		return context.Canceled
	}
	return nil
}

// TestBodyOfOperand runs kernels that give an operand back, in each type.
func TestBodyOfOperand(t *testing.T) {
	for _, dtype := range anyType {
		g, err := ir.Parse(Registry, strings.ReplaceAll(`graph f(%x: T[3], %y: T[1]) {
  %z: T[3] = fused %x, %y (%a: T[], %b: T[]) {
    %same: bool[] = eq %a, %b
    return %b
  }
  return %z
}`, "T", dtype.String()))
		if err != nil {
			t.Fatal(err)
		}
		x, err := tensor.Zeros(dtype, 3)
		if err != nil {
			t.Fatal(err)
		}
		y, err := tensor.Full(dtype, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		wantElems(t, evalNode(t, g.Nodes[0], x, y)[0], 1, 1, 1)
	}
}

package bound

import (
	"math"
	"strings"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// node parses a program of one node and evaluates it in float64 and in float32.
func node(t *testing.T, program string, in ...*tensor.Tensor) (v *ir.Value, narrow, wide *tensor.Tensor) {
	t.Helper()
	g, err := ir.Parse(op.Registry, program)
	if err != nil {
		t.Fatal(err)
	}
	v = g.Outputs[0]
	widened := make([]*tensor.Tensor, len(in))
	for i, x := range in {
		if widened[i], err = x.Convert(tensor.F64); err != nil {
			t.Fatal(err)
		}
	}
	short, err := interp.Node(t.Context(), v.Def, false, in...)
	if err != nil {
		t.Fatal(err)
	}
	long, err := interp.Node(t.Context(), v.Def, true, widened...)
	if err != nil {
		t.Fatal(err)
	}
	return v, short[0], long[0]
}

func numbers(t *testing.T, shape []int, elements ...float32) *tensor.Tensor {
	t.Helper()
	x, err := tensor.From(shape, elements)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// moved is x with a step of so many units in the last place in element i.
func moved(x *tensor.Tensor, i int, units float64) *tensor.Tensor {
	x = x.Clone()
	x.SetElem(i, x.Elem(i)+units*tensor.ULP(x.DType(), x.Elem(i)))
	return x
}

var inf = float32(math.Inf(1))

func TestCheck(t *testing.T) {
	row := []int{1, 4}
	for _, c := range []struct {
		name, program  string
		in             []*tensor.Tensor
		within, beyond float64 // units in the last place that are, and are not, permitted
	}{
		{"sum", "graph f(%x: f32[1,4]) {\n %y: f32[] = sum %x {axes = [0, 1]}\n return %y\n}", []*tensor.Tensor{numbers(t, row, 1, 2, 3, 4)}, 2, 8},
		{"mean", "graph f(%x: f32[1,4]) {\n %y: f32[] = mean %x {axes = [0, 1]}\n return %y\n}", []*tensor.Tensor{numbers(t, row, 1, 2, 3, 4)}, 2, 8},
		{"product", "graph f(%x: f32[1,4], %w: f32[4,1]) {\n %y: f32[1,1] = matmul %x, %w\n return %y\n}", []*tensor.Tensor{numbers(t, row, 1, 2, 3, 4), numbers(t, []int{4, 1}, 1, 1, 1, 1)}, 2, 8},
		{"product that cancels", "graph f(%x: f32[1,4], %w: f32[4,1]) {\n %y: f32[1,1] = matmul %x, %w\n return %y\n}", []*tensor.Tensor{numbers(t, row, 1024, -1024, 0, 1), numbers(t, []int{4, 1}, 1, 1, 1, 1)}, 2000, 20000},
		{"softmax", "graph f(%x: f32[1,4]) {\n %y: f32[1,4] = softmax %x {axis = 1}\n return %y\n}", []*tensor.Tensor{numbers(t, row, 1, 2, 3, 4)}, 2, 20},
		{"rms_norm", "graph f(%x: f32[1,4]) {\n %y: f32[1,4] = rms_norm %x {axis = 1}\n return %y\n}", []*tensor.Tensor{numbers(t, row, 1, 2, 3, 4)}, 2, 40},
		{"exp", "graph f(%x: f32[1,4]) {\n %y: f32[1,4] = exp %x\n return %y\n}", []*tensor.Tensor{numbers(t, row, 1, 2, 3, 4)}, 0, 2},
	} {
		v, narrow, wide := node(t, c.program, c.in...)
		if err := Check(v, c.in, moved(narrow, 0, c.within), wide); err != nil {
			t.Errorf("%s: %v units are refused: %v", c.name, c.within, err)
		}
		for _, units := range []float64{c.beyond, -c.beyond} {
			if err := Check(v, c.in, moved(narrow, 0, units), wide); err == nil {
				t.Errorf("%s: %v units are permitted", c.name, units)
			}
		}
	}
}

// What is not finite has to be where the reference has it, unless float32 may
// overflow on the way.
func TestNotFinite(t *testing.T) {
	const program = "graph f(%x: f32[1,4], %w: f32[4,1]) {\n %y: f32[1,1] = matmul %x, %w\n return %y\n}"
	ones := numbers(t, []int{4, 1}, 1, 1, 1, 1)
	nan := float32(math.NaN())
	for _, c := range []struct {
		x        []float32
		got      float32
		accepted bool
	}{
		{[]float32{1, nan, 1, 1}, nan, true},
		{[]float32{1, nan, 1, 1}, 3, false},
		{[]float32{1, inf, 1, 1}, inf, true},
		{[]float32{1, inf, 1, 1}, -inf, false},
		{[]float32{1, inf, -inf, 1}, nan, true},
		{[]float32{1, inf, -inf, 1}, inf, false},
		{[]float32{1, 1, 1, 1}, inf, false},
		{[]float32{1, 1, 1, 1}, nan, false},
		{[]float32{3e38, 3e38, -3e38, -3e38}, inf, true},
		{[]float32{3e38, 3e38, -3e38, -3e38}, nan, true},
		{[]float32{3e38, 3e38, -3e38, -3e38}, 0, true},
	} {
		x := numbers(t, []int{1, 4}, c.x...)
		v, _, wide := node(t, program, x, ones)
		err := Check(v, []*tensor.Tensor{x, ones}, numbers(t, []int{1, 1}, c.got), wide)
		if (err == nil) != c.accepted {
			t.Errorf("%v gives %v: %v", c.x, c.got, err)
		}
	}
}

// Without eps a line of equal numbers is divided by nothing: only whether a
// difference is exactly zero decides about NaN.
func TestNormWithoutEps(t *testing.T) {
	const program = "graph f(%x: f32[1,4]) {\n %y: f32[1,4] = layer_norm %x {axis = 1, eps = 0.0}\n return %y\n}"
	for _, c := range []struct {
		x        []float32
		accepted bool
	}{{[]float32{0.1, 0.1, 0.1, 0.1}, true}, {[]float32{0.1, 0.2, 0.1, 0.1}, false}} {
		x := numbers(t, []int{1, 4}, c.x...)
		v, _, wide := node(t, program, x)
		err := Check(v, []*tensor.Tensor{x}, numbers(t, []int{1, 4}, 7, 7, 7, 7), wide)
		if (err == nil) != c.accepted {
			t.Errorf("%v: %v", c.x, err)
		}
	}
}

func TestOtherSpec(t *testing.T) {
	x := numbers(t, []int{1, 4}, 1, 2, 3, 4)
	v, _, wide := node(t, "graph f(%x: f32[1,4]) {\n %y: f32[1,4] = softmax %x {axis = 1}\n return %y\n}", x)
	if err := Check(v, []*tensor.Tensor{x}, numbers(t, []int{4}, 0, 0, 0, 1), wide); err == nil || !strings.Contains(err.Error(), "declared f32[1,4]") {
		t.Errorf("another shape: %v", err)
	}
}

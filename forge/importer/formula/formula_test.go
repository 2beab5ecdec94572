package formula

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// run evaluates a formula of inputs in float64.
func run(t *testing.T, build func(f Builder, in []*ir.Value) *ir.Value, inputs ...*tensor.Tensor) *tensor.Tensor {
	t.Helper()
	b := ir.NewBuilder(op.Registry, "formula")
	in := declared(t, b, inputs)
	var out *ir.Value
	if err := Try(func() { out = build(Builder{B: b}, in) }); err != nil {
		t.Fatal(err)
	}
	g, err := b.Finish(out)
	if err != nil {
		t.Fatal(err)
	}
	x, err := interp.New().Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	got, err := x.Run(t.Context(), inputs...)
	if err != nil {
		t.Fatal(err)
	}
	return got[0]
}

// declared makes inputs of a program for tensors.
func declared(t *testing.T, b *ir.Builder, inputs []*tensor.Tensor) (in []*ir.Value) {
	t.Helper()
	for i, x := range inputs {
		v, err := b.Input(string(rune('a'+i)), ir.Spec{DType: x.DType(), Shape: x.Shape()})
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, v)
	}
	return in
}

// counting holds 1, 2, 3, … with every third negative.
func counting(t *testing.T, shape ...int) *tensor.Tensor {
	t.Helper()
	x, err := tensor.Zeros(tensor.F64, shape...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.Len() {
		v := float64(i + 1)
		if i%3 == 2 {
			v = -v
		}
		x.SetElem(i, v)
	}
	return x
}

// same compares shape and elements.
func same(t *testing.T, got *tensor.Tensor, shape []int, want []float64) {
	t.Helper()
	if !slices.Equal(got.Shape(), shape) {
		t.Fatalf("the shape is %v, want %v", got.Shape(), shape)
	}
	for i, w := range want {
		if g := got.Elem(i); math.Abs(g-w) > 1e-12*math.Max(1, math.Abs(w)) || g != g {
			t.Fatalf("element %d is %v, want %v in %v", i, g, w, got)
		}
	}
}

func vector(t *testing.T, list ...float64) *tensor.Tensor {
	t.Helper()
	x, err := tensor.From([]int{len(list)}, list)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestElementwise(t *testing.T) {
	x := vector(t, -2.5, -0.5, 0, 0.5, 2.5, 800, -800)
	for name, c := range map[string]struct {
		build func(f Builder, v *ir.Value) *ir.Value
		want  func(x float64) float64
	}{
		"truncate":     {Builder.Truncate, math.Trunc},
		"exp less one": {Builder.ExpMinusOne, func(x float64) float64 { return math.Exp(x) - 1 }},
		"softplus":     {Builder.Softplus, func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }},
		"clamp":        {func(f Builder, v *ir.Value) *ir.Value { return f.Clamp(v, -1, 2) }, func(x float64) float64 { return max(-1, min(x, 2)) }},
		"hard sigmoid": {func(f Builder, v *ir.Value) *ir.Value { return f.HardSigmoid(v, 0.2, 0.5) }, func(x float64) float64 { return max(0, min(1, 0.2*x+0.5)) }},
		"negative":     {func(f Builder, v *ir.Value) *ir.Value { return f.Negative(v, f.Scale(v, 0.1)) }, func(x float64) float64 { return max(x, 0) + 0.1*min(x, 0) }},
	} {
		t.Run(name, func(t *testing.T) {
			in := x
			if name == "exp less one" {
				in = vector(t, -2.5, 0, 3)
			}
			var want []float64
			for _, v := range in.Values() {
				want = append(want, c.want(v))
			}
			same(t, run(t, func(f Builder, in []*ir.Value) *ir.Value { return c.build(f, in[0]) }, in), in.Shape(), want)
		})
	}
	kinds := run(t, func(f Builder, in []*ir.Value) *ir.Value { return f.Op("or", nil, f.IsNaN(in[0]), f.IsInf(in[0])) }, vector(t, math.NaN(), 1, math.Inf(-1)))
	if !slices.Equal(kinds.Bool(), []bool{true, false, true}) {
		t.Errorf("NaN, 1 and -Inf are no finite numbers: %v", kinds)
	}
}

// Slice clamps as Python does.
func TestSlice(t *testing.T) {
	x := vector(t, 0, 1, 2, 3, 4)
	for _, c := range []struct {
		start, end, step int64
		want             []float64
	}{
		{0, 5, 1, []float64{0, 1, 2, 3, 4}},
		{-2, math.MaxInt64, 1, []float64{3, 4}},
		{math.MinInt64, 2, 1, []float64{0, 1}},
		{1, 5, 2, []float64{1, 3}},
		{4, math.MinInt64, -2, []float64{4, 2, 0}},
		{-1, -4, -1, []float64{4, 3, 2}},
		{3, 1, 1, nil},
		{1, 3, -1, nil},
		{9, 12, 1, nil},
		{0, 5, math.MaxInt64, []float64{0}},
		{4, -6, math.MinInt64, []float64{4}},
	} {
		got := run(t, func(f Builder, in []*ir.Value) *ir.Value {
			return f.Op("abs", nil, f.Slice(in[0], 0, c.start, c.end, c.step))
		}, x)
		same(t, got, []int{len(c.want)}, c.want)
	}
}

func TestMovement(t *testing.T) {
	x := counting(t, 2, 3) // 1 2 -3 / 4 5 -6
	for name, c := range map[string]struct {
		build func(f Builder, v *ir.Value) *ir.Value
		shape []int
		want  []float64
	}{
		"tile":     {func(f Builder, v *ir.Value) *ir.Value { return f.Tile(v, []int{2, 1}) }, []int{4, 3}, []float64{1, 2, -3, 4, 5, -6, 1, 2, -3, 4, 5, -6}},
		"tile all": {func(f Builder, v *ir.Value) *ir.Value { return f.Tile(v, []int{1, 2}) }, []int{2, 6}, []float64{1, 2, -3, 1, 2, -3, 4, 5, -6, 4, 5, -6}},
		"cut and pad": {func(f Builder, v *ir.Value) *ir.Value { return f.Pad(v, []int64{-1, 1}, []int64{1, -2}, 9) },
			[]int{2, 2}, []float64{9, 4, 9, 9}},
		"edge":    {func(f Builder, v *ir.Value) *ir.Value { return f.PadBy(v, 1, 2, 1, Edge) }, []int{2, 6}, []float64{1, 1, 1, 2, -3, -3, 4, 4, 4, 5, -6, -6}},
		"wrap":    {func(f Builder, v *ir.Value) *ir.Value { return f.PadBy(v, 1, 1, 2, Wrap) }, []int{2, 6}, []float64{-3, 1, 2, -3, 1, 2, -6, 4, 5, -6, 4, 5}},
		"reflect": {func(f Builder, v *ir.Value) *ir.Value { return f.PadBy(v, 1, 2, 2, Reflect) }, []int{2, 7}, []float64{-3, 2, 1, 2, -3, 2, 1, -6, 5, 4, 5, -6, 5, 4}},
		"lower":   {func(f Builder, v *ir.Value) *ir.Value { return f.Triangle(v, 0, false) }, []int{2, 3}, []float64{1, 0, 0, 4, 5, 0}},
		"upper":   {func(f Builder, v *ir.Value) *ir.Value { return f.Triangle(v, 1, true) }, []int{2, 3}, []float64{0, 2, -3, 0, 0, -6}},
		"swap":    {func(f Builder, v *ir.Value) *ir.Value { return f.Op("neg", nil, f.Swap(v, 0, 1)) }, []int{3, 2}, []float64{-1, -4, -2, -5, 3, 6}},
		"weigh": {func(f Builder, v *ir.Value) *ir.Value { return f.Weigh(v, 1, [][]Tap{{{0, 0.5}, {1, 0.5}}, {{2, 1}}}) },
			[]int{2, 2}, []float64{1.5, -3, 4.5, -6}},
		"weigh nothing": {func(f Builder, v *ir.Value) *ir.Value { return f.Weigh(v, 1, nil) }, []int{2, 0}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, run(t, func(f Builder, in []*ir.Value) *ir.Value { return c.build(f, in[0]) }, x), c.shape, c.want)
		})
	}
	index, err := tensor.From([]int{2, 2}, []int64{0, -1, -3, 1})
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, func(f Builder, in []*ir.Value) *ir.Value { return f.GatherElements(in[0], f.FromFront(in[1], 3), 1) }, x, index)
	same(t, got, []int{2, 2}, []float64{1, -3, 4, 5})
}

func TestEinsum(t *testing.T) {
	a, b := counting(t, 2, 3), counting(t, 3, 2)
	for equation, c := range map[string]struct {
		shape []int
		want  []float64
	}{
		"ij,jk->ik":     {[]int{2, 2}, []float64{1*1 + 2*-3 + -3*5, 1*2 + 2*4 + -3*-6, 4*1 + 5*-3 + -6*5, 4*2 + 5*4 + -6*-6}},
		"ij,jk":         {[]int{2, 2}, []float64{-20, 28, -41, 64}},
		"ij,ji->":       {nil, []float64{-20 + 64}},
		"...j,jk->k...": {[]int{2, 2}, []float64{-20, -41, 28, 64}},
	} {
		got := run(t, func(f Builder, in []*ir.Value) *ir.Value { return f.Einsum(equation, in...) }, a, b)
		same(t, got, c.shape, c.want)
	}
	for equation, want := range map[string]string{"ij,jk,kl->il": "has 3 terms for 2 operands", "ij,1k->i": "is no term", "ij,ik->jk": "3"} {
		err := fails(t, func(f Builder, in []*ir.Value) { f.Einsum(equation, in...) }, a, b)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives the error %v, want one with %q", equation, err, want)
		}
	}
}

// fails returns the error that ends a formula.
func fails(t *testing.T, build func(f Builder, in []*ir.Value), inputs ...*tensor.Tensor) error {
	t.Helper()
	b := ir.NewBuilder(op.Registry, "formula")
	in := declared(t, b, inputs)
	return Try(func() { build(Builder{B: b}, in) })
}

func TestErrors(t *testing.T) {
	x := counting(t, 1, 1, 4)
	for want, build := range map[string]func(f Builder, in []*ir.Value){
		"axis -4 is outside rank 3":    func(f Builder, in []*ir.Value) { f.Axis(-4, 3) },
		"axes [0 -3] name one twice":   func(f Builder, in []*ir.Value) { f.Axes([]int64{0, -3}, 3) },
		"-1 is no length":              func(f Builder, in []*ir.Value) { f.Lengths([]int64{2, -1}) },
		"2147483648 is no length":      func(f Builder, in []*ir.Value) { f.Lengths([]int64{1 << 31}) },
		"pads -3 and -3 of 4 elements": func(f Builder, in []*ir.Value) { f.PadBy(in[0], 2, -3, -3, Edge) },
		"pads 9223372036854775807 and 9223372036854775807 of 4 elements": func(f Builder, in []*ir.Value) {
			f.PadBy(in[0], 2, math.MaxInt64, math.MaxInt64, Edge)
		},
		"a window of 5 does not fit dimension 0, 4 long with padding": func(f Builder, in []*ir.Value) {
			f.Slide(in[0], []int{5}, []int{1}, []int{0}, []int{1}, false)
		},
		"a window of [2] with steps of [0] and dilations of [1] for 1 spatial dimensions": func(f Builder, in []*ir.Value) {
			f.Slide(in[0], []int{2}, []int{0}, []int{0}, []int{1}, false)
		},
		"padding of [-1] for 1 spatial dimensions": func(f Builder, in []*ir.Value) {
			f.Slide(in[0], []int{2}, []int{1}, []int{-1}, []int{1}, false)
		},
		"the operand f64[1,4] has no spatial dimensions": func(f Builder, in []*ir.Value) {
			f.Slide(f.Reshape(in[0], 1, 4), nil, nil, nil, nil, false)
		},
	} {
		if err := fails(t, build, x); err == nil || err.Error() != want {
			t.Errorf("got the error %v, want %s", err, want)
		}
	}
}

// limit is a budget of nodes and elements.
type limit struct{ nodes, elements int }

var errSpent = errors.New("spent")

func (l *limit) Node() error {
	if l.nodes--; l.nodes < 0 {
		return errSpent
	}
	return nil
}

func (l *limit) Room(dims ...int) error {
	if l.elements -= Product(dims); l.elements < 0 {
		return errSpent
	}
	return nil
}

// A budget ends the import before what is too much is made.
func TestBudget(t *testing.T) {
	b := ir.NewBuilder(op.Registry, "budget")
	f := Builder{B: b, Budget: &limit{nodes: 3, elements: 10}}
	if err := Try(func() { f.Iota(10, tensor.F64, 0, 1) }); err != nil {
		t.Error(err)
	}
	for name, build := range map[string]func(){
		"elements": func() { f.Iota(1, tensor.F64, 0, 1) },
		"nodes":    func() { v := f.Constant(tensor.Scalar(tensor.F64, 1), nil); f.Add(v, f.Number(v, 2)) },
	} {
		if err := Try(build); !errors.Is(err, errSpent) {
			t.Errorf("%s: got the error %v", name, err)
		}
	}
}

func TestTryPassesOtherPanicsOn(t *testing.T) {
	defer func() {
		if r := recover(); r != "other" {
			t.Errorf("recovered %v", r)
		}
	}()
	_ = Try(func() { panic("other") })
}

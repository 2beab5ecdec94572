package cpu_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// productCases are programs of one product of %x and a matrix, around the sizes at
// which its kernels change form: tiles and their rests, blocks of rows, copied
// panels, sweeps and dots, batches of either operand.
var productCases = []struct {
	x, w []int  // w as it stands: [..., N, K] when it is transposed
	line string // what is made of %x and %w
}{
	{[]int{1, 1}, []int{1, 1}, "matmul"}, {[]int{1, 5}, []int{5, 3}, "bias"}, {[]int{8, 64}, []int{64, 128}, "gelu_tanh"},
	{[]int{7, 65}, []int{65, 33}, "relu"}, {[]int{33, 65}, []int{65, 31}, "bias"}, {[]int{13, 17}, []int{17, 97}, "silu"},
	{[]int{3, 300}, []int{300, 10}, "bias"}, {[]int{29, 3}, []int{3, 70}, "matmul"}, {[]int{70, 1100}, []int{1100, 50}, "bias"},
	{[]int{1, 520}, []int{520, 515}, "relu"}, {[]int{1, 515}, []int{515, 576}, "bias"}, {[]int{6, 270}, []int{270, 1010}, "silu"}, {[]int{3, 261}, []int{261, 777}, "bias"}, {[]int{4, 131}, []int{131, 2050}, "matmul"},
	{[]int{2, 37}, []int{19, 37}, "transposed"}, {[]int{5, 100}, []int{35, 100}, "transposed"}, {[]int{40, 33}, []int{21, 33}, "transposed"},
	{[]int{1, 64}, []int{3, 64}, "transposed"}, {[]int{5, 33}, []int{1, 33}, "transposed"},
	{[]int{3, 5, 40}, []int{40, 20}, "matmul"}, {[]int{3, 5, 40}, []int{3, 40, 20}, "matmul"}, {[]int{2, 3, 1, 9}, []int{3, 9, 18}, "matmul"},
	{[]int{37, 37}, []int{37, 41}, "gelu"}, {[]int{3, 3}, []int{3, 2600}, "relu"}, // with the matrix as residual
	{[]int{2, 34, 16}, []int{2, 17, 16}, "transposed"}, {[]int{6, 11}, []int{4, 11, 5}, "matmul"}, {[]int{3, 2, 300}, []int{3, 300, 600}, "matmul"},
	// with last columns that are folded: half a vector, some by themselves, or both
	{[]int{13, 67}, []int{67, 42}, "bias"}, {[]int{5, 33}, []int{33, 8}, "silu"}, {[]int{17, 40}, []int{40, 27}, "matmul"}, {[]int{4, 39}, []int{39, 3}, "bias"}, {[]int{2, 9, 47}, []int{2, 47, 25}, "matmul"},
}

// checked is a program with what it must give.
type checked struct {
	name    string
	graph   *ir.Graph
	in      []*tensor.Tensor
	want    *tensor.Tensor
	bound   func(i int) float64
	special bool // only the places of NaN and infinities are compared
}

// TestProducts compares products with float64 on all kinds of vectors: the matrix
// is an input or a constant, the elements are ordinary, or some are NaN, infinite
// and zero.
func TestProducts(t *testing.T) { check(t, productChecks(t)) }

// productChecks are the programs of those cases.
func productChecks(t *testing.T) []checked {
	var list []checked
	for i, c := range productCases {
		dtypes := []tensor.DType{tensor.F32, []tensor.DType{tensor.F16, tensor.BF16, tensor.F64}[i%3]}
		for variant, special := range []bool{false, true, false} {
			dtype := dtypes[variant/2]
			if dtype == tensor.F64 && !strings.Contains("matmul bias relu transposed", c.line) {
				dtype = tensor.BF16 // other activations of f64 are the reference's own
			}
			x, w, b := numbers(t, i+1, special, dtype, c.x), numbers(t, i+100, special, dtype, c.w), numbers(t, i+200, false, dtype, c.w[len(c.w)-1:])
			limit := run(t, compile(t, interp.Reference(), magnitudes(t, c.line, x, w, b)), nil)[0]
			units := 1.2 * float64(c.x[len(c.x)-1]+4) * 0x1p-24
			for _, constant := range []bool{false, true} {
				if variant > 0 && constant != (i%2 == 0) {
					continue // one of the two, in turn
				}
				g, in := productProgram(t, c.line, constant, x, w, b)
				want := run(t, compile(t, interp.Reference(), g), in)[0]
				list = append(list, checked{
					name:  fmt.Sprintf("%s %v %v x %v, constant %v, special %v", c.line, dtype, c.x, c.w, constant, special),
					graph: g, in: in, want: want, special: special,
					bound: func(i int) float64 {
						switch dtype {
						case tensor.F64:
							return 0
						case tensor.F32:
							return units*limit.Elem(i) + 1e-30
						}
						return units*limit.Elem(i) + tensor.ULP(dtype, want.Elem(i))
					},
				})
			}
		}
	}
	return list
}

// check runs programs on all kinds of vectors, where each is native.
func check(t *testing.T, all []checked) {
	onTargets(t, func(t *testing.T, b *cpu.Backend) {
		var list []checked
		var graphs []*ir.Graph
		for i, c := range all {
			if selected(b.Target, i) {
				list, graphs = append(list, c), append(graphs, c.graph)
			}
		}
		programs, err := b.CompileAll(t.Context(), graphs...)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range list {
			for _, k := range programs[i].Kernels() {
				if strings.HasSuffix(k.Kernel, "reference") {
					t.Errorf("%s: %s runs as %q: %s", c.name, k.Value, k.Kernel, k.Reason)
				}
			}
			c.compare(t, run(t, programs[i], c.in)[0])
		}
	})
}

func (c checked) compare(t *testing.T, got *tensor.Tensor) {
	t.Helper()
	for i := range c.want.Len() {
		y, z := got.Elem(i), c.want.Elem(i)
		same := y == z || y != y && z != z
		if z-z == 0 && y-y == 0 {
			same = c.special || math.Abs(y-z) <= c.bound(i)
		}
		if !same {
			t.Errorf("%s: result %d is %g, not %g", c.name, i, y, z)
			return
		}
	}
}

// numbers are ordinary ones around 0, or with some that are not.
func numbers(t *testing.T, seed int, special bool, dtype tensor.DType, shape []int) *tensor.Tensor {
	t.Helper()
	x, err := tensor.Randn(uint64(seed), shape...)
	if err != nil {
		t.Fatal(err)
	}
	if special {
		odd := []float32{float32(math.NaN()), float32(math.Inf(1)), 0, float32(math.Inf(-1))}
		data := x.Float32()
		for i := seed % 7; i < len(data); i += 1 + len(data)/4 {
			data[i] = odd[(i+seed)%len(odd)]
		}
	}
	if x, err = x.Convert(dtype); err != nil {
		t.Fatal(err)
	}
	return x
}

func productProgram(t *testing.T, line string, constant bool, x, w, bias *tensor.Tensor) (*ir.Graph, []*tensor.Tensor) {
	t.Helper()
	b := ir.NewBuilder(op.Registry, "product")
	in := []*tensor.Tensor{x}
	vx, err := b.Input("x", ir.SpecOf(x))
	if err != nil {
		t.Fatal(err)
	}
	var vw *ir.Value
	if constant {
		vw, err = b.Const(w)
	} else {
		in = append(in, w)
		vw, err = b.Input("w", ir.SpecOf(w))
	}
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Finish(apply(t, b, line, vx, vw, bias))
	if err != nil {
		t.Fatal(err)
	}
	return g, in
}

// apply adds the product that a line stands for.
func apply(t *testing.T, b *ir.Builder, line string, x, w *ir.Value, bias *tensor.Tensor) *ir.Value {
	t.Helper()
	add := func(name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
		v, err := b.Apply(name, attrs, in...)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	switch line {
	case "matmul":
		return add("matmul", nil, x, w)
	case "transposed":
		rank := w.Spec.Rank()
		perm := make([]int, rank)
		for i := range perm {
			perm[i] = i
		}
		perm[rank-1], perm[rank-2] = rank-2, rank-1
		return add("matmul", nil, x, add("transpose", ir.Attrs{"perm": perm}, w))
	}
	if line == "bias" {
		line = "none"
	}
	vb, err := b.Const(bias)
	if err != nil {
		t.Fatal(err)
	}
	y := add("linear", ir.Attrs{"act": line}, x, w, vb)
	if y.Spec.Rank() == 2 && y.Spec.Shape[0] == w.Spec.Shape[0] { // of the shape of the matrix
		return add("linear", ir.Attrs{"act": line}, x, w, vb, w)
	}
	return y
}

// magnitudes is the product of absolute values, without its activation.
func magnitudes(t *testing.T, line string, x, w, bias *tensor.Tensor) *ir.Graph {
	t.Helper()
	b := ir.NewBuilder(op.Registry, "magnitudes")
	abs := func(x *tensor.Tensor) *tensor.Tensor {
		y := x.Clone()
		for i := range y.Len() {
			y.SetElem(i, math.Abs(y.Elem(i)))
		}
		return y
	}
	vx, err := b.Const(abs(x))
	if err != nil {
		t.Fatal(err)
	}
	vw, err := b.Const(abs(w))
	if err != nil {
		t.Fatal(err)
	}
	if line != "matmul" && line != "transposed" {
		line = "bias"
	}
	g, err := b.Finish(apply(t, b, line, vx, vw, abs(bias)))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

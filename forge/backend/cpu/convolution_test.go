package cpu_test

import (
	"fmt"
	"math"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// convolutionCases are convolutions around the sizes at which their kernels change
// form: rows longer and shorter than vectors, strides, dilations, groups, bands of
// rows and of columns, kernels of one number.
var convolutionCases = []struct {
	x, w  []int
	attrs ir.Attrs
}{
	{[]int{2, 3, 32, 32}, []int{16, 3, 3, 3}, ir.Attrs{"padding": []int{1, 1}}},
	{[]int{1, 5, 9, 37}, []int{13, 5, 3, 3}, ir.Attrs{"padding": []int{1, 1}}},
	{[]int{2, 19, 7, 7}, []int{21, 19, 3, 3}, ir.Attrs{"padding": []int{1, 1}}},
	{[]int{1, 4, 11, 5}, []int{9, 4, 3, 3}, ir.Attrs{"padding": []int{0, 2, 1, 0}, "stride": []int{2, 2}}},
	{[]int{1, 3, 29, 41}, []int{8, 3, 7, 7}, ir.Attrs{"padding": []int{3, 3}, "stride": []int{2, 2}}},
	{[]int{1, 2, 20, 23}, []int{5, 2, 3, 2}, ir.Attrs{"dilation": []int{2, 3}, "padding": []int{2, 1}, "stride": []int{3, 2}}},
	{[]int{1, 12, 15, 15}, []int{12, 1, 3, 3}, ir.Attrs{"groups": 12, "padding": []int{1, 1}}},
	{[]int{2, 6, 6, 6}, []int{10, 3, 3, 3}, ir.Attrs{"groups": 2, "padding": []int{1, 1}}},
	{[]int{2, 24, 9, 10}, []int{40, 24, 1, 1}, nil},
	{[]int{2, 8, 5, 6}, []int{6, 4, 1, 1}, ir.Attrs{"groups": 2}},
	{[]int{1, 8, 9, 10}, []int{4, 8, 1, 1}, ir.Attrs{"stride": []int{2, 2}}},
	{[]int{1, 3, 4, 4}, []int{2, 3, 1, 1}, ir.Attrs{"padding": []int{3, 3}}},
	{[]int{1, 1, 2, 2}, []int{1, 1, 5, 5}, ir.Attrs{"padding": []int{3, 4}}},
	{[]int{1, 1, 12, 30}, []int{2, 1, 3, 11}, ir.Attrs{"padding": []int{1, 5}, "act": "relu"}},
	{[]int{1, 3, 17, 33}, []int{7, 3, 3, 3}, ir.Attrs{"padding": []int{1, 1}, "act": "relu"}},
	{[]int{2, 3, 5, 6}, []int{7, 3, 1, 1}, ir.Attrs{"act": "relu"}},
	{[]int{1, 160, 40, 40}, []int{3, 160, 3, 3}, ir.Attrs{"padding": []int{1, 1}}},
	{[]int{1, 250, 3, 150}, []int{3, 250, 3, 3}, ir.Attrs{"padding": []int{1, 1}}},
	{[]int{1, 3, 2, 96}, []int{3, 1, 5, 5}, ir.Attrs{"groups": 3, "padding": []int{2, 2}, "act": "relu"}},
	{[]int{1, 3, 11, 85}, []int{3, 1, 3, 3}, ir.Attrs{"groups": 3, "padding": []int{1, 1}, "stride": []int{1, 2}}},
	{[]int{2, 2, 3, 60}, []int{2, 1, 7, 3}, ir.Attrs{"groups": 2, "padding": []int{4, 1, 3, 1}, "dilation": []int{1, 2}}},
	{[]int{1, 3, 9, 70}, []int{3, 1, 5, 5}, ir.Attrs{"groups": 3, "padding": []int{2, 2}, "stride": []int{2, 2}}},
	{[]int{1, 4, 19, 33}, []int{2, 2, 2, 4}, ir.Attrs{"groups": 2, "padding": []int{1, 0}}},
	{[]int{2, 5, 40, 1}, []int{18, 5, 5, 1}, ir.Attrs{"padding": []int{2, 0}, "act": "relu"}},
	{[]int{1, 1, 1, 97}, []int{37, 1, 1, 33}, ir.Attrs{"stride": []int{1, 16}}},
	{[]int{2, 1, 3, 50}, []int{17, 1, 2, 33}, ir.Attrs{"stride": []int{1, 16}, "act": "relu"}},
	{[]int{1, 13, 1, 4}, []int{18, 13, 1, 3}, ir.Attrs{"padding": []int{0, 1}, "act": "relu"}},
	{[]int{2, 12, 3, 2}, []int{40, 6, 3, 3}, ir.Attrs{"padding": []int{1, 1}, "groups": 2}},
	{[]int{2, 18, 2, 3}, []int{34, 9, 1, 1}, ir.Attrs{"groups": 2}},
	{[]int{3, 18, 1, 1}, []int{34, 18, 1, 1}, nil},
	{[]int{2, 7, 3, 9}, []int{19, 7, 1, 1}, ir.Attrs{"stride": []int{1, 4}, "padding": []int{1, 0}}},
	{[]int{2, 7, 9, 11}, []int{19, 7, 1, 1}, ir.Attrs{"stride": []int{2, 3}, "act": "relu"}},
	{[]int{2, 12, 8, 7}, []int{36, 6, 1, 1}, ir.Attrs{"stride": []int{1, 2}, "groups": 2}},
	{[]int{1, 200, 14, 14}, []int{15, 200, 3, 3}, ir.Attrs{"stride": []int{2, 2}, "padding": []int{1, 1}}},
}

// TestConvolutions compares convolutions with float64 on all kinds of vectors.
// Weights that are not finite must not meet the zeros of the padding.
func TestConvolutions(t *testing.T) { check(t, convolutionChecks(t)) }

// convolutionChecks are the programs of those cases.
func convolutionChecks(t *testing.T) []checked {
	var list []checked
	for i, c := range convolutionCases {
		dtypes := []tensor.DType{tensor.F32, []tensor.DType{tensor.F16, tensor.BF16, tensor.F64}[i%3]}
		for variant, special := range []bool{false, true, false} {
			dtype := dtypes[variant/2]
			in := []*tensor.Tensor{numbers(t, i+1, special, dtype, c.x), numbers(t, i+100, special, dtype, c.w), numbers(t, i+200, false, dtype, c.w[:1])}
			var sizes []*tensor.Tensor
			for _, x := range in {
				size := x.Clone()
				for i := range size.Len() {
					size.SetElem(i, math.Abs(size.Elem(i)))
				}
				sizes = append(sizes, size)
			}
			limit := run(t, compile(t, interp.Reference(), convolutionProgram(t, c.attrs, 0, sizes)), sizes)[0]
			units := float64(c.w[1]*c.w[2]*c.w[3]+4) * 0x1p-24
			for _, constants := range []int{0, 2} {
				if variant > 0 && (constants > 0) != (i%2 == 0) {
					continue // one of the two, in turn
				}
				g := convolutionProgram(t, c.attrs, constants, in)
				given := in[:3-constants]
				want := run(t, compile(t, interp.Reference(), g), given)[0]
				list = append(list, checked{
					name:  fmt.Sprintf("%v %v * %v %v, %d constants, special %v", dtype, c.x, c.w, c.attrs, constants, special),
					graph: g, in: given, want: want, special: special,
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

// convolutionProgram is conv2d of values of which the last ones are constants.
func convolutionProgram(t *testing.T, attrs ir.Attrs, constants int, in []*tensor.Tensor) *ir.Graph {
	t.Helper()
	b := ir.NewBuilder(op.Registry, "convolution")
	var operands []*ir.Value
	for i, x := range in {
		v, err := (*ir.Value)(nil), error(nil)
		if i < len(in)-constants {
			v, err = b.Input([]string{"x", "w", "b"}[i], ir.SpecOf(x))
		} else {
			v, err = b.Const(x)
		}
		if err != nil {
			t.Fatal(err)
		}
		operands = append(operands, v)
	}
	y, err := b.Apply("conv2d", attrs, operands...)
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Finish(y)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

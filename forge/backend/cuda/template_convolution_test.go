package cuda

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/suite"
	"forgekernel/forge/tensor"
)

// convolved is a program of one convolution with constant weights, the first of which can
// be set.
func convolved(t testing.TB, d tensor.DType, x, w []int, attrs ir.Attrs, first float64) *ir.Graph {
	t.Helper()
	b := ir.NewBuilder(op.Registry, "convolved")
	constant := func(seed uint64, shape ...int) *ir.Value {
		c, err := tensor.Randn(seed, shape...)
		if err == nil && first != 0 {
			c.SetElem(0, first)
		}
		if err == nil {
			c, err = c.Convert(d)
		}
		if err != nil {
			t.Fatal(err)
		}
		v, err := b.SharedConst(c)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	in, err := b.Input("x", ir.Spec{DType: d, Shape: x})
	if err != nil {
		t.Fatal(err)
	}
	y, err := b.Apply("conv2d", attrs, in, constant(1, w...), constant(2, w[0]))
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Finish(y)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestConvolutions compares kernels of convolutions with sums in float64, a third of them or
// all when FORGE_CONFORMANCE is full.
func TestConvolutions(t *testing.T) {
	b := device(t)
	step := 3 // of the candidates
	if os.Getenv("FORGE_CONFORMANCE") == "full" {
		step = 1
	}
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
		for _, c := range []struct {
			x, w  []int
			attrs ir.Attrs
		}{
			{[]int{2, 3, 17, 19}, []int{20, 3, 3, 3}, ir.Attrs{"padding": []int64{1, 1}}},
			{[]int{1, 64, 14, 14}, []int{40, 64, 3, 3}, ir.Attrs{"padding": []int64{1, 1}, "stride": []int64{2, 1}}},
			{[]int{3, 32, 11, 8}, []int{48, 16, 3, 2}, ir.Attrs{"groups": int64(2), "dilation": []int64{2, 1}}},
			{[]int{1, 24, 9, 70}, []int{8, 24, 1, 5}, ir.Attrs{"padding": []int64{0, 2, 1, 2}, "stride": []int64{1, 3}}},
		} {
			g := convolved(t, d, c.x, c.w, c.attrs, 0)
			t.Run(fmt.Sprintf("%v %v by %v", d, c.x, c.w), func(t *testing.T) {
				in, err := suite.Inputs(g, 3)
				if err != nil {
					t.Fatal(err)
				}
				want, err := newReference(t.Context(), g, in, referenceFLOPs)
				if err != nil {
					t.Fatal(err)
				}
				for pick, most := 0, 1; pick < most; pick += step {
					one := *b
					name := ""
					one.Select = func(_ *ir.Node, list []Candidate) (int, string) {
						most, name = len(list), list[pick].Name
						return pick, "the test picks it"
					}
					x, err := one.Compile(t.Context(), g)
					if err != nil {
						t.Fatal(err)
					}
					got, err := x.Run(t.Context(), in...)
					if err != nil {
						t.Fatal(err)
					}
					gate, err := want.check(got)
					if err == nil {
						err = gate.Failure()
					}
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			})
		}
	}
}

// TestConvolutionTexts sees which convolutions are products of weights and windows.
func TestConvolutionTexts(t *testing.T) {
	padded := ir.Attrs{"padding": []int64{1, 1}}
	for _, c := range []struct {
		d     tensor.DType
		w     []int
		attrs ir.Attrs
		first float64
		want  string
	}{
		{tensor.F32, []int{16, 8, 3, 3}, padded, 0, "gemm::simt(conv2d_0_product"},
		{tensor.BF16, []int{16, 8, 3, 3}, padded, 0, "gemm::mma(conv2d_0_product"},
		{tensor.F64, []int{16, 8, 3, 3}, padded, 0, "vd sum["},
		{tensor.F32, []int{4, 8, 3, 3}, padded, 0, "vf sum["},
		{tensor.F32, []int{16, 8, 3, 3}, padded, math.Inf(1), "vf sum["},
		{tensor.F32, []int{16, 8, 3, 3}, nil, math.Inf(1), "gemm::simt(conv2d_0_product"},
	} {
		s, err := Source(convolved(t, c.d, []int{1, 8, 40, 40}, c.w, c.attrs, c.first), "sm_90")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(s.Text[strings.LastIndex(s.Text, "conv2d_0_product {")+1:], c.want) {
			t.Errorf("%v %v %v, first weight %g: the source lacks %q", c.d, c.w, c.attrs, c.first, c.want)
		}
	}
}

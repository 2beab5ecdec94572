package loop_test

import (
	"math"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// TestFewPixels shows when a convolution is a product of pixels and constant
// weights: by steps alone, after windows were gathered, and not at all; and when one
// of kernels of one number is a product after its pixels were gathered.
func TestFewPixels(t *testing.T) {
	for _, c := range []struct {
		name  string
		x, w  []int
		first float64 // weight
		attrs ir.Attrs
		want  string
	}{
		{"steps reach all windows", []int{1, 1, 1, 97}, []int{37, 1, 1, 33}, 1, ir.Attrs{"stride": []int{1, 16}}, `kernel conv2d(%1: out f32, %x: f32, %0: f32)
contract [1,1] x [5,37,33]
  acc = %x[97,97,16,1] * %0[0,1221,1,33]
  acc -> %1[185,185,1,5]
`},
		{"images are rows", []int{3, 18, 1, 1}, []int{34, 18, 1, 1}, 1, nil, `kernel conv2d(%1: out f32, %x: f32, %0: f32)
contract [1,1] x [3,34,18]
  acc = %x[18,18,18,1] * %0[0,612,1,18]
  acc -> %1[34,34,34,1]
`},
		{"windows reach into padding", []int{1, 13, 1, 4}, []int{18, 13, 1, 3}, 1, ir.Attrs{"padding": []int{0, 1}}, `kernel conv2d(%x: f32, $windows: out f32)
nest [4,3] x [13]
  each load %x[1,1,4] -1 where i0+i1-1 below 4 else 0 -> $windows[39,1,3]
kernel conv2d(%1: out f32, $windows: f32, %0: f32)
contract [1,1] x [4,18,39]
  acc = $windows[156,156,39,1] * %0[0,702,1,39]
  acc -> %1[72,72,1,4]
`},
		{"an infinite weight must not meet padding", []int{1, 13, 1, 4}, []int{18, 13, 1, 3}, math.Inf(1), ir.Attrs{"padding": []int{0, 1}}, `kernel conv2d(%1: out f32, %x: f32, %0: f32)
convolve [1,1] x [18,13] over [1,4], 1 taps 1 apart in steps of 1 from 0, 3 taps 1 apart in steps of 1 from -1
  acc = %x[52,4,4,1] * %0[39,3,3,1]
  acc -> %1[72,4,4,1]
`},
		{"kernels of one number see some pixels", []int{2, 4, 7, 9}, []int{36, 2, 1, 1}, 1, ir.Attrs{"stride": []int{2, 3}, "groups": 2}, `kernel conv2d(%x: f32, $pixels: out f32)
nest [8,4] x [3]
  each load %x[63,18,3] -> $pixels[12,3,1]
kernel conv2d(%1: out f32, $pixels: f32, %0: f32)
contract [2,2] x [18,12,2]
  acc = %0[0,36,2,1] * $pixels[48,24,12,1]
  acc -> %1[432,216,12,1]
`},
		{"a few channels do not make a copy worth it", []int{1, 3, 7, 9}, []int{4, 3, 1, 1}, 1, ir.Attrs{"stride": []int{2, 3}}, `kernel conv2d(%1: out f32, %x: f32, %0: f32)
convolve [1,1] x [4,3] over [4,3], 1 taps 1 apart in steps of 2 from 0, 1 taps 1 apart in steps of 3 from 0
  acc = %x[189,63,9,1] * %0[3,1,1,1]
  acc -> %1[48,12,3,1]
`},
		{"one column is a row", []int{1, 3, 40, 1}, []int{2, 3, 5, 1}, 1, nil, `kernel conv2d(%1: out f32, %x: f32, %0: f32)
convolve [1,1] x [2,3] over [1,36], 1 taps 1 apart in steps of 1 from 0, 5 taps 1 apart in steps of 1 from 0
  acc = %x[120,40,1,1] * %0[15,5,1,1]
  acc -> %1[72,36,1,1]
`},
	} {
		w, err := tensor.Full(tensor.F32, 1, c.w...)
		if err != nil {
			t.Fatal(err)
		}
		w.SetElem(0, c.first)
		b := ir.NewBuilder(op.Registry, "f")
		x, err := b.Input("x", ir.Spec{DType: tensor.F32, Shape: c.x})
		if err != nil {
			t.Fatal(err)
		}
		v, err := b.Const(w)
		if err != nil {
			t.Fatal(err)
		}
		y, err := b.Apply("conv2d", c.attrs, x, v)
		if err != nil {
			t.Fatal(err)
		}
		kernels, err := loop.Lower(y.Def, func(v *ir.Value) []int { return tensor.Strides(v.Spec.Shape) })
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, k := range kernels {
			got += k.String()
		}
		if got != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.name, got, c.want)
		}
	}
}

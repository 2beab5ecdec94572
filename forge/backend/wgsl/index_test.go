package wgsl_test

import (
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/wgsl"
	"forgekernel/forge/tensor"
)

// TestIndices has kernels whose indices are constants below 0, behind guards that are
// never true, or have steps and offsets at the end of 32 bits and above.
func TestIndices(t *testing.T) {
	b := &wgsl.Backend{Device: wgsl.NewSimulator()}
	for name, text := range map[string]string{
		"padding of nothing":                      "graph g(%x: f32[0]) {\n  %y: f32[1] = pad %x {low = [1], high = [0], value = 2.5}\n  return %y\n}",
		"padding of a dimension without elements": "graph g(%x: i64[1,0,3]) {\n  %y: i64[1,1,3] = pad %x {low = [0, 1, 0], high = [0, 0, 0], value = 7.0}\n  return %y\n}",
		"padding of no halves":                    "graph g(%x: f16[0]) {\n  %y: f16[1] = pad %x {low = [1], high = [0], value = 2.5}\n  return %y\n}",
		"dilation of 2^31 - 1": `graph g(%x: f32[1,1,8,8], %w: f32[1,1,3,3]) {
  %y: f32[1,1,8,8] = conv2d %x, %w {dilation = [2147483647, 1], padding = [2147483647, 1]}
  return %y
}`,
		"dilation of 2^31": `graph g(%x: f32[1,1,8,8], %w: f32[1,1,3,3]) {
  %y: f32[1,1,8,8] = conv2d %x, %w {dilation = [2147483648, 1], padding = [2147483648, 1]}
  return %y
}`,
		"dilation of 2^31 along rows": `graph g(%x: f32[1,1,8,8], %w: f32[1,1,3,3]) {
  %y: f32[1,1,8,8] = conv2d %x, %w {dilation = [1, 2147483648], padding = [1, 2147483648]}
  return %y
}`,
		"stride of 2^31 - 1, padding of 2^31": `graph g(%x: f32[1,1,8,8], %w: f32[1,1,1,1]) {
  %y: f32[1,1,3,8] = conv2d %x, %w {stride = [2147483647, 1], padding = [2147483648, 0, 2147483648, 0]}
  return %y
}`,
		"pool": `graph g(%x: f32[1,1,8,8]) {
  %y: f32[1,1,8,8] = max_pool2d %x {dilation = [2147483648, 1], kernel = [3, 3], padding = [2147483648, 1], stride = [1, 1]}
  return %y
}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := parse(t, text)
			var in []*tensor.Tensor
			for _, v := range g.Inputs {
				x, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
				if err != nil {
					t.Fatal(err)
				}
				for i := range x.Len() {
					x.SetElem(i, float64(i%7-3))
				}
				in = append(in, x)
			}
			want, err := run(t, interp.New(), g, in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := run(t, b, g, in)
			if err != nil {
				t.Fatal(err)
			}
			if !tensor.Identical(got[0], want[0]) {
				t.Errorf("got %v, want %v", got[0], want[0])
			}
		})
	}
}

package cpu_test

import (
	"fmt"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/tensor"
)

// weightCases are rows, sums and columns of products of f32 by weights of half
// precision, around the sizes at which their kernels change form: few rows by a matrix
// that is streamed, in parts of equal and of unequal length, with and without a
// ragged end, and many rows by panels that are widened before.
var weightCases = [][3]int{
	{1, 64, 3}, {7, 65, 33}, {40, 33, 70}, {33, 520, 130}, {1, 1100, 256}, {1, 1100, 300}, {1, 4100, 70}, {2, 520, 515}, {3, 1030, 272},
	{5, 520, 530}, {8, 300, 900}, {16, 1040, 257}, {17, 1040, 257},
}

// TestHalfWeights compares them with float64 on all kinds of vectors.
func TestHalfWeights(t *testing.T) {
	var list []checked
	for i, c := range weightCases {
		m, k, n := c[0], c[1], c[2]
		for j, half := range []tensor.DType{tensor.F16, tensor.BF16} {
			special, constant := (i+j)%4 == 3, i%5 != 1
			line := []string{"relu", "bias", "gelu"}[(i+j)%3]
			x, w, b := numbers(t, i+1, special, tensor.F32, []int{m, k}), numbers(t, i+100, special, half, []int{k, n}), numbers(t, i+200, false, tensor.F32, []int{n})
			limit := run(t, compile(t, interp.Reference(), magnitudes(t, line, x, w, b)), nil)[0]
			g, in := productProgram(t, line, constant, x, w, b)
			list = append(list, checked{
				name:  fmt.Sprintf("%s f32 %dx%d by %v %dx%d, constant %v, special %v", line, m, k, half, k, n, constant, special),
				graph: g, in: in, want: run(t, compile(t, interp.Reference(), g), in)[0], special: special,
				bound: func(i int) float64 { return 1.2*float64(k+4)*0x1p-24*limit.Elem(i) + 1e-30 },
			})
		}
	}
	check(t, list)
}

package conformance

import (
	"math"

	"forgekernel/forge/tensor"
)

// Worst is the largest error of results, relative above 1; NaN counts as infinite.
func Worst(got, want []*tensor.Tensor) float64 {
	e := 0.0
	for i := range want {
		for j := range want[i].Len() {
			y := want[i].Elem(j)
			d := math.Abs(got[i].Elem(j)-y) / (1 + math.Abs(y))
			if d != d {
				return math.Inf(1)
			}
			e = max(e, d)
		}
	}
	return e
}

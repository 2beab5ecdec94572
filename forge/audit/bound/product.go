package bound

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// ofFactors is one rounding for each factor. Where a partial product may leave the
// range of normal numbers, in whatever order the factors come, everything is
// permitted.
func ofFactors(x, want *tensor.Tensor) limits {
	largest, smallest := 1.0, 1.0
	for i := range x.Len() {
		switch v := math.Abs(x.Elem(i)); {
		case v > 1:
			largest *= v
		case v > 0:
			smallest *= v
		}
	}
	if overflows(largest) || smallest < 0x1p-126 {
		return func(int) float64 { return math.Inf(1) }
	}
	factors := float64(x.Len() / max(1, want.Len()))
	return func(i int) float64 { return factors * unit * 1.01 * math.Abs(want.Elem(i)) }
}

// ofScatter: updates that replace or pick an element are exact. Any number of them
// may meet in one.
func ofScatter(n *ir.Node, in []*tensor.Tensor) (limits, error) {
	switch n.Str("reduce") {
	case "add":
		return ofSum(n, in, in[2].Len()+1)
	case "mul":
		return func(int) float64 { return math.Inf(1) }, nil
	}
	return exact, nil
}

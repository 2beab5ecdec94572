package formula

import (
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Tap is an element that takes part in making a new one, and its share.
type Tap struct {
	At     int
	Weight float64
}

// Weigh makes new elements along an axis, one for each list of taps: the sum of
// gathers, one for each tap, with constant indices and weights.
func (f Builder) Weigh(v *ir.Value, axis int, taps [][]Tap) *ir.Value {
	shape := slices.Repeat([]int{1}, v.Spec.Rank())
	shape[axis] = len(taps)
	width := 1 // an axis that becomes empty is gathered from too
	for _, list := range taps {
		width = max(width, len(list))
	}
	f.room(2*width, len(taps)) // indices and weights
	var sum *ir.Value
	for k := range width {
		index := make([]int64, len(taps))
		weights, err := tensor.Zeros(v.Spec.DType, shape...)
		f.Check(err)
		plain := true
		for i, list := range taps {
			if k < len(list) {
				index[i] = int64(list[k].At)
				weights.SetElem(i, list[k].Weight)
			}
			plain = plain && weights.Elem(i) == 1
		}
		part := f.GatherAlong(v, axis, index)
		if !plain {
			part = f.Mul(part, f.Constant(weights, nil))
		}
		if sum == nil {
			sum = part
			continue
		}
		sum = f.Add(sum, part)
	}
	return sum
}

package plan

import "slices"

// sameStrides reports whether two lists of strides put the elements of a shape
// in the same places. The strides of dimensions of size 1 do not matter, and
// none does where there are no elements.
func sameStrides(x, y, shape []int) bool {
	if slices.Contains(shape, 0) {
		return true
	}
	for i, d := range shape {
		if d > 1 && x[i] != y[i] {
			return false
		}
	}
	return true
}

// span is the least and the greatest index of an element, counted from the
// first; 0 and -1 where there are none.
func span(strides, shape []int) (first, last int) {
	if slices.Contains(shape, 0) {
		return 0, -1
	}
	for i, d := range shape {
		if reach := (d - 1) * strides[i]; reach < 0 {
			first += reach
		} else {
			last += reach
		}
	}
	return first, last
}

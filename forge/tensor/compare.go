package tensor

import "math"

// Identical reports whether two tensors have the same type, shape and element
// bits. NaNs with equal bits are identical; 0 and -0 are not.
func Identical(a, b *Tensor) bool {
	if a.dtype != b.dtype || !ShapeEqual(a.shape, b.shape) {
		return false
	}
	switch x := a.data.(type) {
	case []float32:
		y := b.Float32()
		for i := range x {
			if math.Float32bits(x[i]) != math.Float32bits(y[i]) {
				return false
			}
		}
	case []float64:
		y := b.Float64()
		for i := range x {
			if math.Float64bits(x[i]) != math.Float64bits(y[i]) {
				return false
			}
		}
	case []uint16:
		return equalSlices(x, b.Bits16())
	case []int64:
		return equalSlices(x, b.Int64())
	case []int32:
		return equalSlices(x, b.Int32())
	case []bool:
		return equalSlices(x, b.Bool())
	}
	return true
}

func equalSlices[T comparable](x, y []T) bool {
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return true
}

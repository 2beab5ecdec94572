package tensor

import (
	"math"
	"slices"
)

// SameBits reports whether two tensors have the same element type, shape and elements,
// bit for bit.
func SameBits(a, b *Tensor) bool {
	switch {
	case a == b:
		return true
	case a.dtype != b.dtype || !slices.Equal(a.shape, b.shape):
		return false
	}
	switch a.dtype {
	case F32:
		return slices.EqualFunc(a.Float32(), b.Float32(), func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
	case F64:
		return slices.EqualFunc(a.Float64(), b.Float64(), func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
	case I64:
		return slices.Equal(a.Int64(), b.Int64())
	case I32:
		return slices.Equal(a.Int32(), b.Int32())
	case Bool:
		return slices.Equal(a.Bool(), b.Bool())
	}
	return slices.Equal(a.Bits16(), b.Bits16())
}

package tensor

import (
	"fmt"
	"math"
)

// Identical reports whether two tensors have the same type, shape and element
// bits. NaNs with equal bits are identical; 0 and -0 are not.
func Identical(a, b *Tensor) bool {
	if a == b {
		return true
	}
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

// Diff is the distance between two tensors of one shape.
type Diff struct {
	MaxAbs float64 // largest absolute difference
	MaxRel float64 // largest difference relative to the wanted magnitude; zeros excluded
	MaxULP float64 // largest difference in units in the last place of got's type at the wanted value
	Index  int     // element of MaxAbs, in row-major order
	// Mismatch counts elements where only one side is NaN, or the infinities
	// differ. Their differences are not in the other fields.
	Mismatch int
}

// Compare measures got against want, whose element types may differ: an f32
// result is compared with an f64 reference. Shapes must be equal.
func Compare(got, want *Tensor) (Diff, error) {
	var d Diff
	if !ShapeEqual(got.shape, want.shape) {
		return d, fmt.Errorf("shapes %s and %s differ", FormatShape(got.shape), FormatShape(want.shape))
	}
	for i := range got.n {
		g, w := got.at(i), want.at(i)
		if !finite(g) || !finite(w) {
			// A reference beyond the range of got's type is an infinity there.
			if narrow := roundTo(got.dtype, w); g != narrow && (g == g || w == w) {
				d.Mismatch++
			}
			continue
		}
		diff := math.Abs(g - w)
		if diff > d.MaxAbs {
			d.MaxAbs, d.Index = diff, i
		}
		if w != 0 {
			d.MaxRel = max(d.MaxRel, diff/math.Abs(w))
		}
		d.MaxULP = max(d.MaxULP, diff/ULP(got.dtype, w))
	}
	return d, nil
}

func finite(v float64) bool { return v-v == 0 }

func roundTo(dtype DType, v float64) float64 {
	switch dtype {
	case F32:
		return float64(float32(v))
	case F16, BF16:
		return float64(halfToFloat32(dtype, halfFromFloat64(dtype, v)))
	}
	return v
}

// ULP is the distance between neighbouring values of a type at v; 1 for
// integers and bool.
func ULP(dtype DType, v float64) float64 {
	digits, minExp := 0, 0
	switch dtype {
	case F32:
		digits, minExp = 24, -149
	case F64:
		digits, minExp = 53, -1074
	case F16:
		digits, minExp = 11, -24
	case BF16:
		digits, minExp = 8, -133
	default:
		return 1
	}
	if v == 0 {
		return math.Ldexp(1, minExp)
	}
	_, e := math.Frexp(v)
	return math.Ldexp(1, max(e-digits, minExp))
}

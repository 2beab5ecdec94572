package shader

import (
	"math"

	"forgekernel/forge/backend/wgsl/shader/check"
)

// words3 makes a componentwise function one on words of kind k.
func words3(f check.Componentwise, k check.Kind) func(x, y, z uint32) uint32 {
	switch k {
	case check.U32:
		return func(x, y, z uint32) uint32 { return uint32(f.Int(k, int64(x), int64(y), int64(z))) }
	case check.I32:
		return func(x, y, z uint32) uint32 {
			return uint32(f.Int(k, int64(int32(x)), int64(int32(y)), int64(int32(z))))
		}
	case check.F16:
		return func(x, y, z uint32) uint32 {
			return word(float32(check.RoundF16(f.Float(float64(f32(x)), float64(f32(y)), float64(f32(z))))))
		}
	}
	return func(x, y, z uint32) uint32 {
		return word(float32(f.Float(float64(f32(x)), float64(f32(y)), float64(f32(z)))))
	}
}

func component1(name string, f check.Componentwise, k check.Kind) single {
	if k == check.F32 {
		switch name {
		case "abs":
			return single{absFloat, func(d, x []uint32) { zip1(d, x[:len(d)], absFloat) }}
		case "floor":
			return slow1(floorFloat)
		case "exp":
			return slow1(expFloat)
		case "sqrt":
			return single{sqrtFloat, func(d, x []uint32) { zip1(d, x[:len(d)], sqrtFloat) }}
		}
	}
	g := words3(f, k)
	return slow1(func(x uint32) uint32 { return g(x, 0, 0) })
}

func component2(name string, f check.Componentwise, k check.Kind) lanewise {
	if k == check.F32 || k == check.F16 {
		switch name {
		case "min":
			return slow(minFloat)
		case "max":
			return slow(maxFloat)
		}
	}
	if k == check.U32 {
		switch name {
		case "min":
			return slow(func(x, y uint32) uint32 { return min(x, y) })
		case "max":
			return slow(func(x, y uint32) uint32 { return max(x, y) })
		}
	}
	g := words3(f, k)
	return slow(func(x, y uint32) uint32 { return g(x, y, 0) })
}

func component3(name string, f check.Componentwise, k check.Kind) ternary {
	if k == check.F32 {
		switch name {
		case "fma":
			return ternary{fmaFloat, func(d, x, y, z []uint32) { zip3(d, x[:len(d)], y[:len(d)], z[:len(d)], fmaFloat) }}
		case "clamp":
			return slow3(func(x, low, high uint32) uint32 { return minFloat(maxFloat(x, low), high) })
		}
	}
	return slow3(words3(f, k))
}

func absFloat(x uint32) uint32   { return x &^ (1 << 31) }
func floorFloat(x uint32) uint32 { return word(float32(math.Floor(float64(f32(x))))) }
func expFloat(x uint32) uint32   { return word(float32(math.Exp(float64(f32(x))))) }
func sqrtFloat(x uint32) uint32  { return word(float32(math.Sqrt(float64(f32(x))))) }

// fmaFloat rounds twice, which WGSL allows: the product has no error in
// float64, the sum there has one of 2^-53.
func fmaFloat(x, y, z uint32) uint32 {
	return word(float32(float64(f32(x))*float64(f32(y)) + float64(f32(z))))
}

func minFloat(x, y uint32) uint32 {
	if f32(y) < f32(x) || f32(x) != f32(x) {
		return y
	}
	return x
}

func maxFloat(x, y uint32) uint32 {
	if f32(y) > f32(x) || f32(x) != f32(x) {
		return y
	}
	return x
}

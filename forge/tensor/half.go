package tensor

import "math"

// halfToFloat32 widens an f16 or bf16 bit pattern; every value is exact.
func halfToFloat32(dtype DType, h uint16) float32 {
	if dtype == BF16 {
		return math.Float32frombits(uint32(h) << 16)
	}
	sign := uint32(h>>15) << 31
	exp := uint32(h>>10) & 0x1f
	man := uint32(h) & 0x3ff
	switch exp {
	case 0: // zero or subnormal: man * 2^-24
		v := float32(man) * 0x1p-24
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// halfFromFloat64 rounds to nearest even in one step: rounding through float32
// first could round twice.
func halfFromFloat64(dtype DType, v float64) uint16 {
	if dtype == BF16 {
		return roundBits(v, 8, 7)
	}
	return roundBits(v, 5, 10)
}

// roundBits rounds v to a format with the given numbers of exponent and
// mantissa bits (15 in all).
func roundBits(v float64, expBits, manBits int) uint16 {
	bits := math.Float64bits(v)
	sign := uint16(bits >> 63 << 15)
	bits &= 1<<63 - 1
	maxExp := uint64(1)<<expBits - 1
	inf := uint16(maxExp << manBits)
	if bits > 0x7ff<<52 { // NaN: keep it quiet, and its upper payload bits
		return sign | inf | 1<<(manBits-1) | uint16(bits>>(52-manBits))&(1<<manBits-1)
	}
	bias := int(maxExp >> 1)
	exp := int(bits>>52) - 1023 + bias // biased exponent in the target
	if bits>>52 == 0 {
		return sign // a float64 subnormal is far below half the smallest value
	}
	man := bits&(1<<52-1) | 1<<52
	shift := uint(52 - manBits)
	if exp <= 0 { // subnormal in the target
		if exp < -manBits {
			return sign
		}
		shift += uint(1 - exp)
		exp = 0
	} else {
		man &^= 1 << 52
	}
	q := man >> shift
	rest := man & (1<<shift - 1)
	if half := uint64(1) << (shift - 1); rest > half || rest == half && q&1 == 1 {
		q++
	}
	// A carry out of the mantissa increments the exponent, up to infinity.
	out := uint64(exp)<<manBits + q
	if out >= uint64(inf) {
		return sign | inf
	}
	return sign | uint16(out)
}

// RoundHalf rounds each element to the nearest value of f16 or bf16, ties to
// even; beyond the range it becomes an infinity.
func RoundHalf(dtype DType, x []float32) {
	for i, v := range x {
		x[i] = halfToFloat32(dtype, halfFromFloat32(dtype, v))
	}
}

// NarrowHalf stores x as f16 or bf16 bit patterns, rounded as [RoundHalf]
// rounds. dst and x have equal lengths.
func NarrowHalf(dtype DType, dst []uint16, x []float32) {
	x = x[:len(dst)]
	if dtype == BF16 {
		for i, v := range x {
			bits := math.Float32bits(v)
			if bits<<1 > 0xff<<24 { // NaN
				dst[i] = halfFromFloat64(BF16, float64(v))
				continue
			}
			dst[i] = uint16((bits + 0x7fff + bits>>16&1) >> 16)
		}
		return
	}
	for i, v := range x {
		bits := math.Float32bits(v)
		if size := bits &^ (1 << 31); size-minNormal < maxNormal-minNormal { // and so is the result: only the mantissa is rounded
			size -= 112 << 23
			dst[i] = uint16(bits>>16&0x8000) | uint16((size+0xfff+size>>13&1)>>13)
			continue
		}
		dst[i] = halfFromFloat64(F16, float64(v))
	}
}

// The float32 bits between which numbers round to normal ones of f16: 2^-14, and
// 65520, which rounds to infinity.
const (
	minNormal = 0x38800000
	maxNormal = 0x477ff000
)

// WidenHalf stores the values of f16 or bf16 bit patterns, which are exact in
// float32. dst and x have equal lengths.
func WidenHalf(dtype DType, dst []float32, x []uint16) {
	x = x[:len(dst)]
	if dtype == BF16 {
		for i, h := range x {
			dst[i] = math.Float32frombits(uint32(h) << 16)
		}
		return
	}
	for i, h := range x {
		if exponent := h & 0x7c00; exponent-1<<10 < 30<<10 {
			dst[i] = math.Float32frombits(uint32(h&0x8000)<<16 | (uint32(h&0x7fff)<<13 + 112<<23))
			continue
		}
		dst[i] = halfToFloat32(F16, h)
	}
}

func halfFromFloat32(dtype DType, v float32) uint16 {
	if dtype != BF16 || v != v {
		return halfFromFloat64(dtype, float64(v))
	}
	bits := math.Float32bits(v)
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// RoundToHalf returns the value of f16 or bf16 that is nearest to v, rounded in
// one step.
func RoundToHalf(dtype DType, v float64) float32 {
	return halfToFloat32(dtype, halfFromFloat64(dtype, v))
}

// OddFloat64 returns v rounded to odd, that is to the neighbour whose last bit
// is one. Unlike the nearest float64 it can be rounded again, to a type of 51
// bits or fewer, as if v itself were rounded.
func OddFloat64(v int64) float64 {
	const spare = 11 // bits of v beyond the 52 that are kept
	if -1<<53 <= v && v <= 1<<53 {
		return float64(v)
	}
	kept := v >> spare
	if v&(1<<spare-1) != 0 {
		kept |= 1
	}
	return float64(kept) * (1 << spare)
}

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

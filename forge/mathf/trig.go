package mathf

import (
	"math"
	"math/bits"
)

// Sin returns the sine of x in radians, within 2 ULP for every float32; NaN at
// the infinities.
func Sin(x float32) float32 {
	q, r, ok := quarterTurns(Abs(x))
	if !ok {
		return nan()
	}
	v := sinOrCos(q, r)
	return math.Float32frombits(math.Float32bits(v) ^ math.Float32bits(x)&(1<<31))
}

// Cos returns the cosine of x in radians, within 2 ULP for every float32; NaN
// at the infinities.
func Cos(x float32) float32 {
	q, r, ok := quarterTurns(Abs(x))
	if !ok {
		return nan()
	}
	return sinOrCos(q+1, r)
}

// sinOrCos is the sine of q quarter turns and r radians, |r| at most a little
// over pi/4.
//
// sin r = r + r^3 P(r^2) with P of degree 3 (relative error 2e-11), and
// cos r = 1 - r^2/2 + r^4 Q(r^2) with Q of degree 2 (error 8e-10).
func sinOrCos(q uint32, r float32) float32 {
	u := float32(r * r)
	var v float32
	if q&1 == 0 {
		p := horner(u, -0x1.555556p-3, 0x1.11110ep-7, -0x1.a013a2p-13, 0x1.6dbbeep-19)
		v = FMA(float32(p*u), r, r)
	} else {
		p := horner(u, 0x1.555554p-5, -0x1.6c12cep-10, 0x1.9bd67p-16)
		v = FMA(float32(u*u), p, FMA(u, -0.5, 1))
	}
	if q&2 != 0 {
		return -v
	}
	return v
}

// cheapReduction is where [quarterTurns] changes its method.
const cheapReduction = 100_000

// quarterTurns writes x >= 0 as q quarter turns and r radians, |r| at most a
// little over pi/4, with q modulo 4 and r to float32 accuracy for every finite
// x. It is false for an infinity or NaN.
func quarterTurns(x float32) (q uint32, r float32, ok bool) {
	switch {
	case x <= cheapReduction:
		// pi/2 in three parts, each subtracted without intermediate rounding
		// (Cody and Waite). The first difference is exact.
		n := roundEven(float32(x * 0x1.45f306p-1))
		r = FMA(n, -0x1.921fb6p+0, x)
		r = FMA(n, 0x1.777a5cp-25, r)
		r = FMA(n, 0x1.ee59dap-50, r)
		return uint32(int32(n)), r, true
	case x <= math.MaxFloat32:
		q, r = quarterTurnsExact(x)
		return q, r, true
	}
	return 0, 0, false
}

// twoOverPi holds 16 zeros, then the first 240 bits of 2/pi.
var twoOverPi = [4]uint64{0xa2f9836e4e44, 0x1529fc2757d1f534, 0xddc0db6295993c43, 0x9041fe5163abdebb}

// quarterTurnsExact multiplies x = m 2^e, at least 2^-7 m, by those bits of 2/pi
// that decide the product modulo 4 and its fraction (Payne and Hanek). The
// product is never nearer than 2^-30 to an integer, so a fraction of 62 bits
// leaves 32 significant ones.
func quarterTurnsExact(x float32) (q uint32, r float32) {
	b := math.Float32bits(x)
	m := uint64(b&(1<<23-1) | 1<<23)
	first := b>>23 - 150 + 14 // the bit of weight 2 in 2^e 2/pi
	word, shift := first/64, first%64
	hi := twoOverPi[word]<<shift | twoOverPi[word+1]>>1>>(63-shift)
	lo := twoOverPi[word+1]<<shift | twoOverPi[word+2]>>1>>(63-shift)
	carry, _ := bits.Mul64(m, lo)
	product := m*hi + carry // modulo 4, in units of 2^-62
	fraction := int64(product<<2) >> 2
	q = uint32((product - uint64(fraction)) >> 62)
	f := float32(fraction)
	rest := float32(fraction - int64(f))
	const hi2, lo2 = 0x1.921fb6p-62, -0x1.777a5cp-87 // pi/2 in the same units
	h := float32(f * hi2)
	return q, h + FMA(rest, hi2, FMA(f, lo2, FMA(f, hi2, -h)))
}

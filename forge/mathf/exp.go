package mathf

import "math"

const (
	log2e = 0x1.715476p+0
	ln2Hi = 0x1.62e43p-1   // ln 2 rounded to float32
	ln2Lo = -0x1.05c61p-29 // what the rounding left
	shift = 0x1.8p23       // adding it leaves the nearest integer in the low bits
)

func inf() float32 { return math.Float32frombits(0x7f800000) }
func nan() float32 { return math.Float32frombits(0x7fc00000) }

// roundEven rounds |z| < 2^22 to the nearest integer.
func roundEven(z float32) float32 { return float32(z+shift) - shift }

// scale returns p * 2^n for an integer n from -252 to 254. Two factors reach
// subnormal results with one rounding.
func scale(p, n float32) float32 {
	k := int32(n)
	half := k >> 1
	return float32(p*exp2i(half)) * exp2i(k-half)
}

// exp2i is 2^k for k in the range of normal exponents.
func exp2i(k int32) float32 { return math.Float32frombits(uint32(k+127) << 23) }

// Exp returns e to the power x, within 1 ULP.
//
// x = n ln 2 + r with |r| <= ln(2)/2, and e^r = 1 + r + r^2 Q(r) with Q a
// minimax polynomial of degree 4 (relative error 4.3e-9).
func Exp(x float32) float32 {
	switch {
	case x != x:
		return x
	case x > 89:
		return inf()
	case x < -104:
		return 0
	}
	n, p := expParts(x)
	return scale(p, n)
}

// expParts returns an integer n and p in [0.7, 1.42] with exp(x) = p 2^n, for
// |x| <= 110.
func expParts(x float32) (n, p float32) {
	n = roundEven(float32(x * log2e))
	r := FMA(n, -ln2Hi, x)
	r = FMA(n, -ln2Lo, r)
	q := horner(r, 0x1.fffffcp-2, 0x1.55546cp-3, 0x1.5559acp-5, 0x1.12534p-7, 0x1.68fde2p-10)
	return n, 1 + FMA(q, float32(r*r), r)
}

// Log returns the natural logarithm of x, within 1 ULP; -Inf at 0 and NaN
// below.
//
// x = m 2^e with m in [sqrt(1/2), sqrt(2)), f = m-1, and
// log(1+f) = f - f^2/2 + f^3 P(f) with P a minimax polynomial of degree 8
// (relative error 2.6e-9).
func Log(x float32) float32 {
	switch {
	case x != x || x < 0:
		return nan()
	case x == 0:
		return -inf()
	case x > math.MaxFloat32:
		return x
	}
	e := float32(0)
	if x < 0x1p-126 {
		x *= 0x1p23
		e = -23
	}
	// Subtracting the bits of sqrt(1/2) puts the exponent of x relative to it
	// in the upper bits.
	const sqrtHalf = 0x3f3504f3
	k := int32(math.Float32bits(x)-sqrtHalf) >> 23
	e += float32(k)
	f := math.Float32frombits(math.Float32bits(x)-uint32(k)<<23) - 1
	p := horner(f, 0x1.555548p-2, -0x1.00007p-2, 0x1.99a54p-3, -0x1.552f18p-3, 0x1.23036cp-3,
		-0x1.010438p-3, 0x1.effadep-4, -0x1.bf6312p-4, 0x1.b6593cp-5)
	f2 := float32(f * f)
	tail := FMA(e, ln2Lo, float32(float32(p*f)*f2))
	tail = FMA(f2, -0.5, tail)
	return FMA(e, ln2Hi, f+tail)
}

// Sigmoid returns 1/(1+exp(-x)), within 3 ULP. It never takes exp of a
// positive argument, so that the lower tail keeps its relative accuracy down
// to subnormal results.
func Sigmoid(x float32) float32 {
	z := Exp(-Abs(x))
	if x < 0 {
		return z / (1 + z)
	}
	return 1 / (1 + z)
}

// Tanh returns the hyperbolic tangent of x, within 2 ULP.
//
// Below 0.625 it is x + x^3 P(x^2) with P a minimax polynomial of degree 4
// (relative error 4.5e-9); above, 1 - 2/(exp(2x)+1) does not cancel.
func Tanh(x float32) float32 {
	a := Abs(x)
	if a < 0.625 {
		u := float32(x * x)
		p := horner(u, -0x1.555532p-2, 0x1.1106f6p-3, -0x1.b835a4p-5, 0x1.51f8cep-6, -0x1.750ce2p-8)
		return copysign(FMA(float32(p*u), x, x), x) // the sum of -0 and +0 is +0
	}
	return copysign(1-2/(Exp(2*a)+1), x)
}

// Silu returns x/(1+exp(-x)), within 3.5 ULP; -0 at -Inf, the limit.
func Silu(x float32) float32 {
	switch {
	case x != x:
		return x
	case x < -110:
		return copysign(0, x)
	case x < -17: // 1+exp(x) is 1; 2^n comes last, so that a subnormal is rounded once
		n, p := expParts(x)
		return scale(float32(x*p), n)
	case x < 0:
		z := Exp(x)
		return float32(x*z) / (1 + z)
	}
	return x / (1 + Exp(-x))
}

// Rsqrt returns 1/sqrt(x), within 1.5 ULP; NaN below zero, an infinity of the
// sign of a zero.
func Rsqrt(x float32) float32 { return 1 / Sqrt(x) }

package mathf

// upperTail returns factor times the probability that a standard normal
// variable exceeds a >= 0, within 4 ULP down to subnormal results.
//
// It is exp(-a^2/2) G(u) / (a+4) with u = (a-4)/(a+4) and G a minimax
// polynomial of degree 9 (relative error 2.0e-8 up to a = 14.6, where the
// result vanishes).
func upperTail(a, factor float32) float32 {
	if a > 14.6 {
		return 0
	}
	// a^2/2 is needed to more than float32 precision, because exp turns its
	// absolute error into a relative one: e carries what the square lost.
	h := float32(a * a)
	e := FMA(a, a, -h)
	r := 1 / (a + 4)
	u := float32((a - 4) * r)
	g := horner(u, 0x1.82b4bcp-1, -0x1.373e38p-1, 0x1.8c6d72p-2, -0x1.7e002cp-3, 0x1.eee372p-5,
		-0x1.ecfbdap-8, -0x1.cfe026p-9, 0x1.97ba38p-10, 0x1.b7ee0ep-13, -0x1.cb10f2p-14)
	g = float32(g * r)
	g = FMA(g, float32(-0.5*e), g) // exp(-e/2) is 1 - e/2 to first order
	// 2^n comes last, so that a subnormal result is rounded once.
	n, p := expParts(float32(-0.5 * h))
	return scale(float32(float32(g*factor)*p), n)
}

// Erf returns the error function of x, within 2 ULP.
//
// Below 1 it is x + x P(x^2) with P a minimax polynomial of degree 6
// (relative error 1.4e-9); above, 1 - 2 Q(sqrt(2) x) with Q the upper tail of
// the normal distribution.
func Erf(x float32) float32 {
	a := Abs(x)
	if a < 1 {
		u := float32(x * x)
		p := horner(u, 0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2ce6p-4, -0x1.b7f71ap-6, 0x1.53f224p-8,
			-0x1.a3515ep-11, 0x1.4771fep-14)
		return FMA(p, x, x)
	}
	if x != x {
		return x
	}
	const sqrt2 = 0x1.6a09e6p+0
	return copysign(1-upperTail(float32(a*sqrt2), 2), x)
}

// Gelu returns x times the standard normal distribution function of x, within
// 3 ULP for x >= -1.25 and 5 ULP below; -0 at -Inf, the limit.
//
// Near zero the distribution function is 1/2 + x P(x^2) with P a minimax
// polynomial of degree 6 (relative error 3.6e-9).
func Gelu(x float32) float32 {
	switch {
	case x != x:
		return x
	case x < -15:
		return copysign(0, x)
	case Abs(x) < 1.25:
		u := float32(x * x)
		p := horner(u, 0x1.988454p-2, -0x1.10586p-4, 0x1.46d55cp-7, -0x1.378682p-10, 0x1.e7884p-14,
			-0x1.42c666p-17, 0x1.3645f2p-21)
		return x * FMA(p, x, 0.5)
	case x < 0:
		return upperTail(-x, x)
	}
	return x * (1 - upperTail(x, 1))
}

// GeluTanh returns x sigmoid(2u) with u = sqrt(2/pi)(x + 0.044715 x^3), which
// equals 0.5 x (1 + tanh(u)) without its cancellation. Its relative error is
// within 5 ULP plus 3|2u| ULP for negative x, where exp turns the rounding of u
// into a relative error; -0 at -Inf, the limit.
func GeluTanh(x float32) float32 {
	switch {
	case x != x:
		return x
	case x < -15:
		return copysign(0, x)
	case x > 15:
		return x
	}
	const c1, c3 = 0x1.988454p+0, 0x1.2444f2p-4 // 2 sqrt(2/pi), and 0.044715 times it
	v := float32(x * FMA(float32(x*x), c3, c1))
	return x * Sigmoid(v)
}

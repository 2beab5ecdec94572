package mathf

import "math"

// MaxAngle is the largest magnitude for which [SinCos] has polynomials of its own.
const MaxAngle = 1 << 40

// SinCos returns the sine and the cosine of x in radians, within 1 ULP of float64.
// It is for angles that float32 is too coarse for, such as those of positions. The
// sine of -0 is 0.
//
// x = n pi/2 + r, with pi/2 in three parts, the first difference being exact. The
// polynomials in r^2, of degree 5, are those of the Cephes library (errors 1e-17 and
// 3e-17). Beyond [MaxAngle] it is [math.Sincos].
func SinCos(x float64) (sin, cos float64) {
	if !(math.Abs(x) <= MaxAngle) {
		return math.Sincos(x)
	}
	const shift = 0x1.8p52 // adding it leaves the nearest integer in the low bits
	shifted := float64(x*0x1.45f306dc9c883p-1) + shift
	n := shifted - shift
	r := math.FMA(n, -0x1.921fb54442d18p+0, x)
	r = math.FMA(n, -0x1.1a62633145c07p-54, r)
	r = math.FMA(n, 0x1.f1976b7ed8fbcp-110, r)
	u := float64(r * r)
	s := horner64(u, -0x1.5555555555548p-3, 0x1.111111110f7d0p-7, -0x1.a01a019bfdf03p-13, 0x1.71de3567d48a1p-19, -0x1.ae5e5a9291f5dp-26, 0x1.5d8fd1fd19ccdp-33)
	c := horner64(u, 0x1.555555555554bp-5, -0x1.6c16c16c14f91p-10, 0x1.a01a019c844f5p-16, -0x1.27e4f7eac4bc6p-22, 0x1.1ee9d7b4e3f05p-29, -0x1.8fa49a0861a9bp-37)
	s = math.FMA(float64(s*u), r, r)
	c = math.FMA(float64(u*u), c, math.FMA(u, -0.5, 1))
	q := math.Float64bits(shifted)
	if q&1 != 0 {
		s, c = c, -s
	}
	if q&2 != 0 {
		s, c = -s, -c
	}
	return s, c
}

// horner64 evaluates c[0] + x*c[1] + ... with one fused multiply-add per step.
func horner64(x float64, c ...float64) float64 {
	s := c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		s = math.FMA(s, x, c[i])
	}
	return s
}

package mathf

import "math"

// Atan returns the arc tangent of x in radians, within 2 ULP.
//
// Above tan(3pi/8) it is pi/2 - atan(1/x), above tan(pi/8) pi/4 + atan((x-1)/(x+1)),
// and x + x^3 P(x^2) below, with P a minimax polynomial of degree 4 (relative
// error 6.6e-10).
func Atan(x float32) float32 {
	const (
		tanEighth       = 0.41421356
		tanThreeEighths = 2.4142135
		quarterHi       = 0x1.921fb6p-1
		quarterLo       = -0x1.777a5cp-26
	)
	a := Abs(x)
	var hi, lo float32
	switch {
	case a != a:
		return x
	case a > tanThreeEighths:
		hi, lo, a = 2*quarterHi, 2*quarterLo, -1/a
	case a > tanEighth:
		hi, lo, a = quarterHi, quarterLo, float32(a-1)/float32(a+1)
	}
	z := float32(a * a)
	p := horner(z, -0x1.55554ap-2, 0x1.9991aep-3, -0x1.23b6bcp-3, 0x1.b2024p-4, -0x1.f2569p-5)
	y := hi + float32(FMA(p, float32(z*a), a)+lo)
	return math.Float32frombits(math.Float32bits(y) | math.Float32bits(x)&(1<<31))
}

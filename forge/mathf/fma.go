// Package mathf is float32 arithmetic with results that do not depend on the
// machine: a correctly rounded fused multiply-add, and the elementary
// functions as fixed polynomials over it.
//
// Generated kernels print the same polynomials in the same order of
// operations, so that the interpreter and native code can agree to the last
// bit. Every function is written for that: no data-dependent loops, branches
// only where a vector select can stand, and no tables but the bits of 2/pi that
// reduce the arguments of sine and cosine beyond 10^5. [SinCos] alone is in float64.
//
// The error bounds in the function comments are in units in the last place
// (ULP) of the float32 result against float64, over all sampled arguments
// including subnormal results; tests measure and enforce them. NaN gives NaN;
// infinities give the limit.
package mathf

import "math"

// FMA returns a*b + c rounded once to float32.
//
// The product of two float32 is exact in float64, so one float64 addition
// leaves a single further rounding to float32. The two roundings differ from
// one only when the sum lies exactly half-way between two float32, which the
// slow path settles.
func FMA(a, b, c float32) float32 {
	s := float64(float64(a)*float64(b)) + float64(c)
	if roundsTwice(s) {
		return fmaOdd(a, b, c)
	}
	return float32(s)
}

// roundsTwice reports whether rounding s to float32 may go wrong because s is
// itself rounded: it lies half-way between two normal float32, or below them.
func roundsTwice(s float64) bool {
	return math.Float64bits(s)&0x1fffffff == 0x10000000 || math.Abs(s) < 0x1p-126
}

// fmaOdd rounds the float64 sum to odd, which makes the rounding to float32
// that follows correct wherever its rounding boundary lies.
func fmaOdd(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	s := p + q
	// The error of the addition, exact (Knuth's two-sum).
	t := s - p
	e := (p - (s - t)) + (q - t)
	if e == 0 || e != e {
		return float32(s)
	}
	if bits := math.Float64bits(s); bits&1 == 0 {
		if (e > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
		s = math.Float64frombits(bits)
	}
	return float32(s)
}

// AXPY4 adds four scaled rows to dst: for p = 0 to 3 in order,
// dst[j] = FMA(a[p], b[p][j], dst[j]). The rows are at least as long as dst. It
// is the inner loop of matrix products, with [FMA] written out because the
// compiler does not inline it.
func AXPY4(dst []float32, a *[4]float32, b *[4][]float32) {
	n := len(dst)
	b0, b1, b2, b3 := b[0][:n], b[1][:n], b[2][:n], b[3][:n]
	a0, a1, a2, a3 := float64(a[0]), float64(a[1]), float64(a[2]), float64(a[3])
	for j := range dst {
		c := dst[j]
		s := float64(a0*float64(b0[j])) + float64(c)
		if roundsTwice(s) {
			c = fmaOdd(a[0], b0[j], c)
		} else {
			c = float32(s)
		}
		s = float64(a1*float64(b1[j])) + float64(c)
		if roundsTwice(s) {
			c = fmaOdd(a[1], b1[j], c)
		} else {
			c = float32(s)
		}
		s = float64(a2*float64(b2[j])) + float64(c)
		if roundsTwice(s) {
			c = fmaOdd(a[2], b2[j], c)
		} else {
			c = float32(s)
		}
		s = float64(a3*float64(b3[j])) + float64(c)
		if roundsTwice(s) {
			c = fmaOdd(a[3], b3[j], c)
		} else {
			c = float32(s)
		}
		dst[j] = c
	}
}

// Abs returns the magnitude of x.
func Abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// Sqrt returns the square root of x, correctly rounded: rounding a root twice
// is harmless when the wider type has at least 2p+2 bits, and 53 >= 2*24+2.
func Sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

func copysign(x, sign float32) float32 {
	return math.Float32frombits(math.Float32bits(x)&^(1<<31) | math.Float32bits(sign)&(1<<31))
}

// horner evaluates c[0] + x*c[1] + ... with one FMA per step, written out as in
// [AXPY4].
func horner(x float32, c ...float32) float32 {
	s, w := c[len(c)-1], float64(x)
	for i := len(c) - 2; i >= 0; i-- {
		t := float64(float64(s)*w) + float64(c[i])
		if roundsTwice(t) {
			s = fmaOdd(s, x, c[i])
		} else {
			s = float32(t)
		}
	}
	return s
}

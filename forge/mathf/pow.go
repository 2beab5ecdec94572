package mathf

import "math"

// double is the unevaluated sum of two float32, hi the nearest to it.
type double struct{ hi, lo float32 }

// sum is a + b; only the part below lo's last place is lost.
func (a double) sum(b double) double {
	s := a.hi + b.hi
	t := s - a.hi
	e := float32(float32(a.hi-float32(s-t))+float32(b.hi-t)) + float32(a.lo+b.lo)
	hi := s + e
	return double{hi, e - float32(hi-s)}
}

// times is a * b to about 2^-46.
func (a double) times(b double) double {
	h := float32(a.hi * b.hi)
	l := FMA(a.hi, b.hi, -h)
	l = FMA(a.hi, b.lo, l)
	return double{h, FMA(a.lo, b.hi, l)}
}

// Pow returns x to the power y, within 2 ULP. The special cases are those of
// IEEE 754: 1 for y = 0 and for x = 1 even beside a NaN, NaN for x below zero
// and y not whole.
//
// x^y = 2^(y log2 x), with the logarithm and the product as sums of two
// float32, since the exponential turns their absolute error into a relative one.
func Pow(x, y float32) float32 {
	switch {
	case y == 0 || x == 1:
		return 1
	case x != x || y != y:
		return nan()
	}
	a := Abs(x)
	negative := math.Float32bits(x)>>31 == 1 && isOdd(y)
	var v float32
	switch {
	case a == 0 || a > math.MaxFloat32 || Abs(y) > math.MaxFloat32:
		v = powLimit(a, y)
	case x < 0 && !isWhole(y):
		return nan()
	default:
		v = powFinite(a, y)
	}
	if negative {
		return -v
	}
	return v
}

// powLimit is the power where a >= 0 or y is infinite, or a is zero.
func powLimit(a, y float32) float32 {
	switch {
	case a == 1:
		return 1
	case a > 1 == (y > 0):
		return inf()
	}
	return 0
}

func isWhole(y float32) bool { return Abs(y) >= 1<<23 || float32(int32(y)) == y }

func isOdd(y float32) bool { return Abs(y) < 1<<24 && isWhole(y) && int32(y)&1 == 1 }

func powFinite(a, y float32) float32 {
	l := log2(a)
	t := float32(y * l.hi)
	switch {
	case t > 129:
		return inf()
	case t < -151:
		return 0
	}
	tail := FMA(y, l.lo, FMA(y, l.hi, -t))
	n := roundEven(t)
	const ln2 = 0x1.62e43p-1
	z := float32(float32(float32(t-n)+tail) * ln2)
	q := horner(z, 0x1.fffffcp-2, 0x1.55546cp-3, 0x1.5559acp-5, 0x1.12534p-7, 0x1.68fde2p-10)
	return scale(1+FMA(q, float32(z*z), z), n)
}

// log2 returns the binary logarithm of a finite x > 0 to about 2^-35.
//
// x = m 2^e with m in [sqrt(1/2), sqrt(2)), s = (m-1)/(m+1), and
// log2 m = (2/ln 2)(s + s^3/3) + s^5 P(s^2) with P of degree 2 (error 2.3e-7,
// which s^5 makes 3.3e-11).
func log2(x float32) double {
	e := float32(0)
	if x < 0x1p-126 {
		x *= 0x1p23
		e = -23
	}
	const sqrtHalf = 0x3f3504f3
	k := int32(math.Float32bits(x)-sqrtHalf) >> 23
	e += float32(k)
	m := math.Float32frombits(math.Float32bits(x) - uint32(k)<<23)
	f := m - 1
	d := double{hi: m + 1}
	d.lo = m - (d.hi - 1)
	s := double{hi: f / d.hi}
	s.lo = FMA(-s.hi, d.lo, FMA(-s.hi, d.hi, f)) / d.hi
	u := s.times(s)
	cube := s.times(u)
	tail := float32(float32(cube.hi*u.hi) * horner(u.hi, 0x1.2776ccp-1, 0x1.a5f4ap-2, 0x1.547ef6p-2))
	third := cube.times(double{0x1.ec709ep-1, -0x1.e2fe02p-28})
	first := s.times(double{0x1.715476p+1, 0x1.4ae0cp-25})
	return double{hi: e}.sum(first).sum(third).sum(double{hi: tail})
}

package mathf

import (
	"math"
	"math/big"
	"testing"
)

const angleBits = 400

// bigHalfPi is pi/2 by Machin's formula.
var bigHalfPi = func() *big.Float {
	inverse := func(n int64) *big.Float { // arctan(1/n)
		sum, term := new(big.Float).SetPrec(angleBits), new(big.Float).SetPrec(angleBits).SetInt64(1)
		term.Quo(term, new(big.Float).SetInt64(n))
		square := new(big.Float).SetInt64(-n * n)
		for k := int64(1); term.MantExp(nil) > -angleBits; k += 2 {
			sum.Add(sum, new(big.Float).SetPrec(angleBits).Quo(term, new(big.Float).SetInt64(k)))
			term.Quo(term, square)
		}
		return sum
	}
	a, b := inverse(5), inverse(239)
	a.Mul(a, big.NewFloat(8))
	return a.Sub(a, b.Mul(b, big.NewFloat(2)))
}()

// exactSinCos sums the series of the reduced argument.
func exactSinCos(x float64) (sin, cos float64) {
	wide := new(big.Float).SetPrec(angleBits).SetFloat64(x)
	turns, _ := new(big.Float).Quo(wide, bigHalfPi).Float64()
	n := math.RoundToEven(turns)
	r := new(big.Float).Sub(wide, new(big.Float).Mul(bigHalfPi, big.NewFloat(n)))
	sum := [2]*big.Float{new(big.Float).SetPrec(angleBits), new(big.Float).SetPrec(angleBits)} // cos, sin
	term := new(big.Float).SetPrec(angleBits).SetInt64(1)
	for k := int64(0); k < 60; k++ {
		if k/2%2 == 0 {
			sum[k%2].Add(sum[k%2], term)
		} else {
			sum[k%2].Sub(sum[k%2], term)
		}
		term.Mul(term, r).Quo(term, new(big.Float).SetInt64(k+1))
	}
	c, _ := sum[0].Float64()
	s, _ := sum[1].Float64()
	switch q := int64(n) & 3; q {
	case 1:
		s, c = c, -s
	case 2:
		s, c = -s, -c
	case 3:
		s, c = -c, s
	}
	return s, c
}

// TestSinCos compares with series in 400 bits on a grid over all exponents, and near
// the multiples of pi/2, where digits cancel.
func TestSinCos(t *testing.T) {
	worst := 0.0
	check := func(x float64) {
		t.Helper()
		sin, cos := SinCos(x)
		wantSin, wantCos := exactSinCos(x)
		for _, p := range [][2]float64{{sin, wantSin}, {cos, wantCos}} {
			_, e := math.Frexp(p[1])
			u := math.Abs(p[0]-p[1]) / math.Ldexp(1, max(e-53, -1074))
			if !(u <= 1) {
				t.Fatalf("SinCos(%x) has %x, want %x: %.2f ULP", x, p[0], p[1], u)
			}
			worst = max(worst, u)
		}
	}
	const grid = 1 << 11
	last := math.Float64bits(MaxAngle)
	for i := range uint64(grid) {
		x := math.Float64frombits(last - i*(100<<52/grid) - i*0x9e3779b97f4a7c15>>20)
		check(x)
		check(-x)
	}
	for n := range 1000 {
		x := float64(n*n*n) * (math.Pi / 2)
		for range 3 {
			check(x)
			x = math.Nextafter(x, math.Inf(1))
		}
	}
	t.Logf("worst error %.3f ULP", worst)
}

func TestSinCosLimits(t *testing.T) {
	if s, c := SinCos(math.Copysign(0, -1)); s != 0 || c != 1 {
		t.Errorf("at -0 there is %v, %v", s, c)
	}
	for _, x := range []float64{math.Inf(1), math.NaN()} {
		if s, c := SinCos(x); s == s || c == c {
			t.Errorf("at %v there is %v, %v", x, s, c)
		}
	}
	s, c := SinCos(math.MaxFloat64)
	if wantS, wantC := math.Sincos(math.MaxFloat64); s != wantS || c != wantC {
		t.Errorf("at the largest number there is %v, %v", s, c)
	}
}

package mathf

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestPow measures the error of Pow over random pairs whose result is in range,
// near the ends of the range and near x = 1.
func TestPow(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	worst := 0.0
	check := func(x, y float32) {
		t.Helper()
		got, want := Pow(x, y), math.Pow(float64(x), float64(y))
		u := ulps(got, want)
		if u > 2 {
			t.Fatalf("Pow(%x, %x) = %x, want %x: %.2f ULP", x, y, got, want, u)
		}
		worst = max(worst, u)
	}
	for range 300_000 {
		x := math.Float32frombits(rng.Uint32() & 0x7fffffff)
		if x != x || x == 0 || math.IsInf(float64(x), 0) {
			continue
		}
		limit := 150 / math.Abs(math.Log2(float64(x))+1e-9)
		y := float32((2*rng.Float64() - 1) * limit)
		check(x, y)
		check(x, -y)
		check(-x, float32(math.Trunc(float64(y))))
		near := float32(1 + (2*rng.Float64()-1)*math.Ldexp(1, -rng.IntN(24)))
		check(near, float32((2*rng.Float64()-1)*150/(math.Abs(math.Log2(float64(near)))+1e-9)))
		check(x, float32(rng.IntN(9)-4)/2)
	}
	t.Logf("worst error %.3f ULP", worst)
}

// TestPowSpecial compares every pair of special operands with package math,
// which follows IEEE 754 and C.
func TestPowSpecial(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	values := []float32{0, 1, 2, 3, 0.5, 1.5, 2.5, 7, 1 << 23, 1<<24 - 1, 1 << 24, 1 << 30, math.MaxFloat32, 0x1p-149, 0x1p-126, 1e-20, inf, nan}
	for _, a := range values {
		for _, b := range values {
			for sign := range 4 {
				x, y := a, b
				if sign&1 != 0 {
					x = -x
				}
				if sign&2 != 0 {
					y = -y
				}
				got, want := Pow(x, y), math.Pow(float64(x), float64(y))
				if u := ulps(got, want); u > 2 || want == 0 && math.Signbit(want) != math.Signbit(float64(got)) {
					t.Errorf("Pow(%g, %g) = %g, want %g", x, y, got, want)
				}
			}
		}
	}
}

// TestReduction takes sines near multiples of pi/2, where the fraction of a
// turn is small, over the whole range.
func TestReduction(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	worst := 0.0
	for range 300_000 {
		n := math.Floor(math.Ldexp(rng.Float64(), rng.IntN(50)))
		x := float32(n * math.Pi / 2)
		for _, v := range []float32{x, math.Nextafter32(x, 0), math.Nextafter32(x, inf())} {
			for _, u := range []float64{ulps(Sin(v), math.Sin(float64(v))), ulps(Cos(v), math.Cos(float64(v)))} {
				if worst = max(worst, u); u > 2 {
					t.Fatalf("%.2f ULP at %x", u, v)
				}
			}
		}
	}
	t.Logf("worst error %.3f ULP", worst)
}

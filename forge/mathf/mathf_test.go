package mathf

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// ulps is the distance from got to the float64 value want in units in the last
// place of float32 at want.
func ulps(got float32, want float64) float64 {
	switch {
	case math.IsNaN(want) || math.IsNaN(float64(got)):
		if math.IsNaN(want) && math.IsNaN(float64(got)) {
			return 0
		}
		return math.Inf(1)
	case math.IsInf(float64(float32(want)), 0) || math.IsInf(float64(got), 0):
		if got == float32(want) {
			return 0
		}
	}
	_, e := math.Frexp(want)
	ulp := math.Ldexp(1, max(e-24, -149))
	return math.Abs(float64(got)-want) / ulp
}

var functions = []struct {
	name  string
	f     func(float32) float32
	exact func(float64) float64
	// bound is the documented largest error in ULP at x.
	bound func(x float64) float64
}{
	{"Exp", Exp, math.Exp, constant(1)},
	{"Log", Log, math.Log, constant(1)},
	{"Sigmoid", Sigmoid, func(x float64) float64 {
		if x < 0 {
			return math.Exp(x) / (1 + math.Exp(x))
		}
		return 1 / (1 + math.Exp(-x))
	}, constant(3)},
	{"Tanh", Tanh, math.Tanh, constant(2)},
	{"Erf", Erf, math.Erf, constant(2)},
	{"Gelu", Gelu, gelu, func(x float64) float64 {
		if x >= -1.25 {
			return 3
		}
		return 5
	}},
	{"GeluTanh", GeluTanh, geluTanh, func(x float64) float64 {
		if x >= 0 {
			return 5
		}
		return 5 + 6*c64*math.Abs(x+0.044715*x*x*x)
	}},
	{"Atan", Atan, math.Atan, constant(2)},
	{"Sqrt", Sqrt, math.Sqrt, constant(0.5)},
	{"Rsqrt", Rsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }, constant(1.5)},
	{"Silu", Silu, silu, constant(3.5)},
	{"Sin", Sin, math.Sin, constant(2)},
	{"Cos", Cos, math.Cos, constant(2)},
}

const c64 = 0.7978845608028653558798921198687637

func constant(b float64) func(float64) float64 { return func(float64) float64 { return b } }

func gelu(x float64) float64 {
	if math.IsInf(x, -1) {
		return 0
	}
	return 0.5 * x * math.Erfc(-x/math.Sqrt2)
}

func silu(x float64) float64 {
	if x < 0 {
		z := math.Exp(x)
		if z == 0 {
			return math.Copysign(0, -1)
		}
		return x * z / (1 + z)
	}
	return x / (1 + math.Exp(-x))
}

func geluTanh(x float64) float64 {
	if math.IsInf(x, -1) {
		return 0
	}
	u := 2 * c64 * (x + 0.044715*x*x*x)
	if u < 0 {
		return x * math.Exp(u) / (1 + math.Exp(u))
	}
	return x / (1 + math.Exp(-u))
}

// arguments yields every exponent with a spread of mantissas, the special
// values, and the neighbourhoods of the branch points of the functions.
func arguments(yield func(float32) bool) {
	inf := float32(math.Inf(1))
	special := []float32{0, inf, float32(math.NaN()), 1, 2, math.MaxFloat32, math.SmallestNonzeroFloat32, 0x1p-126}
	centres := []float32{0.625, 1, 14.6, 15, 13.1, 9, 88.7228, 89, 103.97, 104, 87.3, 0.70710678, 1.41421356, 0.34657359, 17, 108.7, 110, 5.9388, math.Pi / 2, math.Pi, cheapReduction}
	for _, x := range special {
		if !yield(x) || !yield(-x) {
			return
		}
	}
	for _, c := range centres {
		x := math.Float32bits(c) - 200
		for range 400 {
			if v := math.Float32frombits(x); !yield(v) || !yield(-v) {
				return
			}
			x++
		}
	}
	const step = 4099 // prime, so that the low mantissa bits vary
	for bits := uint32(1); bits < 0x7f800000; bits += step {
		if v := math.Float32frombits(bits); !yield(v) || !yield(-v) {
			return
		}
	}
}

func TestErrorBounds(t *testing.T) {
	for _, fn := range functions {
		t.Run(fn.name, func(t *testing.T) {
			worst, at := 0.0, float32(0)
			for x := range arguments {
				got, want := fn.f(x), fn.exact(float64(x))
				if u := ulps(got, want); u > fn.bound(float64(x)) {
					t.Fatalf("%s(%g = %#08x) = %g, want %g: %.2f ULP, documented %.2f", fn.name, x, math.Float32bits(x), got, want, u, fn.bound(float64(x)))
				} else if u > worst {
					worst, at = u, x
				}
			}
			t.Logf("worst error %.3f ULP at %g", worst, at)
		})
	}
}

// TestSignedZero checks that odd functions keep the sign of zero.
func TestSignedZero(t *testing.T) {
	negZero := float32(math.Copysign(0, -1))
	for name, f := range map[string]func(float32) float32{"Tanh": Tanh, "Erf": Erf, "Gelu": Gelu, "GeluTanh": GeluTanh, "Sqrt": Sqrt, "Silu": Silu, "Sin": Sin} {
		if got := f(negZero); math.Float32bits(got) != 1<<31 {
			t.Errorf("%s(-0) = %g", name, got)
		}
		if got := f(0); math.Float32bits(got) != 0 {
			t.Errorf("%s(0) = %g", name, got)
		}
	}
}

// exactFMA rounds a*b+c once with arbitrary precision.
func exactFMA(a, b, c float32) float32 {
	wide := func(x float32) *big.Float { return new(big.Float).SetPrec(600).SetFloat64(float64(x)) }
	p := new(big.Float).SetPrec(600).Mul(wide(a), wide(b))
	r, _ := p.Add(p, wide(c)).Float32()
	return r
}

func TestFMA(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	finite := func() float32 {
		for {
			if x := math.Float32frombits(rng.Uint32()); x-x == 0 {
				return x
			}
		}
	}
	check := func(a, b, c float32) {
		t.Helper()
		got, want := FMA(a, b, c), exactFMA(a, b, c)
		if got != want && (got == got || want == want) {
			t.Fatalf("FMA(%x, %x, %x) = %x, want %x", a, b, c, got, want)
		}
	}
	for range 200_000 {
		check(finite(), finite(), finite())
		// Exponents near one another, where rounding is interesting.
		x, y := 1+rng.Float32(), 1+rng.Float32()
		check(x, y, float32(math.Ldexp(float64(1+rng.Float32()), rng.IntN(60)-30)))
		check(x, -y, x*y)
	}
	// Sums that lie on, or just beside, the middle between two float32, in the
	// normal and the subnormal range.
	for range 200_000 {
		e := rng.IntN(120) - 60
		if rng.IntN(4) == 0 {
			e = -126 - rng.IntN(24)
		}
		c := float32(math.Ldexp(1+float64(rng.Uint32()>>9)*0x1p-23, e))
		half := float32(math.Ldexp(1, e-24))
		check(half, 1, c)
		check(half, 1+0x1p-23, c)
		check(half, 1-0x1p-24, c)
		check(-half, 1+0x1p-23, c)
		check(half*0x1p-20, 0x1p-20, c)
	}
	// A case that rounding the float64 result alone gets wrong.
	a, b, c := float32(0x1.000002p-24), float32(1-0x1p-24), float32(1)
	check(a, b, c)
	check(a, b, 1+0x1p-23)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range [][4]float32{{inf, 1, 1, inf}, {inf, 0, 1, nan}, {inf, 1, -inf, nan}, {1, 1, nan, nan}, {math.MaxFloat32, 2, -math.MaxFloat32, math.MaxFloat32}, {0, -1, 0, 0}} {
		if got := FMA(c[0], c[1], c[2]); got != c[3] && (got == got || c[3] == c[3]) {
			t.Errorf("FMA(%g, %g, %g) = %g, want %g", c[0], c[1], c[2], got, c[3])
		}
	}
}

func TestAXPY4(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	row := func() []float32 {
		r := make([]float32, 37)
		for i := range r {
			if r[i] = rng.Float32() - 0.5; i%5 == 0 {
				r[i] = float32(rng.IntN(8)) * 0x1p-140
			}
		}
		return r
	}
	dst, b := row(), [4][]float32{row(), row(), row(), row()}
	a := [4]float32(row())
	want := make([]float32, len(dst))
	for j := range dst {
		want[j] = dst[j]
		for p := range 4 {
			want[j] = FMA(a[p], b[p][j], want[j])
		}
	}
	AXPY4(dst, &a, &b)
	for j := range dst {
		if dst[j] != want[j] {
			t.Fatalf("element %d is %g, want %g", j, dst[j], want[j])
		}
	}
}

func BenchmarkFunctions(b *testing.B) {
	var x [1024]float32
	for i := range x {
		x[i] = float32(i)/128 - 4
	}
	for _, fn := range functions {
		b.Run(fn.name, func(b *testing.B) {
			for b.Loop() {
				for _, v := range x {
					fn.f(v)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/element")
		})
	}
}

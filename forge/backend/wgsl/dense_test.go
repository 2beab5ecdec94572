package wgsl_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"forgekernel/forge/backend/wgsl"
	"forgekernel/forge/tensor"
)

// TestManyNumbers holds functions that reduce their arguments to the units of the last place
// of package bound, at more numbers than the suite has, where every operation is rounded and
// where the compiler takes floats for real numbers.
func TestManyNumbers(t *testing.T) {
	const n = 1 << 14
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(f func() float64) *tensor.Tensor {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(f())
		}
		x, err := tensor.From([]int{n}, v)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	between := func(low, high float64) *tensor.Tensor {
		return draw(func() float64 { return low + random.Float64()*(high-low) })
	}
	quarters := draw(func() float64 { return math.Round(random.NormFloat64()*20000) * math.Pi / 2 })
	sizes := draw(func() float64 { return math.Exp2(random.Float64()*200 - 100) })
	first := func(f func(float64) float64) func(a, b float64) float64 {
		return func(a, _ float64) float64 { return f(a) }
	}
	for _, c := range []struct {
		op    string
		x, y  *tensor.Tensor
		units float64
		want  func(a, b float64) float64
	}{
		{"sin", between(-1e5, 1e5), nil, 2, first(math.Sin)},
		{"sin", quarters, nil, 2, first(math.Sin)},
		{"cos", quarters, nil, 2, first(math.Cos)},
		{"sqrt", sizes, nil, 0.5, first(math.Sqrt)},
		{"rsqrt", sizes, nil, 1.5, first(func(x float64) float64 { return 1 / math.Sqrt(x) })},
		{"log", sizes, nil, 1, first(math.Log)},
		{"log", between(0.5, 2), nil, 1, first(math.Log)},
		{"erf", between(-4, 4), nil, 2, first(math.Erf)},
		{"tanh", between(-9, 9), nil, 2, first(math.Tanh)},
		{"div", sizes, between(0.5, 2), 0.5, func(a, b float64) float64 { return a / b }},
		{"pow", between(0.5, 2), between(-90, 90), 2, math.Pow},
	} {
		in, operands, parameters := []*tensor.Tensor{c.x}, "%x", fmt.Sprintf("%%x: f32[%d]", n)
		if c.y != nil {
			in, operands, parameters = append(in, c.y), "%x, %y", parameters+fmt.Sprintf(", %%y: f32[%d]", n)
		}
		g := parse(t, fmt.Sprintf("graph g(%s) {\n  %%z: f32[%d] = %s %s\n  return %%z\n}", parameters, n, c.op, operands))
		for _, reals := range []bool{false, true} {
			s := wgsl.NewSimulator()
			s.Reals = reals
			got, err := run(t, &wgsl.Backend{Device: s}, g, in)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range got[0].Float32() {
				a, b := c.x.Elem(i), 0.0
				if c.y != nil {
					b = c.y.Elem(i)
				}
				want := c.want(a, b)
				if e := math.Abs(float64(v)-want) / tensor.ULP(tensor.F32, want); !(e <= c.units+0x1p-20) {
					t.Errorf("real numbers %v: %s of %v and %v is %v, want %v: off by %.4f units", reals, c.op, a, b, v, want, e)
					break
				}
			}
		}
	}
}

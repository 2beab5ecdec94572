package capture

import (
	"math"
	"math/rand/v2"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// products are dot products of normal numbers, in float64, by one float32 sum, and by one of
// operands that are rounded to ten bits, as in TF32.
func products(t *testing.T, count, terms int) (exact []float64, single, rounded []float32) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 7))
	short := func(x float32) float32 {
		return math.Float32frombits((math.Float32bits(x) + 1<<12) &^ (1<<13 - 1))
	}
	for range count {
		var e float64
		var s, r float32
		for range terms {
			a, b := float32(random.NormFloat64()), float32(random.NormFloat64())
			e += float64(a) * float64(b)
			s += a * b
			r += short(a) * short(b)
		}
		exact, single, rounded = append(exact, e), append(single, s), append(rounded, r)
	}
	return exact, single, rounded
}

// TestGateOfSums: a long sum in float32 is right, whatever its order, and one of shortened
// operands or with one wrong element is not.
func TestGateOfSums(t *testing.T) {
	const count, terms = 4096, 4096
	exact, single, rounded := products(t, count, terms)
	want, err := tensor.FromFloat64([]int{count}, exact)
	if err != nil {
		t.Fatal(err)
	}
	outputs := []*ir.Value{{Spec: ir.F32(count)}}
	wrong := append([]float32(nil), single...)
	wrong[17] += 0.1
	for _, c := range []struct {
		name   string
		got    []float32
		passes bool
	}{{"one sum", single, true}, {"shortened operands", rounded, false}, {"one wrong element", wrong, false}} {
		got, err := tensor.FromFloat32([]int{count}, c.got)
		if err != nil {
			t.Fatal(err)
		}
		gate, err := NewGate(outputs, []*tensor.Tensor{got}, []*tensor.Tensor{want})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.3g at most, %.3g of what is allowed", c.name, gate.MaxAbs, gate.Worst)
		if gate.Passed() != c.passes {
			t.Errorf("%s: passes: %v", c.name, gate.Passed())
		}
	}
}

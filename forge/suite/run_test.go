package suite

import (
	"context"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/plan"
	"forgekernel/forge/tensor"
)

// A run in memory laid out as the plan says gives the interpreter's numbers to
// the last bit, as written and after passes; and these are near the float64
// reference.
func TestRunByPlan(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "gpt2_small_block" {
				t.Skip("600 million multiplications, five times")
			}
			runByPlan(t, build(t, name))
		})
	}
}

func runByPlan(t *testing.T, written *ir.Graph) {
	inputs, err := Inputs(written, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := run(t, interp.New(), written, inputs)
	checkNear(t, want, run(t, interp.Reference(), written, inputs))
	for _, g := range []*ir.Graph{written, optimise(t, written)} {
		got, err := plan.Simulate(context.Background(), mustPlan(t, g, plan.Options{}), inputs...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !tensor.Identical(got[i], want[i]) {
				t.Errorf("output %d by plan differs from the interpreter's", i)
			}
		}
	}
}

func run(t *testing.T, b backend.Backend, g *ir.Graph, inputs []*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	exe, err := b.Compile(context.Background(), g)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exe.Run(context.Background(), inputs...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkNear bounds the error of float32 by what sums of a few thousand terms
// of unit size can lose, and makes sure that there is something to compare.
func checkNear(t *testing.T, got, reference []*tensor.Tensor) {
	t.Helper()
	const bound = 5e-5
	spread := 0.0
	for i := range got {
		for j := range got[i].Len() {
			x, r := got[i].Elem(j), reference[i].Elem(j)
			spread = max(spread, r, -r)
			if diff := x - r; !(diff <= bound*(1+max(r, -r)) && -diff <= bound*(1+max(r, -r))) {
				t.Fatalf("output %d[%d] is %v, the reference %v", i, j, x, r)
			}
		}
	}
	if spread < 0.1 || spread > 100 {
		t.Errorf("outputs reach %v; weights of another size would test more", spread)
	}
}

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
	ctx := context.Background()
	for _, name := range Names() {
		if testing.Short() && name == "gpt2_small_block" {
			continue // 600 million multiplications, five times
		}
		written := build(t, name)
		inputs, err := Inputs(written, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := run(t, interp.New(), written, inputs)
		checkNear(t, name, want, run(t, interp.Reference(), written, inputs))
		for _, g := range []*ir.Graph{written, optimise(t, written)} {
			p := mustPlan(t, g, plan.Options{})
			got, err := plan.Simulate(ctx, p, inputs...)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i := range want {
				if !tensor.Identical(got[i], want[i]) {
					t.Errorf("%s: output %d by plan differs from the interpreter's", name, i)
				}
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
func checkNear(t *testing.T, name string, got, reference []*tensor.Tensor) {
	t.Helper()
	const bound = 5e-5
	spread := 0.0
	for i := range got {
		for j := range got[i].Len() {
			x, r := got[i].Elem(j), reference[i].Elem(j)
			spread = max(spread, r, -r)
			if diff := x - r; !(diff <= bound*(1+max(r, -r)) && -diff <= bound*(1+max(r, -r))) {
				t.Fatalf("%s: output %d[%d] is %v, the reference %v", name, i, j, x, r)
			}
		}
	}
	if spread < 0.1 || spread > 100 {
		t.Errorf("%s: outputs reach %v; weights of another size would test more", name, spread)
	}
}

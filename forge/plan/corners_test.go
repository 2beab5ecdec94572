package plan

import (
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// corners are programs that random ones have found plans or simulated runs to
// be wrong for.
var corners = map[string]string{
	"a view of nothing, of an intermediate value": `graph f(%x: f32[4]) {
  %0: f32[4] = exp %x
  %1: f32[0] = narrow %0 {axis = 0, length = 0, start = 2}
  %2: f32[0,3] = reshape %1 {shape = [0, 3]}
  %3: f32[3] = sum %2 {axes = [0]}
  %4: f32[4] = neg %0
  return %3, %4
}`,
	"a view of nothing, of an input": `graph f(%x: f32[4]) {
  %0: f32[0] = narrow %x {axis = 0, length = 0, start = 2}
  return %0
}`,
	"a view that goes backwards": `graph f(%x: f32[2,3]) {
  %0: f32[2,3] = exp %x
  %1: f32[2,3] = narrow %0 {axis = 0, length = 2, start = 1, step = -1}
  %2: f32[2,3] = narrow %1 {axis = 1, length = 3, start = 2, step = -1}
  %3: f32[2] = sum %2 {axes = [1]}
  return %3, %2
}`,
}

func TestCorners(t *testing.T) {
	for name, program := range corners {
		g, err := ir.Parse(op.Registry, program)
		if err != nil {
			t.Fatal(err)
		}
		inputs := smallIntegers(t, g)
		want := evaluate(t, g, inputs)
		for _, opts := range []Options{{}, {NoReuseInPlace: true}} {
			got, err := Simulate(t.Context(), mustPlan(t, g, opts), inputs...)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i := range want {
				if !tensor.Identical(got[i], want[i]) {
					t.Errorf("%s: output %d is %v, not %v", name, i, got[i], want[i])
				}
			}
		}
	}
}

package generate

import (
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// TestCoverage makes programs and checks that together they apply every operator
// to every kind of type, that nearly all run, and that equal seeds give equal
// programs.
func TestCoverage(t *testing.T) {
	const programs = 1500
	applied := make(map[string]int)
	types := make(map[tensor.DType]int)
	ran, empty := 0, 0
	for seed := range uint64(programs) {
		c, err := New(seed)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range c.Graph.Nodes {
			applied[n.Op.Name]++
		}
		for v := range c.Graph.Values {
			types[v.Spec.DType]++
			if v.Spec.Elements() == 0 {
				empty++
			}
		}
		if seed%50 == 0 {
			again, err := New(seed)
			if err != nil || !ir.Equal(again.Graph, c.Graph) {
				t.Fatalf("seed %d gives two programs: %v", seed, err)
			}
		}
		exe, err := interp.New().Compile(t.Context(), c.Graph)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if _, err := exe.Run(WithPeer(t.Context()), c.Inputs...); err == nil {
			ran++
		} else {
			t.Logf("seed %d: %v", seed, err)
		}
	}
	for _, o := range op.Registry.All() {
		if !o.PassOnly && applied[o.Name] < programs/100 {
			t.Errorf("%d of %d programs' nodes are %s", applied[o.Name], programs, o.Name)
		}
	}
	for d := tensor.F32; d.Valid(); d++ {
		if types[d] < programs/10 {
			t.Errorf("%d values are %v", types[d], d)
		}
	}
	if empty < programs/10 {
		t.Errorf("%d values are empty", empty)
	}
	if ran < programs*99/100 {
		t.Errorf("%d of %d programs ran to their end", ran, programs)
	}
}

package pass

import (
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// TestLargeConstants shares large constants with equal elements, and no others, however
// alike they are.
func TestLargeConstants(t *testing.T) {
	b := ir.NewBuilder(op.Registry, "large")
	x, err := b.Input("x", ir.F32(1, 256))
	if err != nil {
		t.Fatal(err)
	}
	one, err := tensor.Randn(1, 256, 256)
	if err != nil {
		t.Fatal(err)
	}
	other := one.Clone()
	other.SetElem(1, 7) // no element that a key has
	var outputs []*ir.Value
	for _, w := range []*tensor.Tensor{one, one.Clone(), other} {
		c, err := b.SharedConst(w)
		if err != nil {
			t.Fatal(err)
		}
		y, err := b.Apply("matmul", nil, x, c)
		if err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, y)
	}
	g, err := b.Finish(outputs...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(g, Options{})
	if err != nil {
		t.Fatal(err)
	}
	constants := 0
	for _, n := range r.Graph.Nodes {
		if n.Op.Class == ir.Constant {
			constants++
		}
	}
	if constants != 2 {
		t.Errorf("%d constants, want 2", constants)
	}
}

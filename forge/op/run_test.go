package op

import (
	"context"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// runNode parses a program of one node and evaluates the node.
func runNode(ctx context.Context, inputs, result, node string, in ...*tensor.Tensor) (*tensor.Tensor, error) {
	g, err := parseNode(inputs, result, node)
	if err != nil {
		return nil, err
	}
	n := g.Nodes[0]
	out, err := tensor.Full(n.Out[0].Spec.DType, -99, n.Out[0].Spec.Shape...) // Eval must not rely on zeros
	if err != nil {
		return nil, err
	}
	return out, n.Op.Eval(&ir.Call{Ctx: ctx, Node: n, In: in, Out: []*tensor.Tensor{out}, Workers: 2})
}

// from makes a tensor of the given shape.
func from[T tensor.Element](t testing.TB, shape []int, data ...T) *tensor.Tensor {
	t.Helper()
	x, err := tensor.From(shape, data)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func random(t testing.TB, seed uint64, shape ...int) *tensor.Tensor {
	t.Helper()
	x, err := tensor.Rand(seed, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func wantElems(t *testing.T, got *tensor.Tensor, want ...float64) {
	t.Helper()
	if got.Len() != len(want) {
		t.Fatalf("%d elements, want %d", got.Len(), len(want))
	}
	for i, w := range want {
		if g := got.Elem(i); g != w && (g == g || w == w) {
			t.Fatalf("element %d is %v, want %v", i, g, w)
		}
	}
}

// call is an evaluation of n into the given result.
func call(t *testing.T, n *ir.Node, in []*tensor.Tensor, out *tensor.Tensor) *ir.Call {
	return &ir.Call{Ctx: t.Context(), Node: n, In: in, Out: []*tensor.Tensor{out}, Workers: 2}
}

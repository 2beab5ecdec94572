package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/capture"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// referenceFLOPs is the work of a float64 reference that the host computes, about.
const referenceFLOPs = 1 << 30

// leastRows are computed of a product of any size.
const leastRows = 4

// reference is what the results of a node should be, all of them or some rows.
type reference struct {
	outputs []*ir.Value
	want    []*tensor.Tensor
	rows    []int // along the first dimension; nil for all
}

// newReference computes a graph of one node, and the views that it reads through, in
// float64. Of a product with more than most FLOPs it computes some rows, spread over all
// of it.
func newReference(ctx context.Context, g *ir.Graph, inputs []*tensor.Tensor, most int64) (*reference, error) {
	flops := g.Cost().FLOPs
	if flops <= most {
		want, err := evaluate(ctx, interp.Reference(), g, inputs)
		return &reference{outputs: g.Outputs, want: want}, err
	}
	node := g.Outputs[0].Def
	rank := g.Outputs[0].Spec.Rank()
	if node.Op.Name != "linear" && node.Op.Name != "matmul" || rank < 2 {
		return nil, fmt.Errorf("%.3g FLOP are too many for the host", float64(flops))
	}
	all := g.Outputs[0].Spec.Shape[0]
	r := &reference{rows: spread(all, max(leastRows, int(most/(flops/int64(all)))))}
	operands, err := operandsOf(ctx, g, inputs)
	if err != nil {
		return nil, err
	}
	for i, t := range operands {
		// A second operand has rows of its own only in a stack of matrices.
		if t.Rank() == rank && t.Dim(0) == all && (i != 1 || rank > 2) {
			if operands[i], err = takeRows(t, r.rows); err != nil {
				return nil, err
			}
		}
	}
	small, err := nodeOf(node, operands)
	if err != nil {
		return nil, err
	}
	r.outputs = small.Outputs
	r.want, err = evaluate(ctx, interp.Reference(), small, operands)
	return r, err
}

func evaluate(ctx context.Context, on *interp.Interp, g *ir.Graph, inputs []*tensor.Tensor) ([]*tensor.Tensor, error) {
	x, err := on.Compile(ctx, g)
	if err != nil {
		return nil, err
	}
	return x.Run(ctx, inputs...)
}

// spread is count of the numbers below all, at even distances, with the first and the
// last.
func spread(all, count int) []int {
	count = min(all, count)
	rows := make([]int, count)
	for i := range rows {
		rows[i] = i * (all - 1) / max(1, count-1)
	}
	return slices.Compact(rows)
}

// operandsOf are the values that the last node of a graph reads, by position.
func operandsOf(ctx context.Context, g *ir.Graph, inputs []*tensor.Tensor) ([]*tensor.Tensor, error) {
	before := g.Clone()
	last := before.Nodes[len(before.Nodes)-1]
	before.Nodes = before.Nodes[:len(before.Nodes)-1]
	var distinct []*ir.Value
	for _, v := range last.In {
		if !slices.Contains(distinct, v) {
			distinct = append(distinct, v)
		}
	}
	before.Outputs = distinct
	values, err := evaluate(ctx, interp.New(), before, inputs)
	if err != nil {
		return nil, err
	}
	var list []*tensor.Tensor
	for _, v := range last.In {
		list = append(list, values[slices.Index(distinct, v)])
	}
	return list, nil
}

// takeRows copies some rows of the first dimension.
func takeRows(t *tensor.Tensor, rows []int) (*tensor.Tensor, error) {
	shape := t.Shape()
	shape[0] = len(rows)
	out, err := tensor.Zeros(t.DType(), shape...)
	if err != nil {
		return nil, err
	}
	from, to := planned.Bytes(t), planned.Bytes(out)
	size := len(to) / len(rows)
	for i, row := range rows {
		copy(to[i*size:], from[row*size:][:size])
	}
	return out, nil
}

// nodeOf is a graph of a node like another one, on operands of given sizes.
func nodeOf(n *ir.Node, operands []*tensor.Tensor) (*ir.Graph, error) {
	b := ir.NewBuilder(op.Registry, "rows")
	var in []*ir.Value
	for i, t := range operands {
		v, err := b.Input(fmt.Sprintf("x%d", i), ir.SpecOf(t))
		if err != nil {
			return nil, err
		}
		in = append(in, v)
	}
	y, err := b.Apply(n.Op.Name, n.Attrs, in...)
	if err != nil {
		return nil, err
	}
	return b.Finish(y)
}

// check compares results with the reference.
func (r *reference) check(got []*tensor.Tensor) (*capture.Gate, error) {
	if r.rows != nil {
		if len(got) != 1 {
			return nil, errors.New("a product has one result")
		}
		some, err := takeRows(got[0], r.rows)
		if err != nil {
			return nil, err
		}
		got = []*tensor.Tensor{some}
	}
	return capture.NewGate(r.outputs, got, r.want)
}

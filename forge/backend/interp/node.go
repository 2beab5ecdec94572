package interp

import (
	"context"
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Node evaluates one node on operands of its own types, or with wide in
// float64 on operands of which every floating-point one is f64. The results
// have memory of their own, also those of views and of operators that take
// over storage, so that all values of a program can be kept for comparison.
func Node(ctx context.Context, n *ir.Node, wide bool, in ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	call := &ir.Call{Ctx: ctx, Node: n, Wide: wide, In: in, Workers: 1}
	for _, v := range n.Out {
		t, err := tensor.Zeros(call.DType(v.Spec.DType), v.Spec.Shape...)
		if err != nil {
			return nil, err
		}
		call.Out = append(call.Out, t)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := n.Op.Eval(call); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%v = %s: %w", n.Out[0], n.Op.Name, err)
	}
	return call.Out, nil
}

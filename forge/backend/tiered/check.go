package tiered

import (
	"context"
	"fmt"
	"math"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Bounds of a check.
const (
	// referenceFLOPs is the most work of a program that is computed in float64 for
	// the check. The forms of a larger one are compared with one another.
	referenceFLOPs = 1 << 30
	// spread is how many times the error of the first form the second may have:
	// sums run in another order, and their errors are not equal.
	spread = 8
	// seed of the inputs.
	seed = 1
)

// floor is the relative error that a result may have in any case: a few roundings
// in its type.
var floor = map[tensor.DType]float64{
	tensor.F64: 0x1p-48, tensor.F32: 0x1p-19, tensor.F16: 0x1p-8, tensor.BF16: 0x1p-5,
}

// apart is the relative difference that two forms of a large program may have.
const apart = 1e-3

// check runs both forms on pseudo-random inputs and compares their results with
// float64: the second may err a few times as much as the first, relative to the
// largest element of a result. Elements that are no numbers, and results that are
// no floats, must be the same.
func check(ctx context.Context, g *ir.Graph, first, second backend.Executable) error {
	inputs, err := inputs(g)
	if err != nil {
		return err
	}
	a, err := first.Run(ctx, inputs...)
	if err != nil {
		return fmt.Errorf("the first form cannot be compared with: %w", err)
	}
	b, err := second.Run(ctx, inputs...)
	if err != nil {
		return err
	}
	exact := a
	if g.Cost().FLOPs <= referenceFLOPs {
		reference := interp.Reference()
		reference.Workers = 1 // others want to run too
		x, err := reference.Compile(ctx, g)
		if err != nil {
			return err
		}
		if exact, err = x.Run(ctx, inputs...); err != nil {
			return err
		}
	}
	for i, v := range g.Outputs {
		limit, before := floor[v.Spec.DType]+apart, 0.0
		if exact[i] != a[i] {
			before = distance(a[i], exact[i])
			limit = floor[v.Spec.DType] + spread*before
		}
		if !v.Spec.DType.IsFloat() {
			limit = 0
		}
		if d := distance(b[i], exact[i]); !(d <= limit) {
			return fmt.Errorf("%v is off by %.3g of its largest element, which may be %.3g", v, d, limit)
		} else if before > apart && d < before/100 {
			tellWrong(ctx, g.Name, fmt.Sprintf("%v was off by %.3g of its largest element, and is by %.3g", v, before, d))
		}
	}
	return nil
}

// inputs are standard normal numbers, and zeros where an index may be meant.
func inputs(g *ir.Graph) ([]*tensor.Tensor, error) {
	list := make([]*tensor.Tensor, len(g.Inputs))
	for i, v := range g.Inputs {
		t, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
		if v.Spec.DType.IsFloat() && err == nil {
			if t, err = tensor.Randn(seed+uint64(i), v.Spec.Shape...); err == nil {
				t, err = t.Convert(v.Spec.DType)
			}
		}
		if err != nil {
			return nil, err
		}
		list[i] = t
	}
	return list, nil
}

// distance is the largest difference of two tensors, relative to the largest
// finite element; infinite where one has a number and the other has none.
func distance(got, want *tensor.Tensor) float64 {
	largest, most := 0.0, 0.0
	for i := range want.Len() {
		x, y := got.Elem(i), want.Elem(i)
		switch {
		case x == y || x != x && y != y:
		case math.IsInf(x-y, 0) || x != x || y != y:
			return math.Inf(1)
		default:
			most = max(most, math.Abs(x-y))
		}
		if !math.IsInf(y, 0) {
			largest = max(largest, math.Abs(y))
		}
	}
	if most == 0 {
		return 0
	}
	return most / max(largest, math.SmallestNonzeroFloat32)
}

package bound

import (
	"context"
	"math"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// ofSum bounds a sum of terms products or numbers in any order, with or without
// fused multiply-add: terms+1 roundings, each of at most unit times the sum of
// the magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, 3.1).
func ofSum(n *ir.Node, in []*tensor.Tensor, terms int) (limits, error) {
	magnitudes, err := onMagnitudes(n, in)
	if err != nil {
		return nil, err
	}
	k, whole := float64(terms+1), 1.0
	if n.Op.Name == "mean" || n.Op.Name == "avg_pool2d" {
		whole = k // what is divided may overflow
	}
	return func(i int) float64 {
		m := magnitudes.Elem(i)
		if overflows(m * whole) {
			return math.Inf(1)
		}
		return k*unit/(1-k*unit)*m + k*tiny
	}, nil
}

// onMagnitudes applies the operator, without an activation, to the absolute
// values of those elements of the operands that are finite; the others decide
// the result without rounding.
func onMagnitudes(n *ir.Node, in []*tensor.Tensor) (*tensor.Tensor, error) {
	attrs := n.Attrs.Clone()
	delete(attrs, "act")
	plain, err := ir.NewNode(n.Op, attrs, n.In...)
	if err != nil {
		return nil, err
	}
	wide := make([]*tensor.Tensor, len(in))
	for i, t := range in {
		if !t.DType().IsFloat() { // an index
			wide[i] = t
			continue
		}
		if wide[i], err = t.Convert(tensor.F64); err != nil {
			return nil, err
		}
		for j, v := range wide[i].Float64() {
			if v = math.Abs(v); !finite(v) {
				v = 0
			}
			wide[i].Float64()[j] = v
		}
	}
	out, err := interp.Node(context.Background(), plain, true, wide...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// line is where element i of a tensor stands along an axis: from start on, n
// elements in steps.
func line(x *tensor.Tensor, axis int) (at func(i int) int, n, step int) {
	if axis < 0 {
		axis += x.Rank()
	}
	n, step = x.Dim(axis), x.Strides()[axis]
	return func(i int) int { return i - i/step%n*step }, n, step
}

// ofSoftmax adds up relative errors: rounding x-max by unit changes exp by
// |x-max| units, here and averaged over the sum; exp errs by 2 units twice,
// the sum of n terms by n and the division by one.
func ofSoftmax(x, want *tensor.Tensor, axis int) limits {
	start, n, step := line(x, axis)
	return func(i int) float64 {
		if want.Elem(i) == 0 { // as for -inf
			return 2 * tiny
		}
		top, mean := math.Inf(-1), 0.0
		for j := range n {
			top = math.Max(top, x.Elem(start(i)+j*step))
		}
		for j := range n {
			if p := want.Elem(start(i) + j*step); p > 0 {
				mean += p * (top - x.Elem(start(i)+j*step))
			}
		}
		units := math.Abs(top-x.Elem(i)) + mean + float64(n) + 6
		return units*unit*want.Elem(i)*1.01 + 2*tiny
	}
}

// ofLogSoftmax adds up absolute errors: rounding x-max, the logarithm of a
// sum with the relative error of softmax's, its own unit, and the last
// subtraction.
func ofLogSoftmax(x, want *tensor.Tensor, axis int) limits {
	start, n, step := line(x, axis)
	return func(i int) float64 {
		top, mean := math.Inf(-1), 0.0
		for j := range n {
			top = math.Max(top, x.Elem(start(i)+j*step))
		}
		for j := range n {
			if d := top - x.Elem(start(i)+j*step); !math.IsInf(d, 0) {
				mean += math.Exp(want.Elem(start(i)+j*step)) * d
			}
		}
		d := top - x.Elem(i)
		units := d + mean + float64(n) + 6 + 2*math.Abs(d+want.Elem(i)) + math.Abs(want.Elem(i))
		return units*unit*1.01 + 2*tiny
	}
}

package op

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var sorts = []*ir.Op{{
	Name: "top_k",
	Doc: "The k largest elements along an axis in descending order, or with largest=false the smallest in ascending order, and their indices; " +
		"of equals the first comes first. NaN is larger than any number.",
	Class:    ir.Reduction,
	Operands: []string{"x"},
	Types:    numbers.String() + "; also gives i64",
	Attrs: []ir.AttrDecl{
		{Name: "k", Kind: ir.IntAttr, Required: true, Doc: "how many elements, at most the length of the axis"},
		axisAttr("the dimension to search, negative from the end", int64(-1)),
		{Name: "largest", Kind: ir.BoolAttr, Default: true, Doc: "take the largest rather than the smallest"},
	},
	Infer:     inferTopK,
	Canonical: func(n *ir.Node) ir.Attrs { return canonicalAxis(n, n.In[0].Spec.Rank()) },
	Eval:      byNumber(topK[float32], topK[float64], topK[int64], topK[int32]),
	FLOPs:     perElement,
}}

func inferTopK(n *ir.Node) ([]ir.Spec, error) {
	if err := numbers.check(n.In[0]); err != nil {
		return nil, err
	}
	in := n.In[0].Spec
	axis, err := resolveAxis(int64(n.Int("axis")), in.Rank())
	if err != nil {
		return nil, err
	}
	k := n.Int("k")
	if k < 0 || k > in.Shape[axis] {
		return nil, fmt.Errorf("k is %d; dimension %d of %v has %d elements", k, axis, n.In[0], in.Shape[axis])
	}
	shape := slices.Clone(in.Shape)
	shape[axis] = k
	return []ir.Spec{{DType: in.DType, Shape: shape}, {DType: tensor.I64, Shape: shape}}, nil
}

// topK sorts the indices of each line.
func topK[T number](c *ir.Call) error {
	src, values, indices := data[T](c.In[0]), data[T](c.Out[0]), c.Out[1].Int64()
	shape := c.In[0].Shape()
	axis, k := c.Node.Int("axis"), c.Node.Int("k")
	n, inner := shape[axis], product(shape[axis+1:])
	if len(values) == 0 {
		return nil
	}
	before := descending[T]
	if !c.Node.Bool("largest") {
		before = func(a, b T) int { return descending(b, a) }
	}
	return parallel(c, len(src)/n, max(1, 1<<10/n), func(lo, hi int) error {
		stop := stopper{call: c}
		order := make([]int, n)
		for l := lo; l < hi; l++ {
			base := l/inner*n*inner + l%inner
			for i := range order {
				order[i] = i
			}
			slices.SortStableFunc(order, func(i, j int) int { return before(src[base+i*inner], src[base+j*inner]) })
			to := l/inner*k*inner + l%inner
			for i, at := range order[:k] {
				values[to+i*inner], indices[to+i*inner] = src[base+at*inner], int64(at)
			}
			if err := stop.did(n * 16); err != nil {
				return err
			}
		}
		return nil
	})
}

// descending orders larger before smaller, NaN first.
func descending[T number](a, b T) int {
	switch {
	case a != a && b != b || a == b:
		return 0
	case a != a || a > b:
		return -1
	}
	return 1
}

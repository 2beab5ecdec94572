package op

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/mathf"
)

var normalisations = []*ir.Op{{
	Name:     "softmax",
	Doc:      "exp(x - max) / sum(exp(x - max)) along one axis. A row of only -inf, or with +inf or NaN, gives NaN where the formula does.",
	Class:    ir.Normalise,
	Operands: []string{"x"},
	Attrs:    []ir.AttrDecl{{Name: "axis", Kind: ir.IntAttr, Default: int64(-1), Doc: "the dimension that sums to 1, negative from the end"}},
	Infer: func(n *ir.Node) ([]ir.Spec, error) {
		if _, err := sameFloat(n); err != nil {
			return nil, err
		}
		if _, err := resolveAxis(int64(n.Int("axis")), n.In[0].Spec.Rank()); err != nil {
			return nil, err
		}
		return []ir.Spec{n.In[0].Spec.Clone()}, nil
	},
	Eval: byType(
		func(c *ir.Call) error { return softmax(c, mathf.Exp) },
		func(c *ir.Call) error { return softmax(c, math.Exp) },
	),
	FLOPs: perOutput(5), // max, subtract, exp, sum, divide
}}

// softmax works on one line along the axis at a time, in place where it is
// contiguous, so that every axis has the same arithmetic in the same order.
func softmax[T float](c *ir.Call, exp func(T) T) error {
	shape := c.In[0].Shape()
	axis, err := resolveAxis(int64(c.Node.Int("axis")), len(shape))
	if err != nil {
		return err
	}
	src, dst := data[T](c.In[0]), data[T](c.Out[0])
	if len(dst) == 0 {
		return nil
	}
	n, inner := shape[axis], product(shape[axis+1:])
	return parallel(c, len(dst)/n, max(1, 1<<12/n), func(lo, hi int) error {
		stop := stopper{call: c}
		var scratch []T
		if inner > 1 {
			scratch = make([]T, n)
		}
		for l := lo; l < hi; l++ {
			start := l/inner*n*inner + l%inner
			line := scratch
			if inner == 1 {
				line = dst[start : start+n]
			}
			err := softmaxLine(&stop, line, exp, func(i int) T { return src[start+i*inner] })
			if err != nil {
				return err
			}
			for i, v := range scratch {
				dst[start+i*inner] = v
			}
		}
		return nil
	})
}

// softmaxLine fills line with the softmax of the elements that at returns.
func softmaxLine[T float](stop *stopper, line []T, exp func(T) T, at func(i int) T) error {
	top := at(0)
	err := stop.blocks(len(line), 2, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			line[i] = at(i)
			top = max(top, line[i])
		}
	})
	if err != nil {
		return err
	}
	err = stop.blocks(len(line), 16, func(lo, hi int) { // exp is about 16 simple operations
		for i, v := range line[lo:hi] {
			line[lo+i] = exp(v - top)
		}
	})
	if err != nil {
		return err
	}
	var sum [1]T
	if err := pairwise(stop, sum[:], line, 1, 0, len(line)); err != nil {
		return err
	}
	return stop.blocks(len(line), 2, func(lo, hi int) {
		for i := range line[lo:hi] {
			line[lo+i] /= sum[0]
		}
	})
}

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

// softmax gathers each line along the axis, so that any axis costs the same
// arithmetic in the same order.
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
		line := make([]T, n)
		for l := lo; l < hi; l++ {
			start := l/inner*n*inner + l%inner
			for i := range line {
				line[i] = src[start+i*inner]
			}
			if err := softmaxLine(&stop, line, exp); err != nil {
				return err
			}
			for i, v := range line {
				dst[start+i*inner] = v
			}
		}
		return nil
	})
}

func softmaxLine[T float](stop *stopper, line []T, exp func(T) T) error {
	top := line[0]
	for _, v := range line {
		top = max(top, v)
	}
	for lo := 0; lo < len(line); lo += blockSize {
		block := line[lo:min(lo+blockSize, len(line))]
		for i, v := range block {
			block[i] = exp(v - top)
		}
		if err := stop.did(16 * len(block)); err != nil { // exp is about 16 simple operations
			return err
		}
	}
	sum := pairwiseDense(line)
	for i := range line {
		line[i] /= sum
	}
	return nil
}

package op

import (
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var argReductions = []*ir.Op{
	argReduction("argmax", "The index of the largest element along an axis, the first of equals; that of the first NaN if there is one.",
		byNumber(arg(above[float32]), arg(above[float64]), arg(above[int64]), arg(above[int32]))),
	argReduction("argmin", "The index of the smallest element along an axis, the first of equals; that of the first NaN if there is one.",
		byNumber(arg(below[float32]), arg(below[float64]), arg(below[int64]), arg(below[int32]))),
}

func argReduction(name, doc string, eval func(*ir.Call) error) *ir.Op {
	return &ir.Op{
		Name: name, Doc: doc, Class: ir.Reduction,
		Operands:  []string{"x"},
		Types:     numbers.String() + "; gives i64",
		Attrs:     []ir.AttrDecl{axisAttr("the dimension to search, negative from the end", nil), keepdimsAttr},
		Infer:     inferArg,
		Canonical: func(n *ir.Node) ir.Attrs { return canonicalAxis(n, n.In[0].Spec.Rank()) },
		Eval:      eval,
		FLOPs:     perElement,
	}
}

func inferArg(n *ir.Node) ([]ir.Spec, error) {
	if err := numbers.check(n.In[0]); err != nil {
		return nil, err
	}
	in := n.In[0].Spec.Shape
	axis, err := resolveAxis(int64(n.Int("axis")), len(in))
	if err != nil {
		return nil, err
	}
	if in[axis] == 0 {
		return nil, errEmptyAxis(n.In[0], axis)
	}
	var shape []int
	for i, d := range in {
		switch {
		case i != axis:
			shape = append(shape, d)
		case n.Bool("keepdims"):
			shape = append(shape, 1)
		}
	}
	return []ir.Spec{{DType: tensor.I64, Shape: shape}}, nil
}

// arg searches each line along the axis for the element that beats all before
// it; a NaN beats everything.
func arg[T number](beats func(a, b T) bool) func(*ir.Call) error {
	return func(c *ir.Call) error {
		shape := c.In[0].Shape()
		axis := c.Node.Int("axis")
		n, inner := shape[axis], product(shape[axis+1:])
		src, dst := data[T](c.In[0]), c.Out[0].Int64()
		return parallel(c, len(dst), max(1, 1<<14/n), func(lo, hi int) error {
			stop := stopper{call: c}
			for l := lo; l < hi; l++ {
				start := l/inner*n*inner + l%inner
				best, at := src[start], 0
				err := stop.blocks(n, 1, func(from, to int) {
					for i := from; i < to; i++ {
						v := src[start+i*inner]
						if best == best && (v != v || beats(v, best)) {
							best, at = v, i
						}
					}
				})
				if err != nil {
					return err
				}
				dst[l] = int64(at)
			}
			return nil
		})
	}
}

package op

import "forgekernel/forge/ir"

var scans = []*ir.Op{{
	Name:     "cumsum",
	Doc:      "The running sums along an axis, each step rounded; with exclusive without the element itself, with reverse from the end. Integers wrap around.",
	Class:    ir.Normalise,
	Operands: []string{"x"},
	Types:    numbers.String(),
	Attrs: []ir.AttrDecl{
		axisAttr("the dimension to add along, negative from the end", nil),
		{Name: "exclusive", Kind: ir.BoolAttr, Default: false, Doc: "leave the element itself out of its sum"},
		{Name: "reverse", Kind: ir.BoolAttr, Default: false, Doc: "begin with the last element"},
	},
	Infer:     inferScan,
	Canonical: func(n *ir.Node) ir.Attrs { return canonicalAxis(n, n.In[0].Spec.Rank()) },
	Eval:      byNumber(cumsum[float32], cumsum[float64], cumsum[int64], cumsum[int32]),
	FLOPs:     perOutput(1),
}}

func inferScan(n *ir.Node) ([]ir.Spec, error) {
	if err := numbers.check(n.In[0]); err != nil {
		return nil, err
	}
	in := n.In[0].Spec
	if _, err := resolveAxis(int64(n.Int("axis")), in.Rank()); err != nil {
		return nil, err
	}
	return []ir.Spec{{DType: in.DType, Shape: in.Shape}}, nil
}

// cumsum adds along each line.
func cumsum[T number](c *ir.Call) error {
	src, dst := data[T](c.In[0]), data[T](c.Out[0])
	shape := c.In[0].Shape()
	axis := c.Node.Int("axis")
	n, inner := shape[axis], product(shape[axis+1:])
	if len(src) == 0 {
		return nil
	}
	exclusive, step := c.Node.Bool("exclusive"), inner
	first := 0
	if c.Node.Bool("reverse") {
		first, step = (n-1)*inner, -inner
	}
	return parallel(c, len(src)/n, max(1, 1<<14/n), func(lo, hi int) error {
		stop := stopper{call: c}
		for l := lo; l < hi; l++ {
			at := l/inner*n*inner + l%inner + first
			var sum T
			err := stop.blocks(n, 1, func(from, to int) {
				for range to - from {
					next := sum + src[at]
					if exclusive {
						dst[at] = sum
					} else {
						dst[at] = next
					}
					sum = next
					at += step
				}
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

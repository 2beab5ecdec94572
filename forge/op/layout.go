package op

import "forgekernel/forge/ir"

// borrowReshape keeps the elements in order.
func borrowReshape(n *ir.Node, x ir.Layout) []ir.Layout {
	l, ok := x.Reshape(n.In[0].Spec.Shape, n.Out[0].Spec.Shape)
	if !ok {
		return nil
	}
	return []ir.Layout{l}
}

// borrowTranspose permutes the strides.
func borrowTranspose(n *ir.Node, x ir.Layout) []ir.Layout {
	perm, err := permutation(n, len(x.Strides))
	if err != nil {
		return nil
	}
	l := ir.Layout{Offset: x.Offset, Strides: make([]int, len(perm))}
	for i, p := range perm {
		l.Strides[i] = x.Strides[p]
	}
	return []ir.Layout{l}
}

package op

import "forgekernel/forge/ir"

// layoutReshape keeps the elements in order.
func layoutReshape(n *ir.Node, x ir.Layout) ([]ir.Layout, bool) {
	l, ok := x.Reshape(n.In[0].Spec.Shape, n.Out[0].Spec.Shape)
	return []ir.Layout{l}, ok
}

// layoutTranspose permutes the strides.
func layoutTranspose(n *ir.Node, x ir.Layout) ([]ir.Layout, bool) {
	perm, err := permutation(n, len(x.Strides))
	if err != nil {
		return nil, false
	}
	l := ir.Layout{Offset: x.Offset, Strides: make([]int, len(perm))}
	for i, p := range perm {
		l.Strides[i] = x.Strides[p]
	}
	return []ir.Layout{l}, true
}

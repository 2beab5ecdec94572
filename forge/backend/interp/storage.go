package interp

import (
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Host tensors are dense, so a view shares storage with its operand when each
// of its results lies there in order and without gaps: a reshape, or a slice
// of the leading dimension. Any other view is a copy.

// An operator that donates works in place where the run owns the storage: not
// on inputs and constants, and not on a part of a value.

// findWindows finds the nodes that share storage and whose storage that is.
func (x *executable) findWindows() {
	x.windows = make(map[*ir.Node][]int)
	x.inPlace = make(map[*ir.Node]bool)
	x.owner = make(map[*ir.Value]*ir.Value)
	for v := range x.graph.Values {
		x.owner[v] = v
	}
	for _, n := range x.graph.Nodes {
		offsets, ok := window(n)
		switch {
		case ok:
			x.windows[n] = offsets
		case n.Op.Donates && x.ownsAll(n.In[0]):
			x.inPlace[n] = true
		default:
			continue
		}
		for _, v := range n.Out {
			x.owner[v] = x.owner[n.In[0]]
		}
	}
}

// window returns the offset of each result of a view in the storage of its
// operand; it is false where a copy is needed.
func window(n *ir.Node) ([]int, bool) {
	if !n.Op.View {
		return nil, false
	}
	layouts, ok := n.Layouts(ir.Dense(n.In[0].Spec.Shape))
	offsets := make([]int, len(layouts))
	for i, l := range layouts {
		ok = ok && l.Contiguous(n.Out[i].Spec.Shape)
		offsets[i] = l.Offset
	}
	return offsets, ok
}

// allocates reports whether a run needs memory of its own for v.
func (x *executable) allocates(v *ir.Value) bool {
	return v.Def != nil && v.Def.Op.Class != ir.Constant && x.owner[v] == v
}

// ownsAll reports whether the run made the storage of v for v alone.
func (x *executable) ownsAll(v *ir.Value) bool {
	return x.allocates(x.owner[v]) && x.owner[v].Spec.Elements() == v.Spec.Elements()
}

// share gives the results of a view their windows of the operand.
func share(n *ir.Node, offsets []int, values map[*ir.Value]*tensor.Tensor) error {
	for i, v := range n.Out {
		t, err := values[n.In[0]].Window(offsets[i], v.Spec.Shape...)
		if err != nil {
			return err
		}
		values[v] = t
	}
	return nil
}

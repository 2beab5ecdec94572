package plan

import "forgekernel/forge/ir"

// windows finds kernels whose results may be written over a window on a wider
// value, as the product of a gate and a projection over the gate, where one wide
// product has computed both. Only this kernel may read the wide value, and the
// result must be read by kernels alone: a view of it might not be expressible in
// the strides of the window. It returns the operand to write over.
func (a *analysis) windows() map[*ir.Node]*ir.Value {
	hidden := make(map[*ir.Value]bool) // values that something other than a kernel reads
	for _, n := range a.graph.Nodes {
		if n.Op.View {
			hidden[n.In[0]] = true
		}
	}
	for _, v := range a.graph.Outputs {
		hidden[v] = true
	}
	over := make(map[*ir.Node]*ir.Value)
	for k := range a.kernels {
		n := a.kernels[k].node
		if !overwrites(n.Op) || len(n.Out) != 1 || hidden[n.Out[0]] || n.Out[0].Spec.Bytes() == 0 {
			continue
		}
		for _, v := range n.In {
			s := &a.storages[a.at[v].storage]
			if s.place == InSlot && !s.escapes && len(s.readers) == 1 && len(s.writers) == 1 && a.overWindow(n, v) {
				over[n] = v
				break
			}
		}
	}
	return over
}

// overWindow reports whether the result of n may be written over its operand v.
func (a *analysis) overWindow(n *ir.Node, v *ir.Value) bool {
	at := a.at[v]
	if !isWindow(v) || !a.whole(v.Def.In[0]) || !v.Spec.Equal(n.Out[0].Spec) || at.layout.Offset*v.Spec.DType.Size()%Align != 0 {
		return false
	}
	for _, u := range n.In {
		if u != v && a.at[u].storage == at.storage && !apart(u, v) {
			return false
		}
	}
	return true
}

// isWindow reports whether v is a slice of neighbours along one dimension.
func isWindow(v *ir.Value) bool {
	return v.Def != nil && v.Def.Op.Name == "narrow" && v.Def.Int("step") == 1
}

// apart reports whether two values are windows on one that have no element in
// common.
func apart(u, v *ir.Value) bool {
	if !isWindow(u) || !isWindow(v) || u.Def.In[0] != v.Def.In[0] {
		return false
	}
	axis, from := windowStart(u.Def)
	other, to := windowStart(v.Def)
	return axis == other && (from+u.Def.Int("length") <= to || to+v.Def.Int("length") <= from)
}

// windowStart is the dimension of a window and its first element there.
func windowStart(n *ir.Node) (axis, start int) {
	x := n.In[0].Spec
	if axis = n.Int("axis"); axis < 0 {
		axis += x.Rank()
	}
	if start = n.Int("start"); start < 0 {
		start += x.Shape[axis]
	}
	return axis, start
}

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
	rank := u.Spec.Rank()
	axis := func(n *ir.Node) int { return (n.Int("axis") + rank) % rank }
	from, to := u.Def.Int("start"), v.Def.Int("start")
	return axis(u.Def) == axis(v.Def) && (from+u.Def.Int("length") <= to || to+v.Def.Int("length") <= from)
}

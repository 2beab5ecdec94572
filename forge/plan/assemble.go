package plan

import (
	"slices"

	"forgekernel/forge/ir"
)

// assemble writes a chosen plan out.
func (a *analysis) assemble(c trial) *Plan {
	p := &Plan{
		Slots:   c.layout.slots,
		Policy:  c.policy,
		Packing: c.layout.packing,
		Planned: c.layout.planned,
		Lower:   c.live.peak,
	}
	for t, k := range c.live.order {
		step := Step{Node: a.kernels[k].node, Live: c.live.live[t]}
		if f := step.Node.Op.Scratch; f != nil {
			step.Scratch = f(step.Node)
		}
		p.Scratch = max(p.Scratch, step.Scratch)
		p.Steps = append(p.Steps, step)
	}
	p.Graph = a.reorder(c.live.order)
	w := writer{analysis: a, trial: c, ends: a.ends(c.live)}
	w.locateStorages()
	for v := range p.Graph.Values {
		p.Values = append(p.Values, w.value(v))
		if at := a.at[v]; at.writer != notWritten && !a.viewed(v) && a.storages[at.storage].place == InSlot {
			p.Naive += v.Spec.Bytes()
		}
	}
	return p
}

// reorder is the graph in execution order: constants and views of what is given
// come first, and other views directly after what they are views of.
func (a *analysis) reorder(order []int) *ir.Graph {
	g := &ir.Graph{Name: a.graph.Name, Inputs: a.graph.Inputs, Outputs: a.graph.Outputs}
	views := make([][]*ir.Node, len(a.kernels))
	kernels := make(map[*ir.Node]bool, len(a.kernels))
	for k := range a.kernels {
		kernels[a.kernels[k].node] = true
	}
	for _, n := range a.graph.Nodes {
		switch w := a.at[n.Out[0]].writer; {
		case kernels[n]:
		case w == notWritten:
			g.Nodes = append(g.Nodes, n)
		default:
			views[w] = append(views[w], n)
		}
	}
	for _, k := range order {
		g.Nodes = append(g.Nodes, a.kernels[k].node)
		g.Nodes = append(g.Nodes, views[k]...)
	}
	return g
}

// ends maps each value to the last step that reads it or a view of it, and each
// output to the last of all.
func (a *analysis) ends(l *liveness) map[*ir.Value]int {
	ends := make(map[*ir.Value]int)
	last := max(0, len(l.order)-1)
	for v := range a.graph.Values {
		if w := a.at[v].writer; w != notWritten {
			ends[v] = l.step[w]
		}
	}
	for k := range a.kernels {
		for _, v := range a.kernels[k].node.In {
			ends[v] = max(ends[v], l.step[k])
		}
	}
	for _, v := range a.graph.Outputs {
		ends[v] = last
	}
	for _, n := range slices.Backward(a.graph.Nodes) {
		for _, v := range n.Out {
			if a.viewed(v) {
				ends[n.In[0]] = max(ends[n.In[0]], ends[v])
			}
		}
	}
	return ends
}

// viewed reports whether v is a view.
func (a *analysis) viewed(v *ir.Value) bool {
	at := a.at[v]
	return a.storages[at.storage].root != v && at.donor == nil
}

// writer makes the entries of values.
type writer struct {
	*analysis
	trial trial
	ends  map[*ir.Value]int
	slot  []int // of each storage; -1 outside slots
	start []int64
	prior []int // the storage that each took over in place; -1 for none
}

func (w *writer) locateStorages() {
	w.slot, w.start, w.prior = make([]int, len(w.storages)), make([]int64, len(w.storages)), make([]int, len(w.storages))
	for s := range w.storages {
		w.slot[s], w.prior[s] = -1, -1
	}
	for i, b := range w.trial.live.buffers {
		for j, s := range b.storages {
			w.slot[s], w.start[s] = w.trial.layout.slot[i], w.trial.layout.offset[i]
			if j > 0 {
				w.prior[s] = b.storages[j-1]
			}
		}
	}
}

func (w *writer) value(v *ir.Value) Value {
	at := w.at[v]
	s := &w.storages[at.storage]
	size := int64(v.Spec.DType.Size())
	out := Value{
		Name: v.Name, Spec: v.Spec, Bytes: v.Spec.Bytes(),
		Place: s.place, Slot: w.slot[at.storage],
		Offset:  w.start[at.storage] + int64(at.layout.Offset)*size,
		Strides: at.layout.Strides, End: w.ends[v], Base: s.root.Name,
	}
	if at.writer != notWritten {
		out.Start = w.trial.live.step[at.writer]
	}
	switch {
	case w.viewed(v):
		out.ViewOf = v.Def.In[0].Name
	case at.donor != nil:
		out.Donated = at.donor.Name
	case w.prior[at.storage] >= 0:
		out.Donated = w.overwritten(v.Def, w.prior[at.storage]).Name
	}
	if out.Bytes == 0 { // also a view of nothing of a value
		out.Place, out.Slot, out.Offset = Nowhere, -1, 0
		return out
	}
	out.Copied = w.graph.IsOutput(v) && w.copied(v)
	return out
}

// overwritten is the operand that stands in a storage.
func (w *writer) overwritten(n *ir.Node, storage int) *ir.Value {
	i := slices.IndexFunc(n.In, func(v *ir.Value) bool { return w.at[v].storage == storage })
	return n.In[i]
}

// copied reports whether an output does not stand in storage of its own: it is
// given, or in a slot, or an output before it has the storage.
func (w *writer) copied(v *ir.Value) bool {
	at := w.at[v]
	switch w.storages[at.storage].place {
	case InOutput:
		first := slices.IndexFunc(w.graph.Outputs, func(u *ir.Value) bool { return w.at[u].storage == at.storage && w.whole(u) })
		return w.graph.Outputs[first] != v
	case InInput:
		return at.writer == notWritten
	case Nowhere:
		return false
	}
	return true
}

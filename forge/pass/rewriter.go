package pass

import (
	"fmt"
	"slices"
	"strconv"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// rewriter edits a graph node by node and knows at each moment who reads what.
// A node that nothing reads any more because of an edit disappears with it, and
// its source positions pass to the node that took over its work.
//
// Every operation takes time proportional to the operands that it touches, so
// that a pass of one sweep is linear.
type rewriter struct {
	*report
	g       *ir.Graph
	uses    map[*ir.Value]int        // operand positions that hold the value
	readers map[*ir.Value][]*ir.Node // may hold nodes that have stopped reading
	outputs map[*ir.Value]bool
	taken   map[*ir.Value]*ir.Node // storage that a node takes over, by its owner
	dead    map[*ir.Node]bool
	ahead   map[*ir.Node][]*ir.Node // new nodes to stand before the key
	names   map[string]int          // taken names; for a base, its next suffix
}

func newRewriter(g *ir.Graph, r *report) *rewriter {
	w := &rewriter{
		report: r, g: g,
		uses: make(map[*ir.Value]int), readers: make(map[*ir.Value][]*ir.Node), outputs: make(map[*ir.Value]bool), taken: takenStorage(g),
		dead: make(map[*ir.Node]bool), ahead: make(map[*ir.Node][]*ir.Node), names: make(map[string]int),
	}
	for v := range g.Values {
		w.names[v.Name] = 1
	}
	for _, n := range g.Nodes {
		w.reads(n)
	}
	for _, v := range g.Outputs {
		w.outputs[v] = true
	}
	return w
}

// takenStorage maps the owners of storage to the nodes that take it over.
func takenStorage(g *ir.Graph) map[*ir.Value]*ir.Node {
	taken := make(map[*ir.Value]*ir.Node)
	for _, n := range g.Nodes {
		if n.Op.Donates {
			taken[n.In[0].Owner()] = n
		}
	}
	return taken
}

// sweep calls visit for every live node in program order and puts the graph
// together again.
func (w *rewriter) sweep(visit func(n *ir.Node) error) error {
	for _, n := range w.g.Nodes {
		if w.dead[n] {
			continue
		}
		if err := visit(n); err != nil {
			return err
		}
	}
	nodes := make([]*ir.Node, 0, len(w.g.Nodes))
	for _, n := range w.g.Nodes {
		nodes = append(nodes, w.ahead[n]...) // of a dead node too: they have taken over
		if !w.dead[n] {
			nodes = append(nodes, n)
		}
	}
	w.g.Nodes = slices.DeleteFunc(nodes, func(n *ir.Node) bool { return w.dead[n] })
	return nil
}

// reads notes the operands of n.
func (w *rewriter) reads(n *ir.Node) {
	for _, v := range n.In {
		w.uses[v]++
		if list := w.readers[v]; len(list) == 0 || list[len(list)-1] != n {
			w.readers[v] = append(list, n)
		}
	}
}

// maxBlockers is the number of blocking values that a decision names.
const maxBlockers = 4

// others are results of nodes outside a pattern that read v, the first few.
func (w *rewriter) others(v *ir.Value, pattern ...*ir.Node) []*ir.Value {
	var list []*ir.Value
	for _, m := range w.readers[v] {
		if !slices.Contains(pattern, m) && !w.dead[m] && slices.Contains(m.In, v) {
			list = addOnce(list, m.Out[0])
		}
	}
	return list
}

// private checks that only the given nodes, those of a pattern, read v, and
// otherwise says why a rewrite cannot absorb it, with the values that block it.
func (w *rewriter) private(v *ir.Value, pattern ...*ir.Node) (reason string, blockers []*ir.Value) {
	if w.outputs[v] {
		return v.String() + " is an output of the program", []*ir.Value{v}
	}
	inside := 0
	for _, n := range pattern {
		for _, u := range n.In {
			if u == v {
				inside++
			}
		}
	}
	if inside == w.uses[v] {
		return "", nil
	}
	return v.String() + " has another consumer", w.others(v, pattern...)
}

// later says why a pattern cannot read its operands where it ends: the storage
// of one may have been taken by then.
func (w *rewriter) later(operands ...*ir.Value) (reason string, blockers []*ir.Value) {
	for _, v := range operands {
		if by := w.taken[v.Owner()]; by != nil {
			return fmt.Sprintf("%s takes the storage of %v, which must be read before", siteName(by.Out[0]), v), []*ir.Value{v}
		}
	}
	return "", nil
}

// insert adds a node with one result before the node at. The result is named
// after base.
func (w *rewriter) insert(at *ir.Node, base, name string, attrs ir.Attrs, in ...*ir.Value) (*ir.Value, error) {
	o, err := op.Registry.Lookup(name)
	if err != nil {
		return nil, err
	}
	n, err := ir.NewNode(o, attrs, in...)
	if err != nil {
		return nil, err
	}
	for _, v := range n.Out {
		v.Name = w.fresh(base)
	}
	n.Pos = slices.Clone(at.Pos)
	w.ahead[at] = append(w.ahead[at], n)
	w.reads(n)
	return n.Out[0], nil
}

// constant adds a constant before the node at, on the device of its result.
func (w *rewriter) constant(at *ir.Node, base string, t *tensor.Tensor) (*ir.Value, error) {
	return w.insert(at, base, "const", constantAttrs(t, at.Out[0].Spec.Device))
}

// fresh is a name that no value has.
func (w *rewriter) fresh(base string) string {
	name := base
	for w.names[name] > 0 {
		name = base + "_" + strconv.Itoa(w.names[base])
		w.names[base]++
	}
	w.names[name] = 1
	return name
}

// become turns n into another operator with the same result.
func (w *rewriter) become(n *ir.Node, name string, attrs ir.Attrs, in ...*ir.Value) error {
	o, err := op.Registry.Lookup(name)
	if err != nil {
		return err
	}
	m, err := ir.NewNode(o, attrs, in...)
	if err != nil {
		return err
	}
	old, owners := n.In, make([]*ir.Value, len(n.Out))
	for i, v := range n.Out {
		owners[i] = v.Owner()
	}
	n.Op, n.Attrs, n.Body = m.Op, m.Attrs, nil
	n.In = m.In
	for i, v := range n.Out {
		w.moved(owners[i], v.Owner())
	}
	w.reads(n)
	w.release(n, old)
	return nil
}

// moved notes that a value lies in other storage now: what takes the former may
// take this instead.
func (w *rewriter) moved(from, to *ir.Value) {
	if by := w.taken[from]; by != nil {
		w.taken[to] = by
	}
}

// replace lets v stand for the result of n, which disappears.
func (w *rewriter) replace(n *ir.Node, v *ir.Value) {
	old, heir := n.Out[0], v.Def
	w.moved(old.Owner(), v.Owner())
	for _, m := range w.readers[old] {
		if w.dead[m] {
			continue
		}
		for i, u := range m.In {
			if u != old {
				continue
			}
			if heir == nil { // an input has no positions to add to
				heir = m
			}
			m.In[i] = v
			w.uses[v]++
			if list := w.readers[v]; len(list) == 0 || list[len(list)-1] != m {
				w.readers[v] = append(list, m)
			}
		}
	}
	delete(w.readers, old)
	w.uses[old] = 0
	if w.outputs[old] {
		delete(w.outputs, old)
		w.outputs[v] = true
		redirect(w.g.Outputs, map[*ir.Value]*ir.Value{old: v})
	}
	w.dead[n] = true
	if heir != nil {
		heir.Pos = mergePos(heir.Pos, n.Pos)
	}
	w.release(heir, n.In)
}

// release gives up operands on behalf of a node. What nothing reads any more
// dies, and heir takes over its positions.
func (w *rewriter) release(heir *ir.Node, operands []*ir.Value) {
	for _, v := range operands {
		w.uses[v]--
		d := v.Def
		if d == nil || w.dead[d] || !w.unread(d) {
			continue
		}
		w.dead[d] = true
		if heir != nil {
			heir.Pos = mergePos(heir.Pos, d.Pos)
		}
		w.release(heir, d.In)
	}
}

func (w *rewriter) unread(n *ir.Node) bool {
	return !n.Op.Effect && !slices.ContainsFunc(n.Out, func(v *ir.Value) bool { return w.uses[v] > 0 || w.outputs[v] })
}

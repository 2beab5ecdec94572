package pass

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
)

var viewRule = Rule{"move-view", true, "an elementwise operator computes the same elements before and after they change places"}

// maxHoist bounds the chain that a view is moved across, which keeps the pass
// linear.
const maxHoist = 64

// moveViews takes reshapes and transposes out of chains of elementwise nodes,
// which can then be one kernel. A view moves up, in front of the chain, when
// nothing in it stands in the way, or else down behind its consumer.
func moveViews(g *ir.Graph, r *report) error {
	m := &viewMover{newRewriter(g, r)}
	return m.sweep(func(n *ir.Node) error {
		if !movable(n) || !isElementwise(n.In[0].Def) {
			return nil
		}
		return m.move(n)
	})
}

type viewMover struct{ *rewriter }

func movable(n *ir.Node) bool { return n.Op.Name == "reshape" || n.Op.Name == "transpose" }

func isElementwise(n *ir.Node) bool { return n != nil && n.Op.Class == ir.Elementwise }

// move moves the view n, which reads an elementwise node.
func (m *viewMover) move(n *ir.Node) error {
	v := n.Out[0]
	reader := m.elementwiseReader(v)
	if reader == nil {
		return nil // no chain goes on behind it
	}
	if m.outputs[v] {
		m.declined(&viewRule, v, "it is an output of the program", v)
		return nil
	}
	chain, reason, blockers := m.chain(n)
	if reason == "" {
		return m.hoist(n, chain)
	}
	operands, why, more := m.sinkable(n, reader)
	if why == "" {
		return m.sink(n, reader, operands)
	}
	m.declined(&viewRule, v, fmt.Sprintf("it cannot move up: %s; nor down: %s", reason, why), append(blockers, more...)...)
	return nil
}

// elementwiseReader is the first elementwise node that reads v; nil when there
// is none.
func (m *viewMover) elementwiseReader(v *ir.Value) *ir.Node {
	for _, u := range m.readers[v] {
		if !m.dead[u] && isElementwise(u) && slices.Contains(u.In, v) {
			return u
		}
	}
	return nil
}

// chain lists the elementwise nodes above the view n, the nearest first, and
// says what keeps the view from moving in front of them.
func (m *viewMover) chain(n *ir.Node) (chain []*ir.Node, reason string, blockers []*ir.Value) {
	reader := n
	for v := n.In[0]; isElementwise(v.Def); v = m.full(v.Def)[0] {
		if reason, blockers = m.private(v, reader); reason != "" {
			return nil, reason, blockers
		}
		full := m.full(v.Def)
		switch {
		case len(chain) == maxHoist:
			return nil, fmt.Sprintf("the chain above it is longer than %d nodes", maxHoist), nil
		case len(full) != 1:
			return nil, fmt.Sprintf("%s does not read exactly one tensor of its own shape", siteName(v)), full
		}
		if reason, blockers = m.later(v.Def.In...); reason != "" {
			return nil, reason, blockers
		}
		chain = append(chain, v.Def)
		reader = v.Def
	}
	return chain, "", nil
}

// full lists the operands of an elementwise node that are not single numbers,
// without repetition. One with another shape than the result makes the list
// useless, and it is returned twice.
func (m *viewMover) full(n *ir.Node) []*ir.Value {
	var list []*ir.Value
	for _, v := range n.In {
		switch {
		case v.Spec.Rank() == 0:
		case !slices.Equal(v.Spec.Shape, n.Out[0].Spec.Shape):
			return []*ir.Value{v, v}
		default:
			if !slices.Contains(list, v) {
				list = append(list, v)
			}
		}
	}
	return list
}

// hoist moves the view n in front of the chain: the view of each node becomes
// the node of a view.
func (m *viewMover) hoist(n *ir.Node, chain []*ir.Node) error {
	var moved []*ir.Value
	for _, e := range chain {
		moved = append(moved, e.Out[0])
	}
	m.applied(&viewRule, n.Out[0], "moved up, in front of elementwise nodes that its consumer can now join", moved...)
	last := chain[len(chain)-1]
	v, err := m.insert(n, n.Op.Name, n.Op.Name, n.Attrs, m.full(last)[0])
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(chain) {
		operands := substitute(e.In, m.full(e)[0], v)
		if e == chain[0] {
			return m.become(n, e.Op.Name, e.Attrs, operands...)
		}
		if v, err = m.insert(n, e.Op.Name, e.Op.Name, e.Attrs, operands...); err != nil {
			return err
		}
		v.Def.Pos = slices.Clone(e.Pos)
	}
	return nil
}

func substitute(list []*ir.Value, old, v *ir.Value) []*ir.Value {
	list = slices.Clone(list)
	redirect(list, map[*ir.Value]*ir.Value{old: v})
	return list
}

// sinkable returns the operands that reader has in front of the view n, and
// says what keeps the view from moving behind it: all operands that are not
// single numbers must be the same kind of view of values of one shape.
func (m *viewMover) sinkable(n, reader *ir.Node) (operands []*ir.Value, reason string, blockers []*ir.Value) {
	if n.Out[0].Spec.Rank() == 0 { // as an operand it would be taken for a number that needs no view
		return nil, "its result is a single number", n.Out
	}
	for _, v := range reader.In {
		if v.Spec.Rank() == 0 {
			operands = append(operands, v)
			continue
		}
		d := v.Def
		switch {
		case d == nil || d.Op != n.Op || !d.Attrs.Equal(n.Attrs) || !slices.Equal(d.In[0].Spec.Shape, n.In[0].Spec.Shape):
			return nil, fmt.Sprintf("its consumer %s also reads %v, which is not moved alike", siteName(reader.Out[0]), v), []*ir.Value{v}
		}
		if reason, blockers = m.private(v, reader); reason != "" {
			return nil, reason, blockers
		}
		operands = append(operands, d.In[0])
	}
	if m.outputs[reader.Out[0]] {
		return nil, "its consumer " + reader.Out[0].String() + " is an output of the program", reader.Out
	}
	reason, blockers = m.later(operands...)
	return operands, reason, blockers
}

// sink moves the view n behind its consumer.
func (m *viewMover) sink(n, reader *ir.Node, operands []*ir.Value) error {
	m.applied(&viewRule, n.Out[0], "moved down, behind an elementwise node that its operand can now join", reader.Out[0])
	v, err := m.insert(reader, reader.Op.Name, reader.Op.Name, reader.Attrs, operands...)
	if err != nil {
		return err
	}
	attrs := n.Attrs
	if n.Op.Name == "reshape" {
		attrs = ir.Attrs{"shape": reader.Out[0].Spec.Shape}
	}
	return m.become(reader, n.Op.Name, attrs, v)
}

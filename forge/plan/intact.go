package plan

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
)

// memory is the part of [Verify] that runs the plan on intervals instead of
// numbers: which values are intact, and where.
type memory struct {
	*checker
	intact map[*ir.Value]bool
	// held are the intact values that kernels wrote, views excluded, by the memory
	// that they stand in.
	held map[region][]*ir.Value
}

// region is a piece of memory that values of no other have bytes in: a slot, or
// the storage of an input or an output.
type region struct {
	place Place
	slot  int
	base  string // empty for a slot
}

func (e *Value) region() region {
	if e.Place == InSlot {
		return region{place: InSlot, slot: e.Slot}
	}
	return region{place: e.Place, base: e.Base}
}

// checkReads runs the plan: a write destroys every value that has a byte in it,
// and all views of that value.
func (c *checker) checkReads() error {
	m := &memory{checker: c, intact: make(map[*ir.Value]bool), held: make(map[region][]*ir.Value)}
	for _, v := range c.plan.Graph.Inputs {
		m.intact[v] = true
	}
	for _, n := range c.plan.Graph.Nodes {
		for _, v := range n.In {
			if !m.isIntact(v) {
				return fmt.Errorf("%v = %s reads %v, which is overwritten", n.Out[0], n.Op.Name, v)
			}
		}
		for i, v := range n.Out {
			m.intact[v] = true
			if !c.isStep(n) {
				continue
			}
			if err := m.write(n, i); err != nil {
				return fmt.Errorf("%v = %s: %w", v, n.Op.Name, err)
			}
		}
	}
	for _, v := range c.plan.Graph.Outputs {
		if !m.isIntact(v) {
			return fmt.Errorf("the output %v is overwritten", v)
		}
	}
	return nil
}

// isIntact reports whether v and all that it is a view of are intact.
func (m *memory) isIntact(v *ir.Value) bool {
	for m.intact[v] && m.of(v).ViewOf != "" {
		v = v.Def.In[0]
	}
	return m.intact[v]
}

// write puts result i of a kernel in its place.
func (m *memory) write(n *ir.Node, i int) error {
	v := n.Out[i]
	e := m.of(v)
	taken, err := m.takenOver(n, i)
	if err != nil {
		return err
	}
	at := e.region()
	var kept []*ir.Value
	for _, u := range append(slices.Clone(m.held[at]), m.given(n, taken)...) {
		if u == v || !share(m.of(u), e) {
			kept = append(kept, u)
			continue
		}
		if slices.Contains(n.Out, u) {
			return fmt.Errorf("it is written over %v", u)
		}
		if m.readBy(n, u) && (taken == nil || u != m.base(taken)) {
			return fmt.Errorf("it is written over the operand %v", u)
		}
		m.intact[u] = false
	}
	m.held[at] = append(kept, v)
	return nil
}

// given is the input whose storage a result takes over, if it is one.
func (m *memory) given(n *ir.Node, taken *ir.Value) []*ir.Value {
	if taken == nil || m.base(taken).Def != nil {
		return nil
	}
	return []*ir.Value{m.base(taken)}
}

// base is the value that a kernel wrote, or an input, of which v is a view.
func (m *memory) base(v *ir.Value) *ir.Value {
	for m.of(v).ViewOf != "" {
		v = v.Def.In[0]
	}
	return v
}

func (m *memory) readBy(n *ir.Node, base *ir.Value) bool {
	return slices.ContainsFunc(n.In, func(v *ir.Value) bool { return m.base(v) == base })
}

// share reports whether two values have bytes in common.
func share(x, y *Value) bool {
	if x.region() != y.region() || x.Bytes == 0 || y.Bytes == 0 {
		return false
	}
	return x.Place != InSlot || x.meets(y)
}

// takenOver is the operand whose storage result i takes over, nil for none. A
// declared donation may, whatever the kernel reads. An elementwise kernel may,
// if it reads the storage only element by element in the order of the result.
func (m *memory) takenOver(n *ir.Node, i int) (*ir.Value, error) {
	e := m.of(n.Out[i])
	if e.Donated == "" {
		if e.Base != e.Name {
			return nil, fmt.Errorf("it stands in the storage of %%%s without a donation", e.Base)
		}
		return nil, nil
	}
	from, err := m.named(e.Donated)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(n.In, func(v *ir.Value) bool { return v.Name == e.Donated })
	switch {
	case at < 0:
		return nil, fmt.Errorf("%%%s is no operand to take over", e.Donated)
	case from.Place == InConstant:
		return nil, fmt.Errorf("it takes over the constant %%%s", e.Donated)
	case from.Place != e.Place || from.Slot != e.Slot || from.Offset != e.Offset || !from.Spec.Equal(e.Spec) || !sameStrides(from.Strides, e.Strides, e.Spec.Shape):
		return nil, fmt.Errorf("it does not stand where %%%s stands", e.Donated)
	case n.Op.Donates && at == 0 && e.layout().Contiguous(e.Spec.Shape):
		return n.In[at], nil
	case n.Op.Class != ir.Elementwise && n.Op.Class != ir.Fused || len(n.Out) > 1:
		return nil, fmt.Errorf("it cannot be computed in place of %%%s", e.Donated)
	}
	if !e.layout().Contiguous(e.Spec.Shape) && (!isWindow(n.In[at]) || !m.of(n.In[at].Def.In[0]).layout().Contiguous(n.In[at].Def.In[0].Spec.Shape)) {
		return nil, fmt.Errorf("%%%s is neither dense nor a window on a value that is", e.Donated)
	}
	for _, v := range n.In {
		same := v.Spec.Equal(e.Spec) && m.of(v).Offset == e.Offset && sameStrides(m.of(v).Strides, e.Strides, e.Spec.Shape)
		if m.base(v) == m.base(n.In[at]) && !same && !apart(v, n.In[at]) {
			return nil, fmt.Errorf("the kernel also reads %v, another view of what it overwrites", v)
		}
	}
	return n.In[at], nil
}

// checkTotals adds everything up again.
func (c *checker) checkTotals() error {
	p := c.plan
	var planned, naive, scratch int64
	for _, s := range p.Slots {
		planned += s.Bytes
	}
	live := c.live()
	for t, s := range p.Steps {
		scratch = max(scratch, s.Scratch)
		for _, v := range s.Node.Out {
			if c.of(v).Place == InSlot {
				naive += v.Spec.Bytes()
			}
		}
		if live[t] != s.Live {
			return fmt.Errorf("%d bytes are live in step %d, not %d", live[t], t, s.Live)
		}
	}
	var lower int64
	if len(live) > 0 {
		lower = slices.Max(live)
	}
	switch {
	case p.Planned != planned:
		return fmt.Errorf("the slots have %d bytes, not %d", planned, p.Planned)
	case p.Naive != naive:
		return fmt.Errorf("intermediate values have %d bytes, not %d", naive, p.Naive)
	case p.Scratch != scratch:
		return fmt.Errorf("kernels need %d bytes beside the slots, not %d", scratch, p.Scratch)
	case p.Lower != lower:
		return fmt.Errorf("at most %d bytes are live, not %d", lower, p.Lower)
	case p.Planned < p.Lower || p.Lower < p.Bound:
		return fmt.Errorf("planned %d, lower bound %d and bound of all schedules %d are out of order", p.Planned, p.Lower, p.Bound)
	}
	return nil
}

// live adds up, for each step, the storage of the values in slots that live: of
// one that was written over a window, that of the wider value. In the step in which
// one takes over the storage of another, they count once.
func (c *checker) live() []int64 {
	change := make([]int64, len(c.plan.Steps)+1)
	for i := range c.plan.Values {
		e := &c.plan.Values[i]
		if e.Place != InSlot || e.ViewOf != "" {
			continue
		}
		start := e.Start
		if e.Donated != "" {
			start++
		}
		bytes := e.Bytes
		if base, err := c.named(e.Base); err == nil {
			bytes = base.Bytes
		}
		if start <= e.End {
			change[start] += bytes
			change[e.End+1] -= bytes
		}
	}
	var sum int64
	for t, d := range change {
		sum += d
		change[t] = sum
	}
	return change[:len(c.plan.Steps)]
}

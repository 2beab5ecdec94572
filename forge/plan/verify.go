package plan

import (
	"errors"
	"fmt"
	"slices"

	"forgekernel/forge/ir"
)

// Verify proves that a plan is right, from the plan alone: it trusts nothing
// that [New] found out on the way. It checks that the order respects the
// dependences of the program; that values stand inside their slots, aligned, in
// slots of their type, and views inside what they are views of; that no two
// values share bytes while both live, but for donations, which must be allowed;
// that every kernel finds its operands intact when it runs, and the end of the
// program its outputs; and that the totals add up.
func Verify(p *Plan) error {
	if err := ir.Verify(p.Graph); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	c := &checker{plan: p, index: make(map[*ir.Value]int), step: make(map[*ir.Node]int)}
	for _, check := range []func() error{c.checkSteps, c.checkPlaces, c.checkLives, c.checkReads, c.checkTotals} {
		if err := check(); err != nil {
			return fmt.Errorf("plan of %s: %w", p.Graph.Name, err)
		}
	}
	return nil
}

type checker struct {
	plan  *Plan
	index map[*ir.Value]int // in plan.Values
	step  map[*ir.Node]int
	names map[string]int
}

func (c *checker) of(v *ir.Value) *Value { return &c.plan.Values[c.index[v]] }

// named returns the entry of a value by name.
func (c *checker) named(name string) (*Value, error) {
	i, ok := c.names[name]
	if !ok {
		return nil, fmt.Errorf("there is no value %%%s", name)
	}
	return &c.plan.Values[i], nil
}

// checkSteps compares steps and values with the graph.
func (c *checker) checkSteps() error {
	c.names = make(map[string]int)
	i := 0
	for v := range c.plan.Graph.Values {
		if i >= len(c.plan.Values) || c.plan.Values[i].Name != v.Name || !c.plan.Values[i].Spec.Equal(v.Spec) || c.plan.Values[i].Bytes != v.Spec.Bytes() {
			return fmt.Errorf("entry %d is not that of %v: %v", i, v, v.Spec)
		}
		c.index[v], c.names[v.Name] = i, i
		i++
	}
	if i != len(c.plan.Values) {
		return fmt.Errorf("there are entries of %d values, not %d", len(c.plan.Values), i)
	}
	t := 0
	for _, n := range c.plan.Graph.Nodes {
		if n.Op.Class == ir.Constant || c.of(n.Out[0]).ViewOf != "" {
			continue
		}
		if t >= len(c.plan.Steps) || c.plan.Steps[t].Node != n {
			return fmt.Errorf("step %d is not %v = %s", t, n.Out[0], n.Op.Name)
		}
		c.step[n] = t
		t++
	}
	if t != len(c.plan.Steps) {
		return fmt.Errorf("there are %d steps for %d kernels", len(c.plan.Steps), t)
	}
	return nil
}

// checkPlaces checks where each value stands.
func (c *checker) checkPlaces() error {
	for v := range c.plan.Graph.Values {
		if err := c.checkPlace(v, c.of(v)); err != nil {
			return fmt.Errorf("%v: %w", v, err)
		}
	}
	return nil
}

func (c *checker) checkPlace(v *ir.Value, e *Value) error {
	if (e.Place == Nowhere) != (e.Bytes == 0) || (e.Slot >= 0) != (e.Place == InSlot) || len(e.Strides) != e.Spec.Rank() {
		return fmt.Errorf("%d bytes cannot stand in place %q, slot %d", e.Bytes, e.Place, e.Slot)
	}
	if e.Place == InSlot {
		switch {
		case e.Slot >= len(c.plan.Slots):
			return fmt.Errorf("there is no slot %d", e.Slot)
		case c.plan.Slots[e.Slot].DType != e.Spec.DType || c.plan.Slots[e.Slot].Device != e.Spec.Device:
			return fmt.Errorf("%v cannot stand in slot %d of type %v on %v", e.Spec, e.Slot, c.plan.Slots[e.Slot].DType, c.plan.Slots[e.Slot].Device)
		case !e.inside(c.plan.Slots[e.Slot].Bytes):
			return fmt.Errorf("it reaches beyond the %d bytes of slot %d", c.plan.Slots[e.Slot].Bytes, e.Slot)
		}
	}
	switch {
	case e.ViewOf != "":
		return c.checkView(v, e)
	case e.Donated == "" && !e.layout().Contiguous(e.Spec.Shape):
		return errors.New("a result that is not a view has to be dense")
	case e.Offset%Align != 0:
		return fmt.Errorf("offset %d is not a multiple of %d", e.Offset, Align)
	case v.Def != nil && v.Def.Op.Class != ir.Constant && !c.isStep(v.Def):
		return errors.New("no step computes it, and it is not a view")
	case v.Def == nil && e.Place != InInput && e.Place != Nowhere:
		return fmt.Errorf("an input stands in place %q", e.Place)
	case v.Def != nil && (v.Def.Op.Class == ir.Constant) != (e.Place == InConstant) && e.Place != Nowhere:
		return fmt.Errorf("the result of %s stands in place %q", v.Def.Op.Name, e.Place)
	}
	return nil
}

func (c *checker) isStep(n *ir.Node) bool {
	_, ok := c.step[n]
	return ok
}

// extent is where the bytes begin and end between which the elements stand.
func (e *Value) extent() (from, to int64) {
	first, last := span(e.Strides, e.Spec.Shape)
	size := int64(e.Spec.DType.Size())
	return e.Offset + int64(first)*size, e.Offset + int64(last+1)*size
}

// meets reports whether the extents of two values of one storage overlap.
func (e *Value) meets(other *Value) bool {
	from, to := e.extent()
	start, end := other.extent()
	return start < to && from < end
}

// layout is where the elements stand, counted from the first.
func (e *Value) layout() ir.Layout { return ir.Layout{Strides: e.Strides} }

// inside reports whether all elements stand in memory of the given size.
func (e *Value) inside(bytes int64) bool {
	from, to := e.extent()
	return from >= 0 && to <= bytes
}

// checkView recomputes where a view stands from where its operand does.
func (c *checker) checkView(v *ir.Value, e *Value) error {
	if v.Def == nil || !v.Def.Op.View || v.Def.In[0].Name != e.ViewOf {
		return fmt.Errorf("it cannot be a view of %%%s", e.ViewOf)
	}
	from := c.of(v.Def.In[0])
	layouts, ok := v.Def.Layouts(from.layout())
	if !ok {
		return fmt.Errorf("no strides make it a view of %%%s", e.ViewOf)
	}
	want := layouts[slices.Index(v.Def.Out, v)]
	size := int64(e.Spec.DType.Size())
	if e.Bytes > 0 && (e.Place != from.Place || e.Slot != from.Slot || e.Base != from.Base) {
		return fmt.Errorf("it stands elsewhere than %%%s, which it is a view of", e.ViewOf)
	}
	if e.Bytes > 0 && (e.Offset != from.Offset+int64(want.Offset)*size || !sameStrides(want.Strides, e.Strides, e.Spec.Shape)) {
		return fmt.Errorf("as a view of %%%s it stands at %d with strides %v", e.ViewOf, from.Offset+int64(want.Offset)*size, want.Strides)
	}
	if e.Bytes > 0 && from.Bytes == 0 {
		return errors.New("it is a view of nothing")
	}
	return nil
}

// checkLives checks that lives are what the order of steps makes them, and that
// values that live at the same time share no bytes.
func (c *checker) checkLives() error {
	last := max(0, len(c.plan.Steps)-1)
	for v := range c.plan.Graph.Values {
		e := c.of(v)
		if v.Def != nil && v.Def.Op.Class != ir.Constant {
			born, ok := c.step[v.Def]
			if !ok { // a view is born with its operand
				born = c.of(v.Def.In[0]).Start
			}
			if e.Start != born {
				return fmt.Errorf("%v lives from step %d, but is produced in %d", v, e.Start, born)
			}
		}
		if e.End < e.Start || e.End > last || c.plan.Graph.IsOutput(v) && e.End != last {
			return fmt.Errorf("%v cannot live from step %d to %d of %d", v, e.Start, e.End, last)
		}
	}
	for _, n := range c.plan.Graph.Nodes {
		for _, v := range n.In {
			if t, ok := c.step[n]; ok && c.of(v).End < t {
				return fmt.Errorf("%v is read in step %d, after its life", v, t)
			} else if !ok && c.of(v).End < c.of(n.Out[0]).End {
				return fmt.Errorf("%v dies before its view %v", v, n.Out[0])
			}
		}
	}
	return c.checkOverlaps()
}

// checkOverlaps compares all values of a slot that live together.
func (c *checker) checkOverlaps() error {
	tenants := make(map[int][]*Value) // of each slot
	for t := range c.plan.Steps {
		for _, v := range c.plan.Steps[t].Node.Out {
			e := c.of(v)
			if e.Place != InSlot {
				continue
			}
			live := slices.DeleteFunc(tenants[e.Slot], func(other *Value) bool { return other.End < t })
			for _, other := range live {
				if !e.meets(other) {
					continue
				}
				if e.Donated == "" || other.End != t {
					return fmt.Errorf("%%%s and %%%s share bytes of slot %d in step %d", other.Name, e.Name, e.Slot, t)
				}
			}
			tenants[e.Slot] = append(live, e)
		}
	}
	return nil
}

package plan

import (
	"context"
	"fmt"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// poison fills memory without a living value. These bytes are a NaN
// in every floating-point type, and no bool.
const poison = 0xff

// Simulate runs a plan in memory that is laid out as it says, with the
// operators' own evaluation. Memory is poisoned before it is first written and
// again after the last step at which a value in it lives, so that a plan that is
// wrong gives wrong results. It is slow, and meant for tests of plans.
func Simulate(ctx context.Context, p *Plan, inputs ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	if err := backend.CheckInputs(p.Graph, inputs); err != nil {
		return nil, err
	}
	m := newArena(p)
	for i, v := range p.Graph.Inputs {
		m.store(v, inputs[i])
	}
	step := 0
	for _, n := range p.Graph.Nodes {
		switch e := m.entry[n.Out[0]]; {
		case n.Op.Class == ir.Constant:
			m.store(n.Out[0], n.Tensor("value"))
		case e.ViewOf == "":
			if err := m.run(ctx, n); err != nil {
				return nil, fmt.Errorf("%v = %s: %w", n.Out[0], n.Op.Name, err)
			}
			m.retire(step)
			step++
		}
	}
	var outs []*tensor.Tensor
	for _, v := range p.Graph.Outputs {
		t, err := m.load(v)
		if err != nil {
			return nil, err
		}
		outs = append(outs, t)
	}
	return outs, nil
}

// arena is the memory of one run: the slots, and a piece for each value that
// stands elsewhere.
type arena struct {
	plan  *Plan
	entry map[*ir.Value]*Value
	slots [][]byte
	other map[string][]byte // by the name of the value that it was made for
}

func newArena(p *Plan) *arena {
	m := &arena{plan: p, entry: make(map[*ir.Value]*Value), other: make(map[string][]byte)}
	for _, s := range p.Slots {
		m.slots = append(m.slots, poisoned(s.Bytes))
	}
	i := 0
	for v := range p.Graph.Values {
		e := &p.Values[i]
		m.entry[v] = e
		if e.Place != InSlot && e.Base == e.Name {
			m.other[e.Name] = poisoned(e.Bytes)
		}
		i++
	}
	return m
}

func poisoned(n int64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = poison
	}
	return b
}

// storage is the slot that a value stands in, or the piece of memory that it was
// first written to.
func (m *arena) storage(e *Value) []byte {
	if e.Place == InSlot {
		return m.slots[e.Slot]
	}
	return m.other[e.Base]
}

// run evaluates a kernel on copies of its operands, and writes the results
// back.
func (m *arena) run(ctx context.Context, n *ir.Node) error {
	call := &ir.Call{Ctx: ctx, Node: n, Workers: 1}
	for _, v := range n.In {
		t, err := m.load(v)
		if err != nil {
			return err
		}
		call.In = append(call.In, t)
	}
	for _, v := range n.Out {
		t, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
		if err != nil {
			return err
		}
		call.Out = append(call.Out, t)
	}
	if err := n.Op.Eval(call); err != nil {
		return err
	}
	for i, v := range n.Out {
		m.store(v, call.Out[i])
	}
	return nil
}

// load reads a value through its strides.
func (m *arena) load(v *ir.Value) (*tensor.Tensor, error) {
	e := m.entry[v]
	raw := make([]byte, 0, e.Bytes)
	if e.Bytes > 0 {
		raw = gather(raw, m.storage(e), int(e.Offset), e.Spec.Shape, e.Strides, e.Spec.DType.Size())
	}
	t, err := tensor.Decode(e.Spec.DType, e.Spec.Shape, raw)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", v, err)
	}
	return t, nil
}

// gather appends the elements in row-major order; the first is at offset at.
// Strides may lead to either side of it.
func gather(dst, src []byte, at int, shape, strides []int, size int) []byte {
	if len(shape) == 0 {
		return append(dst, src[at:at+size]...)
	}
	for i := range shape[0] {
		dst = gather(dst, src, at+i*strides[0]*size, shape[1:], strides[1:], size)
	}
	return dst
}

// store writes a value that is not a view.
func (m *arena) store(v *ir.Value, t *tensor.Tensor) {
	if e := m.entry[v]; e.Bytes > 0 {
		scatter(m.storage(e), t.Encode(), int(e.Offset), e.Spec.Shape, e.Strides, e.Spec.DType.Size())
	}
}

// scatter is the inverse of gather, and returns what is left of src.
func scatter(dst, src []byte, at int, shape, strides []int, size int) []byte {
	if len(shape) == 0 {
		return src[copy(dst[at:at+size], src):]
	}
	for i := range shape[0] {
		src = scatter(dst, src, at+i*strides[0]*size, shape[1:], strides[1:], size)
	}
	return src
}

// retire poisons what lived to a step and no longer. A value that was taken over
// has handed its memory on.
func (m *arena) retire(step int) {
	if step == len(m.plan.Steps)-1 {
		return // outputs are still to be read
	}
	for i := range m.plan.Values {
		e := &m.plan.Values[i]
		if e.Place == InSlot && e.ViewOf == "" && e.End == step && !m.handedOn(e, step) {
			from, to := e.extent()
			copy(m.storage(e)[from:to], poisoned(to-from))
		}
	}
}

// handedOn reports whether a result of the step stands where e stood.
func (m *arena) handedOn(e *Value, step int) bool {
	for _, v := range m.plan.Steps[step].Node.Out {
		next := m.entry[v]
		if next.Donated != "" && next.Name != e.Name && next.Slot == e.Slot && (next.Offset == e.Offset || next.Base == e.Base) {
			return true
		}
	}
	return false
}

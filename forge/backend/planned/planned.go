// Package planned is what backends that follow a memory plan have in common: a
// graph whose values have places, the memory of one run, and the evaluation of
// single nodes by their operators between the kernels of a backend.
//
// A [Program] is made once for a graph. It numbers the pieces of memory that a
// run touches, the [Buffer] list, and gives each value a [Place] in one of them.
// A [Frame] is the memory of one run, part of it the caller's inputs and outputs
// ([Program.Fill]). Outputs that a run does not write where the caller wants them are
// copied there ([Program.Copied]).
//
// Constants are the tensors of the graph, which nobody changes and all programs share.
// A matrix is packed once for all programs of the process that read the same storage in
// the same order, and its packed form goes with the last of them ([Packed]).
package planned

import (
	"errors"
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/plan"
	"forgekernel/forge/tensor"
)

// Program is a graph with its memory.
type Program struct {
	Graph   *ir.Graph // in the order of the plan
	Plan    *plan.Plan
	Buffers []Buffer
	// Copied are the outputs, by index, that are not all of a buffer which a run
	// writes, and so are to be copied at its end. Those without elements need nothing.
	Copied []int
	// Workers is the number of goroutines of [Program.Evaluate]; 0 means one per
	// core.
	Workers int
	entries map[*ir.Value]*plan.Value
	indexOf map[string]int // of the buffer of a value outside the slots, by the value's name
}

// Buffer is one piece of memory. One field says what it is.
type Buffer struct {
	Slot     int            // index of the slot; -1 for none
	Input    int            // index of the input; -1 for none
	Constant *tensor.Tensor // memory that no run writes
	Packed   *pack          // the elements of a constant in an order of the backend's own
	Scratch  int64          // bytes that the kernels of one node share
	Output   *ir.Value      // all of it is this value
	// Updated says that a kernel writes into an input, so that the run needs a
	// copy of it.
	Updated bool
	Result  int // index of the output that is all of what a run writes here; -1 for none
}

// written is the size of what a run writes into a buffer outside the slots, which
// is all of it.
func (b *Buffer) written(g *ir.Graph) int64 {
	switch {
	case b.Output != nil:
		return b.Output.Spec.Bytes()
	case b.Updated:
		return g.Inputs[b.Input].Spec.Bytes()
	}
	return 0
}

// Place is where a value begins; buffer -1 is no memory at all.
type Place struct {
	Buffer int
	Offset int64 // in bytes
}

// New verifies and plans a graph, of which it keeps a copy. Intermediate values
// of a run may need maxBytes.
func New(g *ir.Graph, maxBytes int64) (*Program, error) {
	if err := ir.Verify(g); err != nil {
		return nil, err
	}
	laid, err := plan.New(g.Clone(), plan.Options{})
	if err != nil {
		return nil, err
	}
	if laid.Planned > maxBytes {
		return nil, fmt.Errorf("%s needs %d MiB for its intermediate values; the limit is %d MiB", g.Name, laid.Planned>>20, maxBytes>>20)
	}
	p := &Program{Graph: laid.Graph, Plan: laid, entries: make(map[*ir.Value]*plan.Value), indexOf: make(map[string]int)}
	if err := p.placeValues(); err != nil {
		return nil, err
	}
	p.placeResults()
	return p, nil
}

// none is a buffer that is nothing yet.
var none = Buffer{Slot: -1, Input: -1, Result: -1}

// placeValues makes a buffer of each slot and of each storage outside them.
func (p *Program) placeValues() error {
	for i := range p.Plan.Slots {
		p.Buffers = append(p.Buffers, Buffer{Slot: i, Input: -1, Result: -1})
	}
	inputs := make(map[*ir.Value]int)
	for i, v := range p.Graph.Inputs {
		inputs[v] = i
	}
	i := 0
	for v := range p.Graph.Values {
		e := &p.Plan.Values[i]
		i++
		p.entries[v] = e
		switch {
		case e.Donated != "" && e.Place == plan.InInput:
			p.Buffers[p.indexOf[e.Base]].Updated = true
		case e.Place == plan.InSlot || e.Place == plan.Nowhere || e.Base != e.Name:
		default:
			buf := none
			switch e.Place {
			case plan.InInput:
				buf.Input = inputs[v]
			case plan.InConstant:
				buf.Constant = v.Def.Tensor("value")
			case plan.InOutput:
				buf.Output = v
			default:
				return fmt.Errorf("%v stands in %q, which is not a place in a program", v, e.Place)
			}
			p.indexOf[e.Name] = len(p.Buffers)
			p.Buffers = append(p.Buffers, buf)
		}
	}
	return nil
}

// placeResults finds the outputs that are all of a buffer which a run writes, and
// can so be written where the caller wants them.
func (p *Program) placeResults() {
	for i, v := range p.Graph.Outputs {
		at := p.Place(v)
		if at.Buffer < 0 || v.Spec.Elements() == 0 {
			continue
		}
		b := &p.Buffers[at.Buffer]
		layout := ir.Layout{Strides: p.Strides(v)}
		if b.Result < 0 && b.written(p.Graph) == v.Spec.Bytes() && layout.Contiguous(v.Spec.Shape) {
			b.Result = i
		} else {
			p.Copied = append(p.Copied, i)
		}
	}
}

// AddOutput adds the buffer of an output that a kernel copies.
func (p *Program) AddOutput(i int) Place {
	b := none
	b.Output, b.Result = p.Graph.Outputs[i], i
	return p.add(b)
}

func (p *Program) add(b Buffer) Place {
	p.Buffers = append(p.Buffers, b)
	return Place{Buffer: len(p.Buffers) - 1}
}

// Place is where a value stands.
func (p *Program) Place(v *ir.Value) Place {
	e := p.entries[v]
	switch e.Place {
	case plan.Nowhere:
		return Place{Buffer: -1}
	case plan.InSlot:
		return Place{e.Slot, e.Offset}
	}
	return Place{p.indexOf[e.Base], e.Offset}
}

// Strides are the steps of a value, in elements.
func (p *Program) Strides(v *ir.Value) []int { return p.entries[v].Strides }

// Constant is the tensor in which v stands, and the element at which it begins;
// nil when v is no constant.
func (p *Program) Constant(v *ir.Value) (t *tensor.Tensor, first int) {
	if p.entries[v].Place != plan.InConstant {
		return nil, 0
	}
	at := p.Place(v)
	return p.Buffers[at.Buffer].Constant, int(at.Offset) / v.Spec.DType.Size()
}

// AddLocal adds the buffer of memory that the kernels of one node share.
func (p *Program) AddLocal(l *loop.Local) Place {
	b := none
	b.Constant = l.Constant
	if l.Constant == nil {
		b.Scratch = max(1, int64(l.Elements)*int64(l.DType.Size()))
	}
	return p.add(b)
}

// Lower returns the kernels of a node. The error says why there are none.
func (p *Program) Lower(n *ir.Node) ([]*loop.Kernel, error) {
	kernels, err := loop.Lower(n, p.Strides)
	if err == nil && n.Op.Donates && p.Place(n.Out[0]) != p.Place(n.In[0]) {
		return nil, errors.New("the state has to be copied first")
	}
	return kernels, err
}

// IsView reports whether a value lies in the storage of another.
func (p *Program) IsView(v *ir.Value) bool { return p.entries[v].ViewOf != "" }

// Idle says why a node needs no work; empty when it needs some.
func (p *Program) Idle(n *ir.Node) string {
	if v := n.Out[0]; p.IsView(v) {
		return fmt.Sprintf("a view: it lies in the storage of %%%s", p.entries[v].Base)
	}
	if n.Out[0].Spec.Elements() == 0 && len(n.Out) == 1 && !n.Op.Effect {
		return "the result has no elements"
	}
	return ""
}

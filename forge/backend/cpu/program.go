package cpu

import (
	"errors"
	"fmt"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/plan"
	"forgekernel/forge/tensor"
)

// program is a graph with its memory and the kernel of each step.
type program struct {
	graph   *ir.Graph
	plan    *plan.Plan
	entries map[*ir.Value]*plan.Value
	buffers []buffer
	indexOf map[string]int // of the buffer of a value outside the slots, by the value's name
	steps   []step
	kernels []backend.Kernel
	index   int     // of the program within its unit
	shared  float64 // nanoseconds of the kernels that are worth several threads
	threads int
}

// buffer is one pointer of the table that native code gets. One field says what
// it points to.
type buffer struct {
	slot     int // index of the slot; -1 for none
	input    int // index of the input; -1 for none
	constant *tensor.Tensor
	packed   []float32
	scratch  int64 // bytes of work space; 0 for none
	output   *ir.Value
	// updated says that a kernel writes into an input, so that the run needs a
	// copy of it.
	updated bool
	result  int // index of the output that is all of what a run writes; -1 for none
}

// written is the size of what a run writes into a buffer outside the slots, which
// is all of it.
func (b *buffer) written(g *ir.Graph) int64 {
	switch {
	case b.output != nil:
		return b.output.Spec.Bytes()
	case b.updated:
		return g.Inputs[b.input].Spec.Bytes()
	}
	return 0
}

// step is a kernel, or a node that runs by its operator's evaluation. The steps
// from one reference node to the next are one native function.
type step struct {
	node   *ir.Node
	kernel *loop.Kernel
	args   []argument // of the kernel's parameters
	packed int        // the parameter that is packed; -1 for none
}

// argument is a place in a buffer; buffer -1 is no memory at all.
type argument struct {
	buffer int
	offset int64 // in bytes
}

// prepare plans a graph and lowers its nodes.
func (b *Backend) prepare(g *ir.Graph) (*program, error) {
	if err := ir.Verify(g); err != nil {
		return nil, err
	}
	laid, err := plan.New(g.Clone(), plan.Options{})
	if err != nil {
		return nil, err
	}
	if laid.Planned > b.MaxBytes {
		return nil, fmt.Errorf("%s needs %d MiB for its intermediate values; the limit is %d MiB", g.Name, laid.Planned>>20, b.MaxBytes>>20)
	}
	p := &program{graph: laid.Graph, plan: laid, threads: max(1, b.Threads), entries: make(map[*ir.Value]*plan.Value), indexOf: make(map[string]int)}
	if err := p.placeValues(); err != nil {
		return nil, err
	}
	for _, n := range laid.Graph.Nodes {
		if n.Op.Class != ir.Constant {
			p.addNode(b.Target, n)
		}
	}
	p.placeResults()
	return p, nil
}

// placeValues makes a buffer of each slot and of each storage outside them.
func (p *program) placeValues() error {
	for i := range p.plan.Slots {
		p.buffers = append(p.buffers, buffer{slot: i, input: -1})
	}
	inputs := make(map[*ir.Value]int)
	for i, v := range p.graph.Inputs {
		inputs[v] = i
	}
	i := 0
	for v := range p.graph.Values {
		e := &p.plan.Values[i]
		i++
		p.entries[v] = e
		switch {
		case e.Donated != "" && e.Place == plan.InInput:
			p.buffers[p.indexOf[e.Base]].updated = true
		case e.Place == plan.InSlot || e.Place == plan.Nowhere || e.Base != e.Name:
		default:
			buf := buffer{slot: -1, input: -1}
			switch e.Place {
			case plan.InInput:
				buf.input = inputs[v]
			case plan.InConstant:
				buf.constant = v.Def.Tensor("value")
			case plan.InOutput:
				buf.output = v
			default:
				return fmt.Errorf("%v stands in %q, which backend cpu does not know", v, e.Place)
			}
			p.indexOf[e.Name] = len(p.buffers)
			p.buffers = append(p.buffers, buf)
		}
	}
	return nil
}

// placeResults finds the outputs that are all of a buffer which a run writes, and
// can so be written where the caller wants them. The others are copied there.
func (p *program) placeResults() {
	for i := range p.buffers {
		p.buffers[i].result = -1
	}
	for i, v := range p.graph.Outputs {
		at := p.place(v)
		if at.buffer < 0 || v.Spec.Elements() == 0 {
			continue
		}
		b := &p.buffers[at.buffer]
		layout := ir.Layout{Strides: p.entries[v].Strides}
		if b.result < 0 && b.written(p.graph) == v.Spec.Bytes() && layout.Contiguous(v.Spec.Shape) {
			b.result = i
			continue
		}
		to := argument{buffer: len(p.buffers)}
		p.buffers = append(p.buffers, buffer{slot: -1, input: -1, output: v, result: i})
		p.steps = append(p.steps, step{node: v.Def, kernel: loop.Copy(v, layout.Strides), args: []argument{to, at}, packed: -1})
	}
}

// place is where a value stands.
func (p *program) place(v *ir.Value) argument {
	e := p.entries[v]
	switch e.Place {
	case plan.Nowhere:
		return argument{buffer: -1}
	case plan.InSlot:
		return argument{e.Slot, e.Offset}
	}
	return argument{p.indexOf[e.Base], e.Offset}
}

// addNode adds the step of a node, if it needs one, and tells what runs it.
func (p *program) addNode(t Target, n *ir.Node) {
	told := backend.Kernel{Value: n.Out[0].String()}
	defer func() { p.kernels = append(p.kernels, told) }()
	if e := p.entries[n.Out[0]]; e.ViewOf != "" {
		told.Reason = fmt.Sprintf("a view: it lies in the storage of %%%s", e.Base)
		return
	}
	if n.Out[0].Spec.Elements() == 0 && len(n.Out) == 1 && !n.Op.Effect {
		told.Reason = "the result has no elements"
		return
	}
	kernels, err := loop.Lower(n, func(v *ir.Value) []int { return p.entries[v].Strides })
	if err == nil && n.Op.Donates && p.place(n.Out[0]) != p.place(n.In[0]) {
		err = errors.New("the state has to be copied first")
	}
	if err == nil {
		err = t.checkTemporaries(kernels)
	}
	if err != nil {
		told.Kernel, told.Reason = n.Op.Name+", reference", err.Error()
		p.steps = append(p.steps, step{node: n})
		return
	}
	told.Kernel = fmt.Sprintf("%s, C for %s", n.Op.Name, t.Name)
	told.Reason = p.addKernels(t, n, kernels)
}

// addKernels adds a step for each kernel of a node and says how they run.
func (p *program) addKernels(t Target, n *ir.Node, kernels []*loop.Kernel) (reason string) {
	locals := make(map[*loop.Local]int)
	for _, k := range kernels {
		s := step{node: n, kernel: k, packed: -1}
		for _, q := range k.Params {
			if q.Value != nil {
				s.args = append(s.args, p.place(q.Value))
				continue
			}
			if _, known := locals[q.Local]; !known {
				locals[q.Local] = p.addLocal(q.Local)
			}
			s.args = append(s.args, argument{buffer: locals[q.Local]})
		}
		switch c := k.Contraction; {
		case c != nil:
			p.packConstant(t, &s)
			reason = describeTiles(t.tileFor(c), s.packed >= 0)
		case k.Attention != nil:
			reason = t.planAttention(k).String()
		case len(kernels) == 1:
			reason = "one nest of loops, in vectors"
		default:
			reason = fmt.Sprintf("%d nests of loops, in vectors", len(kernels))
		}
		p.steps = append(p.steps, s)
	}
	return reason
}

// addLocal makes the buffer of memory that the kernels of one node share.
func (p *program) addLocal(l *loop.Local) int {
	b := buffer{slot: -1, input: -1, constant: l.Constant}
	if l.Constant == nil {
		b.scratch = max(1, int64(l.Elements)*int64(l.DType.Size()))
	}
	p.buffers = append(p.buffers, b)
	return len(p.buffers) - 1
}

// packConstant gives a contraction with a constant matrix a copy in panels.
func (p *program) packConstant(t Target, s *step) {
	c := s.kernel.Contraction
	v := s.kernel.Params[c.B.Param].Value
	e := p.entries[v]
	if e.Place != plan.InConstant {
		return
	}
	for _, step := range c.B.Strides[:len(c.Batch)] {
		if step != 0 {
			return
		}
	}
	at := s.args[c.B.Param]
	s.packed = c.B.Param
	s.args[s.packed] = argument{buffer: len(p.buffers)}
	packed := t.pack(c, p.buffers[at.buffer].constant.Float32()[at.offset/4:])
	p.buffers = append(p.buffers, buffer{slot: -1, input: -1, packed: packed})
}

func describeTiles(cut tiling, packed bool) string {
	where := "read where the second operand stands"
	if packed {
		where = "packed at compile time"
	}
	if len(cut.rows) == 0 || len(cut.panels) == 0 {
		return where
	}
	return fmt.Sprintf("tiles of %d rows by %d vectors in registers, the matrix %s", cut.rows[0], cut.panels[0], where)
}

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
	apart   bool // each step is a native function of its own
}

// buffer is one pointer of the table that native code gets. One field says what
// it points to.
type buffer struct {
	slot     int // index of the slot; -1 for none
	input    int // index of the input; -1 for none
	constant *tensor.Tensor
	packed   []byte
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
	cut    tiling     // of a contraction
	window windowing  // of a convolution
	packed []int      // the steps between batches of the packed B of a contraction; nil when it is not packed

	constant bool   // the second matrix of a contraction is, so that it is packed
	shape    string // of the kernel
	schedule Schedule
	told     int // index of the words about it; -1 for none
	of       int // kernels of the node
}

// argument is a place in a buffer; buffer -1 is no memory at all.
type argument struct {
	buffer int
	offset int64 // in bytes
}

// prepare lowers a graph to kernels, which are cut as chosen.
func (b *Backend) prepare(g *ir.Graph, choose func(program []string) Schedules) (*program, error) {
	p, err := b.lower(g)
	if err != nil {
		return nil, err
	}
	return p, p.cut(b.Target, choose(p.shapes()))
}

// lower plans a graph and lowers its nodes.
func (b *Backend) lower(g *ir.Graph) (*program, error) {
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
		k := loop.Copy(v, layout.Strides)
		p.steps = append(p.steps, step{node: v.Def, kernel: k, args: []argument{to, at}, shape: shapeOf(k, false), told: -1})
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
	if err == nil {
		err = t.checkScratch(kernels)
	}
	if err != nil {
		told.Kernel, told.Reason = n.Op.Name+", reference", err.Error()
		p.steps = append(p.steps, step{node: n})
		return
	}
	told.Kernel = fmt.Sprintf("%s, C for %s", n.Op.Name, t.Name)
	p.addKernels(t, n, kernels)
}

// addKernels adds a step for each kernel of a node.
func (p *program) addKernels(t Target, n *ir.Node, kernels []*loop.Kernel) {
	locals := make(map[*loop.Local]int)
	for _, k := range kernels {
		s := step{node: n, kernel: k, told: len(p.kernels), of: len(kernels)}
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
		if k.Convolution != nil {
			s.window = p.window(t, k)
		}
		if c := k.Contraction; c != nil {
			s.constant = p.entries[k.Params[c.B.Param].Value].Place == plan.InConstant
		}
		s.shape = shapeOf(k, s.constant)
		p.steps = append(p.steps, s)
	}
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

// window decides how a convolution is cut, and looks at its weights.
func (p *program) window(t Target, k *loop.Kernel) windowing {
	w := t.windowingFor(k.Convolution, Schedule{})
	v := k.Params[k.Convolution.W.Param].Value
	if p.entries[v].Place == plan.InConstant {
		w.finite = finite(p.buffers[p.place(v).buffer].constant)
		w.exact = !w.finite
	}
	return w
}

// shapes are those of the kernels in the order in which they run.
func (p *program) shapes() []string {
	var list []string
	for _, s := range p.steps {
		if s.kernel != nil {
			list = append(list, s.shape)
		}
	}
	return list
}

// cut decides the schedule of every kernel, packs what it packs and says why.
func (p *program) cut(t Target, schedules Schedules) error {
	for i := range p.steps {
		s := &p.steps[i]
		if s.kernel == nil {
			continue
		}
		want, tuned := schedules[s.shape]
		if err := t.Check(want); err != nil {
			return fmt.Errorf("the schedule of %s: %w", s.shape, err)
		}
		s.schedule, s.cut = t.decide(s.kernel, s.constant, want)
		if c := s.kernel.Convolution; c != nil {
			w := t.windowingFor(c, s.schedule)
			w.finite, w.exact = s.window.finite, s.window.exact
			s.window = w
		}
		if s.constant {
			p.pack(t.narrowed(s.schedule.Width), s)
		}
		if s.told < 0 {
			continue
		}
		told := &p.kernels[s.told]
		if told.Reason = s.reason(t); tuned {
			told.Reason += "; tuned: " + s.schedule.String()
		}
	}
	return nil
}

// reason says how the kernel is cut.
func (s *step) reason(t Target) string {
	switch {
	case s.kernel.Convolution != nil:
		return s.window.describe(t, s.kernel.Convolution)
	case s.kernel.Contraction != nil:
		return s.cut.describe(s.constant)
	case s.kernel.Attention != nil:
		return t.narrowed(s.schedule.Width).planAttention(s.kernel, s.schedule.Keys).String()
	case s.of > 1:
		return fmt.Sprintf("%d nests of loops, in vectors", s.of)
	}
	return "one nest of loops, in vectors"
}

// pack gives a contraction a copy of its constant matrix in panels.
func (p *program) pack(t Target, s *step) {
	c := s.kernel.Contraction
	at := s.args[c.B.Param]
	s.packed = t.packedSteps(c)
	s.args[c.B.Param] = argument{buffer: len(p.buffers)}
	packed := t.packTensor(c, s.cut, p.buffers[at.buffer].constant, at.offset)
	p.buffers = append(p.buffers, buffer{slot: -1, input: -1, result: -1, packed: packed})
}

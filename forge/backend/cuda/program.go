package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
)

// program is a graph with its memory, whose kernels are in a unit.
type program struct {
	*planned.Program
	unit    *unit
	choose  Selector
	steps   []step
	kernels []backend.Kernel
	canFail bool
	// absent says of nodes which templates refused them, and why.
	absent  map[*ir.Node][]string
	covered map[*ir.Node]*ir.Node       // nodes that the pieces of an earlier one compute
	moved   map[*ir.Value]planned.Place // values that stand elsewhere than the plan says
	uses    map[*ir.Value]int           // how often values are read, and returned
	appends map[*ir.Node]*appending     // by the last of the nodes
	joined  map[*ir.Node]*appending     // by the attention, whose kernel does it
	gates   map[*ir.Node]*ir.Node       // by a product, what multiplies it
	sums    map[*ir.Node]*rankSum       // by an all-reduce that one kernel does
	rooms   rooms                       // of moved values
	// The most that the scratch memory and the counters of a node need, in bytes.
	scratch, counters int64
}

// step is one piece of work of a run, put into a stream that is being captured.
type step struct {
	node *ir.Node // nil for the copy of an output
	name string
	launch
	args       []planned.Place       // addresses, in the order of the kernel's parameters; then int *fault, int step
	boxes      map[int]*driver.Boxes // arguments that are descriptions of what is there
	call       call                  // instead of a kernel: a library's; nil for kernels
	*mailboxes                       // whose words follow args; nil for kernels that exchange nothing
	*machine                         // machine code that is not the program's; nil for kernels in CUDA C
}

// String names the value that a step computes, or its kernel.
func (s step) String() string {
	if s.node == nil {
		return s.name
	}
	return fmt.Sprintf("%v = %s", s.node.Out[0], s.node.Op.Name)
}

func newProgram(u *unit, g *ir.Graph, maxBytes int64, choose Selector) (*program, error) {
	laid, err := planned.New(g, maxBytes)
	if err != nil {
		return nil, err
	}
	p := &program{
		Program: laid, unit: u, choose: choose, absent: make(map[*ir.Node][]string),
		covered: make(map[*ir.Node]*ir.Node), moved: make(map[*ir.Value]planned.Place),
	}
	p.countUses()
	p.findAppends()
	p.findGates()
	p.findRankSums()
	if choose == nil {
		p.choose = first
	}
	missing := &Unsupported{Graph: g.Name}
	for _, n := range p.Graph.Nodes {
		if n.Op.Class == ir.Constant {
			continue
		}
		told := backend.Kernel{Value: n.Out[0].String(), Reason: p.Idle(n)}
		if by := p.covered[n]; by != nil {
			told.Reason = coveredBy(by)
		}
		if told.Reason == "" {
			add := func() (kernel, reason string, err error) { return p.addNode(n) }
			if a := p.appends[n]; a != nil {
				add = func() (kernel, reason string, err error) { return p.addAppending(a) }
			}
			if s := p.sums[n]; s != nil {
				add = func() (kernel, reason string, err error) { return p.addRankSum(s) }
			}
			if told.Kernel, told.Reason, err = add(); err != nil {
				missing.Reasons = append(missing.Reasons, fmt.Sprintf("%v = %s: %v", n.Out[0], n.Op.Name, err))
			}
		}
		p.kernels = append(p.kernels, told)
	}
	if missing.Reasons != nil {
		return p, missing // what the other nodes have can still be looked at
	}
	for _, i := range p.Copied {
		v := p.Graph.Outputs[i]
		pieces, err := p.print(loop.Copy(v, p.Strides(v)), []planned.Place{p.AddOutput(i), p.Place(v)})
		if err != nil {
			return nil, err
		}
		p.add(nil, "copy", pieces)
	}
	return p, nil
}

// addNode adds the steps of a node, and says what they are and why.
func (p *program) addNode(n *ir.Node) (kernel, reason string, err error) {
	list, reasons := p.ask(templates, n)
	foreign, without := p.ask(p.unit.beside, n)
	reasons = append(reasons, without...)
	p.absent[n] = reasons
	loops := choice{name: n.Op.Name + ", CUDA C", reason: "as a loop nest"}
	if len(list)+len(foreign) == 0 {
		loops.reason = strings.Join(reasons, "; ")
	}
	list = slices.Concat(list, []choice{loops}, foreign)
	var names []Candidate
	for _, c := range list {
		names = append(names, Candidate{c.name, c.reason})
	}
	pick, why := p.choose(n, names)
	if pick < 0 || pick >= len(list) {
		return "", "", fmt.Errorf("candidate %d was picked of %d", pick, len(list))
	}
	c := list[pick]
	if c.pieces == nil {
		return p.addLoops(n, cmp.Or(why, c.reason))
	}
	if c.begun != nil {
		c = *c.begun
		p.withdraw(c.replaces, n)
	}
	for _, m := range c.covers {
		p.covered[m] = n
	}
	for _, v := range c.moves {
		p.moved[v] = p.AddLocal(&loop.Local{Name: v.Name, DType: v.Spec.DType, Elements: v.Spec.Elements()})
	}
	p.add(n, n.Op.Name, p.settle(c))
	p.scratch, p.counters = max(p.scratch, c.scratch), max(p.counters, c.counters)
	return c.name, cmp.Or(why, c.reason, launches(c.pieces)), nil
}

// withdraw takes the steps of a node away, which the kernel of a later one makes needless.
func (p *program) withdraw(m, by *ir.Node) {
	p.covered[m] = by
	p.steps = slices.DeleteFunc(p.steps, func(s step) bool {
		if s.node == m {
			p.unit.release(s.name)
		}
		return s.node == m
	})
	for i := range p.kernels {
		if k := &p.kernels[i]; k.Value == m.Out[0].String() {
			k.Kernel, k.Reason = "", coveredBy(by)
		}
	}
}

// coveredBy is the reason of a node without a kernel of its own.
func coveredBy(n *ir.Node) string { return fmt.Sprintf("the kernel of %v computes it too", n.Out[0]) }

// launches tells how pieces are started.
func launches(pieces []piece) string {
	text := pieces[len(pieces)-1].launch.String()
	if len(pieces) > 1 {
		text = fmt.Sprintf("%d kernels; the last in %s", len(pieces), text)
	}
	return text
}

// settle gives the pieces of a choice the places of what it moves.
func (p *program) settle(c choice) []piece {
	pieces := slices.Clone(c.pieces)
	for i := range pieces {
		pieces[i].args = slices.Clone(pieces[i].args)
		for k, at := range pieces[i].args {
			if at.Buffer == inMoved {
				pieces[i].args[k] = p.moved[c.moves[at.Offset]]
			}
		}
	}
	return pieces
}

// Place is where a value stands.
func (p *program) Place(v *ir.Value) planned.Place {
	at := p.Program.Place(v)
	base := v
	for p.IsView(base) {
		base = base.Def.In[0]
	}
	if elsewhere, is := p.moved[base]; is {
		from := p.Program.Place(base)
		return planned.Place{Buffer: elsewhere.Buffer, Offset: elsewhere.Offset + at.Offset - from.Offset}
	}
	return at
}

// countUses counts the readers of each value, and outputs as readers.
func (p *program) countUses() {
	p.uses = make(map[*ir.Value]int)
	for _, n := range p.Graph.Nodes {
		for _, v := range n.In {
			p.uses[v]++
		}
	}
	for _, v := range p.Graph.Outputs {
		p.uses[v]++
	}
}

// addLoops adds the steps of a node as loops.
func (p *program) addLoops(n *ir.Node, why string) (kernel, reason string, err error) {
	kernels, err := loop.LowerWide(n, p.Strides)
	kernels = p.withGate(n, kernels)
	if err != nil {
		return "", "", refused(err, why)
	}
	pieces, err := p.keep(n)
	if err != nil {
		return "", "", err
	}
	locals := make(map[*loop.Local]planned.Place)
	for _, k := range p.unit.target.inPasses(kernels) {
		var args []planned.Place
		for _, q := range k.Params {
			if q.Value != nil {
				args = append(args, p.Place(q.Value))
				continue
			}
			if _, known := locals[q.Local]; !known {
				locals[q.Local] = p.AddLocal(q.Local)
			}
			args = append(args, locals[q.Local])
		}
		more, err := p.print(k, args)
		if err != nil {
			return "", "", refused(err, why)
		}
		pieces = append(pieces, more...)
	}
	p.add(n, n.Op.Name, pieces)
	reason = launches(pieces)
	if why != "" {
		reason += "; " + why
	}
	return n.Op.Name + ", CUDA C", reason, nil
}

// keep copies the state that a node changes, when the result does not stand where the
// state does.
func (p *program) keep(n *ir.Node) ([]piece, error) {
	if !n.Op.Donates || p.Place(n.Out[0]) == p.Place(n.In[0]) {
		return nil, nil
	}
	v := n.In[0]
	return p.print(loop.Copy(v, p.Strides(v)), []planned.Place{p.Place(n.Out[0]), p.Place(v)})
}

// refused adds to an error why no template took the node.
func refused(err error, why string) error {
	if why == "" {
		return err
	}
	return fmt.Errorf("%w; %s", err, why)
}

// print writes the text of a loop kernel.
func (p *program) print(k *loop.Kernel, args []planned.Place) ([]piece, error) {
	e := &emitter{kernel: k, target: p.unit.target, index: "i64"}
	for _, at := range args {
		e.aligned = append(e.aligned, at.Offset%vectorBytes == 0)
	}
	var l launch
	switch {
	case k.Nest != nil:
		l = e.nest(placeholder)
	case k.Contraction != nil:
		l = e.contraction(placeholder)
	case k.Convolution != nil:
		l = e.convolution(placeholder)
	default:
		return nil, errors.New("it has no CUDA kernel yet")
	}
	return []piece{{text: e.String(), launch: l, args: args, canFault: k.CanFault()}}, nil
}

// add makes steps of pieces, and puts their kernels into the unit.
func (p *program) add(n *ir.Node, op string, pieces []piece) {
	for _, k := range pieces {
		s := step{node: n, name: op, launch: k.launch, args: k.args, boxes: k.boxes, call: k.call, mailboxes: k.mailboxes, machine: k.machine}
		if k.call == nil && k.machine == nil {
			s.name = p.unit.add(op, k)
		}
		p.steps = append(p.steps, s)
		p.canFail = p.canFail || k.canFault
	}
}

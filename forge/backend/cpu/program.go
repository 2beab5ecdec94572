package cpu

import (
	"fmt"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/plan"
	"forgekernel/forge/tensor"
)

// program is a graph with its memory and the kernel of each step. Buffers are the
// pointers of the table that native code gets.
type program struct {
	*planned.Program
	steps   []step
	kernels []backend.Kernel
	index   int     // of the program within its unit
	shared  float64 // nanoseconds of the kernels that are worth several threads
	target  Target  // that the kernels are cut for
	apart   bool    // each step is a native function of its own
}

// step is a kernel, or a node that runs by its operator's evaluation. The steps
// from one reference node to the next are one native function.
type step struct {
	node   *ir.Node // nil for the copy of an input to a result
	kernel *loop.Kernel
	args   []planned.Place // of the kernel's parameters
	cut    tiling          // of a contraction
	window windowing       // of a convolution
	packed []int           // the steps between batches of the packed B of a contraction; nil when it is not packed

	constant bool   // the second matrix of a contraction is, so that it is packed
	shape    string // of the kernel
	schedule Schedule
	told     int // index of the words about it; -1 for none
	of       int // kernels of the node
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
	laid, err := planned.New(g, b.MaxBytes)
	if err != nil {
		return nil, err
	}
	laid.Workers = max(1, b.Threads)
	p := &program{Program: laid}
	for _, n := range p.Graph.Nodes {
		if n.Op.Class != ir.Constant {
			p.addNode(b.Target, n)
		}
	}
	p.copyResults()
	return p, nil
}

// copyResults adds kernels that copy outputs where the caller wants them.
func (p *program) copyResults() {
	for _, i := range p.Copied {
		v := p.Graph.Outputs[i]
		k := loop.Copy(v, p.Strides(v))
		p.steps = append(p.steps, step{node: v.Def, kernel: k, args: []planned.Place{p.AddOutput(i), p.Place(v)}, shape: shapeOf(k, false), told: -1})
	}
}

// addNode adds the step of a node, if it needs one, and tells what runs it.
func (p *program) addNode(t Target, n *ir.Node) {
	told := backend.Kernel{Value: n.Out[0].String(), Reason: p.Idle(n)}
	defer func() { p.kernels = append(p.kernels, told) }()
	if told.Reason != "" {
		return
	}
	kernels, err := p.Lower(n)
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
	locals := make(map[*loop.Local]planned.Place)
	for _, k := range kernels {
		s := step{node: n, kernel: k, told: len(p.kernels), of: len(kernels)}
		for _, q := range k.Params {
			if q.Value != nil {
				s.args = append(s.args, p.Place(q.Value))
				continue
			}
			if _, known := locals[q.Local]; !known {
				locals[q.Local] = p.AddLocal(q.Local)
			}
			s.args = append(s.args, locals[q.Local])
		}
		if k.Convolution != nil {
			s.window = p.window(t, k)
		}
		if c := k.Contraction; c != nil {
			s.constant = p.isConstant(k.Params[c.B.Param].Value)
		}
		s.shape = shapeOf(k, s.constant)
		p.steps = append(p.steps, s)
	}
}

// window decides how a convolution is cut, and looks at its weights.
func (p *program) window(t Target, k *loop.Kernel) windowing {
	w := t.windowingFor(k.Convolution, Schedule{})
	v := k.Params[k.Convolution.W.Param].Value
	if weights, _ := p.Constant(v); weights != nil {
		w.finite = finite(weights)
		w.exact = !w.finite
	}
	return w
}

// isConstant reports whether a kernel reads a constant; it reads no value where it reads memory of its node.
func (p *program) isConstant(v *ir.Value) bool {
	if v == nil {
		return false
	}
	t, _ := p.Constant(v)
	return t != nil
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
	p.target = t
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

// pack gives a contraction a copy of its constant matrix in panels of one vector,
// which register tiles of every width read: programs for few and for many rows share
// it.
func (p *program) pack(t Target, s *step) {
	c := s.kernel.Contraction
	panels := planned.Panels{Widths: t.panelWidths(c.N, s.cut.fold), Gap: panelGap(c.Weight), Elem: c.Weight}
	if at, ok := p.PackMatrix(s.kernel, panels); ok {
		s.packed, _ = panels.Steps(c)
		s.args[c.B.Param] = at
	}
}

// panelGap keeps panels apart by a line of the cache, in elements: a power of two
// of rows would else put all that a tile reads at a time into the same few lines.
func panelGap(d tensor.DType) int { return plan.Align / d.Size() }

package cuda

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"forgekernel/display"
	"forgekernel/forge/backend/cuda/tuning"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Tune measures, on the device, the kernels that the nodes of a graph can have: loop
// nests, templates, libraries and Triton. Equal nodes are measured once, each by itself
// on inputs of a seed. Candidates that pass the numerical gate take turns; see package
// tuning. It fails when the program cannot be printed or when ctx ends; a node that
// cannot be measured keeps what it has untuned, and the record says why.
func (b *Backend) Tune(ctx context.Context, g *ir.Graph, s tuning.Settings, inputs func(g *ir.Graph, seed uint64) ([]*tensor.Tensor, error)) (*tuning.Record, error) {
	t := &tuner{Backend: *b, settings: s, inputs: func(g *ir.Graph) ([]*tensor.Tensor, error) { return inputs(g, s.Seed) }}
	p, err := t.list(g)
	if err != nil {
		return nil, err
	}
	r := &tuning.Record{Program: g.Name, Taken: time.Now().UTC().Truncate(time.Millisecond), Machine: b.Machine(), Settings: s, Nodes: t.nodes}
	if b.Triton != nil {
		if c, err := b.Triton(); err == nil {
			r.Machine.Triton = c.Version
		}
	}
	list, _ := shapes(p.Program)
	r.Key = r.Machine.Key(list)
	meter := display.Progress(ctx, "tuning "+g.Name+", nodes", len(r.Nodes))
	order := make([]int, len(r.Nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(r.Nodes[j].Bytes+r.Nodes[j].FLOPs, r.Nodes[i].Bytes+r.Nodes[i].FLOPs)
	})
	end := time.Now().Add(s.Budget)
	for _, i := range order {
		n := &r.Nodes[i]
		switch {
		case len(n.Candidates) == 1:
			n.Note = "nothing to choose"
		case !time.Now().Before(end):
			n.Note = fmt.Sprintf("not measured: the budget of %v was spent", s.Budget)
		default:
			if err := t.node(ctx, p, t.first[n.Shape], n); err != nil {
				meter.Fail(err)
				return nil, err
			}
		}
		n.Settle()
		meter.Add(1)
	}
	meter.Done()
	return r, nil
}

// tuner measures the nodes of one program.
type tuner struct {
	Backend
	settings tuning.Settings
	inputs   func(g *ir.Graph) ([]*tensor.Tensor, error)
	nodes    []tuning.Node
	first    map[string]*ir.Node // of each shape
}

// list finds the candidates of the nodes.
func (t *tuner) list(g *ir.Graph) (*program, error) {
	candidates := make(map[*ir.Node][]Candidate)
	t.Select = func(n *ir.Node, list []Candidate) (int, string) {
		candidates[n] = list
		return 0, ""
	}
	p, err := newProgram(t.unit(), g, t.MaxBytes, t.Select)
	if err != nil {
		return nil, err
	}
	t.first = make(map[string]*ir.Node)
	at := make(map[string]int)
	for _, n := range p.Graph.Nodes {
		if n.Op.Class == ir.Constant || p.Idle(n) != "" || p.covered[n] != nil {
			continue
		}
		shape := shapeOf(p.Program, n)
		if t.first[shape] == nil {
			cost := n.Cost()
			m := tuning.Node{Shape: shape, FLOPs: cost.FLOPs, Bytes: cost.Bytes, Absent: p.absent[n]}
			for _, c := range candidates[n] {
				m.Candidates = append(m.Candidates, tuning.Candidate{Name: c.Name})
			}
			t.first[shape], at[shape] = n, len(t.nodes)
			t.nodes = append(t.nodes, m)
		}
		m := &t.nodes[at[shape]]
		m.Values = append(m.Values, n.Out[0].String())
	}
	return p, nil
}

// node measures the candidates of one node. The error is that of ctx.
func (t *tuner) node(ctx context.Context, p *program, n *ir.Node, m *tuning.Node) error {
	err := t.measure(ctx, p, n, m)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		m.Note = "not measured: " + err.Error()
	} else if m.Candidates[m.Pick()].Median() == 0 {
		m.Note = "not measured: no candidate passed"
	}
	return nil
}

func (t *tuner) measure(ctx context.Context, p *program, n *ir.Node, m *tuning.Node) error {
	alone, err := p.Isolate(n)
	if err != nil {
		return err
	}
	inputs, err := t.inputs(alone)
	if err != nil {
		return err
	}
	gate, err := newReference(ctx, alone, inputs, referenceFLOPs)
	if err != nil {
		return fmt.Errorf("the float64 reference: %w", err)
	}
	list, err := t.variants(ctx, alone, m)
	if err != nil {
		return err
	}
	var runners []*runner
	defer func() {
		for _, r := range runners {
			r.close()
		}
		for _, x := range list { // several take much of a device
			if x != nil {
				_ = x.Close()
			}
		}
	}()
	for i, x := range list {
		c := &m.Candidates[i]
		if x == nil {
			continue
		}
		outputs, err := x.Run(ctx, inputs...)
		if err == nil {
			c.Gate, err = gate.check(outputs)
		}
		if err == nil {
			err = c.Gate.Failure()
		}
		var r *runner
		if err == nil {
			r, err = newRunner(ctx, x, t.settings.Sample)
		}
		if err != nil {
			c.Error = err.Error()
			continue
		}
		r.candidate, c.Runs = c, r.runs
		runners = append(runners, r)
	}
	return race(ctx, runners, t.settings.Rounds)
}

// variants compiles a graph of one node as each of its candidates; nil for those that
// cannot be compiled, which say why. Their kernels are one file, unless NVRTC refuses it.
func (t *tuner) variants(ctx context.Context, alone *ir.Graph, m *tuning.Node) ([]*Executable, error) {
	u := t.unit()
	list := make([]*Executable, len(m.Candidates))
	var programs []*program
	var at []int // the candidates of the programs
	for i := range m.Candidates {
		p, err := newProgram(u, alone, t.MaxBytes, t.only(m, i))
		if err != nil { // as of a loop nest that a node does not have
			m.Candidates[i].Error = err.Error()
			continue
		}
		if last := p.Graph.Outputs[0].Def; shapeOf(p.Program, last) != m.Shape {
			return nil, fmt.Errorf("by itself it is another node, %s", shapeOf(p.Program, last))
		}
		programs, at = append(programs, p), append(at, i)
	}
	errs, err := u.compileTriton(ctx, programs...)
	if err != nil {
		return nil, err
	}
	cubin, err := t.Compiler.Cubin(ctx, u.source())
	for j, p := range programs {
		i := at[j]
		c := &m.Candidates[i]
		failed := errs[j]
		if failed == nil && err == nil {
			list[i], failed = newExecutable(ctx, t.memory, p, cubin)
		} else if failed == nil { // some other candidate may be what NVRTC refuses
			one := t.Backend
			one.Select = t.only(m, i)
			exe, err := one.Compile(ctx, alone)
			if failed = err; err == nil {
				list[i] = exe.(*Executable)
			}
		}
		if failed != nil {
			c.Error = failed.Error()
		}
	}
	return list, ctx.Err()
}

// only picks one candidate of the node that is measured.
func (t *tuner) only(m *tuning.Node, i int) Selector {
	return func(_ *ir.Node, list []Candidate) (int, string) {
		if i >= len(list) || list[i].Name != m.Candidates[i].Name {
			return -1, "" // by itself the node has others
		}
		return i, "it is measured"
	}
}

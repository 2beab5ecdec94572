package tune

import (
	"context"
	"fmt"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/capture"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// bench is where candidates are compiled and pass the gate.
type bench interface {
	steps(g *ir.Graph) ([]cpu.Step, error)
	// kernel returns an entrant for each schedule.
	kernel(ctx context.Context, s cpu.Step, schedules []cpu.Schedule) ([]*entrant, error)
	// program returns the program as the backend schedules it and as chosen.
	program(ctx context.Context, g *ir.Graph, chosen cpu.Schedules) ([]*entrant, error)
	// peak is what one core reaches, in FLOP/s.
	peak(ctx context.Context) (float64, error)
}

// native is the bench of this machine.
type native struct {
	backend *cpu.Backend
	inputs  func(*ir.Graph) ([]*tensor.Tensor, error)
	given   map[string]int64 // the inputs and constants of the program by name, with their bytes
	alone   bool             // the program has too little work for several threads
}

func (n *native) steps(g *ir.Graph) ([]cpu.Step, error) {
	list, shared, err := n.backend.Steps(g)
	n.alone, n.given = !shared, make(map[string]int64)
	for v := range g.Values {
		if v.Def == nil || v.Def.Op.Class == ir.Constant {
			n.given[v.Name] = v.Spec.Bytes()
		}
	}
	return list, err
}

func (n *native) kernel(ctx context.Context, s cpu.Step, schedules []cpu.Schedule) ([]*entrant, error) {
	variants := make([]cpu.Schedules, len(schedules))
	for i, schedule := range schedules {
		variants[i] = cpu.Schedules{s.Shape: schedule}
	}
	inputs, err := n.inputs(s.Graph)
	if err != nil {
		return nil, err
	}
	on := *n.backend
	if n.alone {
		on.Threads = 1
	}
	entrants, err := n.prepare(ctx, &on, s.Graph, inputs, variants)
	if cool := n.cooler(s.Graph, inputs); cool != nil {
		for _, e := range entrants {
			e.cool = cool
		}
	}
	return entrants, err
}

// Measures of cooling. Caches move whole lines. What is besides a kernel drives as
// many bytes out; where that is more than a second cache holds, all of the third is
// driven out, which other programs use as well: else the candidates of a large
// kernel, each with its own copy of the matrix, would find the more of it there the
// fewer they are.
const (
	lineBytes   = 64
	secondCache = 2 << 20
	thirdCache  = 64 << 20
)

// cooler reads what the program is given besides what one of its kernels reads, and
// then the inputs of the kernel that the kernels before it have just computed. It is
// nil when there is nothing else.
func (n *native) cooler(g *ir.Graph, inputs []*tensor.Tensor) func() {
	rest := int64(0)
	for _, bytes := range n.given {
		rest += bytes
	}
	for v := range g.Values {
		rest -= n.given[v.Name]
	}
	if rest <= 0 {
		return nil
	}
	var computed []*tensor.Tensor
	for i, v := range g.Inputs {
		if _, given := n.given[v.Name]; !given {
			computed = append(computed, inputs[i])
		}
	}
	if rest > secondCache {
		rest = thirdCache
	}
	other := make([]byte, rest)
	for i := range other {
		other[i] = 1 // pages that nobody wrote share one page of zeros
	}
	seen := byte(0)
	return func() {
		for i := 0; i < len(other); i += lineBytes {
			seen += other[i]
		}
		for _, t := range computed {
			for i := 0; i < t.Len(); i += lineBytes / 8 {
				seen += byte(t.Elem(i))
			}
		}
	}
}

func (n *native) program(ctx context.Context, g *ir.Graph, chosen cpu.Schedules) ([]*entrant, error) {
	inputs, err := n.inputs(g)
	if err != nil {
		return nil, err
	}
	return n.prepare(ctx, n.backend, g, inputs, []cpu.Schedules{nil, chosen})
}

// prepare compiles all variants together and compares each with the reference.
func (n *native) prepare(ctx context.Context, on *cpu.Backend, g *ir.Graph, inputs []*tensor.Tensor, variants []cpu.Schedules) ([]*entrant, error) {
	reference, err := interp.Reference().Compile(ctx, g)
	if err != nil {
		return nil, err
	}
	want, err := reference.Run(ctx, inputs...)
	if err != nil {
		return nil, fmt.Errorf("the float64 reference: %w", err)
	}
	list, err := on.CompileVariants(ctx, g, variants...)
	if err != nil {
		return nil, err
	}
	entrants := make([]*entrant, len(list))
	for i, exe := range list {
		entrants[i] = admit(ctx, exe, inputs, want)
	}
	return entrants, ctx.Err()
}

// admit runs a candidate once and lets it through if its results are right.
func admit(ctx context.Context, exe backend.Executable, inputs, want []*tensor.Tensor) *entrant {
	got, err := exe.Run(ctx, inputs...)
	if err != nil {
		return &entrant{err: err}
	}
	e := &entrant{}
	if e.gate, e.err = capture.NewGate(exe.Graph().Outputs, got, want); e.err == nil {
		e.err = e.gate.Failure()
	}
	if e.err != nil {
		return e
	}
	loop, err := cpu.NewLoop(exe, inputs...)
	if err == nil {
		e.run = loop.Run
		return e
	}
	e.run = func(ctx context.Context, n int) error { // some nodes are not native
		for range n {
			if _, err := exe.Run(ctx, inputs...); err != nil {
				return err
			}
		}
		return nil
	}
	return e
}

// peakRuns is how often the limit is measured; the quickest run counts.
const peakRuns = 200

func (n *native) peak(ctx context.Context) (float64, error) {
	p, err := n.backend.NewPeak(ctx)
	if err != nil {
		return 0, err
	}
	return p.Best(peakRuns), nil
}

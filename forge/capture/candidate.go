package capture

import (
	"context"
	"fmt"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
	"forgekernel/forge/plan"
	"forgekernel/forge/suite"
	"forgekernel/forge/tensor"
)

// Subject is a program to measure and the inputs to run it on.
type Subject struct {
	Name      string
	Written   *ir.Graph // as traced
	Optimised *ir.Graph
	Plan      *plan.Plan // of the optimised program
	Inputs    []*tensor.Tensor
	File      *ModelFile // where the program was imported from; nil for others
}

// ModelFile is a model file for those who run it by other means, with everything that it
// takes and the names of its results in order.
type ModelFile struct {
	Path    string
	Inputs  []tensor.Named
	Outputs []string
}

// NewSubject compiles a program as far as all backends do, and makes inputs for
// it from a seed.
func NewSubject(name string, g *ir.Graph, seed uint64) (*Subject, error) {
	result, err := pass.Run(g, pass.Options{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	inputs, err := suite.Inputs(g, seed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return CompiledSubject(name, g, result.Graph, inputs)
}

// CompiledSubject is a program that went through the passes already, and inputs
// for it.
func CompiledSubject(name string, written, optimised *ir.Graph, inputs []*tensor.Tensor) (*Subject, error) {
	s := &Subject{Name: name, Written: written, Optimised: optimised, Inputs: inputs}
	var err error
	if s.Plan, err = plan.New(optimised, plan.Options{}); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// Candidate is one way to run a program. It may also be a [Describer].
type Candidate interface {
	// Label tells it from the other candidates of a run.
	Label() Label
	// Prepare gets ready to run the program of a subject. What this takes is
	// reported apart from the runs.
	Prepare(ctx context.Context, s *Subject) (Prepared, error)
}

// Prepared is a program that is ready to run.
type Prepared struct {
	Runner
	// Cache tells whether what it needs was found in a cache.
	Cache CacheState
	// Cost is the time that getting ready took; zero stands for all that passed
	// during Prepare.
	Cost time.Duration
}

// Runner runs a prepared program on the inputs of its subject. The results
// belong to the caller. It may also be a [Repeater] or a [Timer].
type Runner interface {
	Run(ctx context.Context) ([]*tensor.Tensor, error)
}

// Repeater is a runner that can run again and leave its results where they were: its
// quickest call, which is what is timed.
type Repeater interface {
	Repeat(ctx context.Context) error
}

// Timer is a runner that times its own runs, because they happen in another
// process: the given number of them, after lead runs that are not timed. The times
// are those of the clock and of the CPU for all of them together.
type Timer interface {
	Time(ctx context.Context, lead, runs int) (wall, cpu time.Duration, err error)
}

// Describer is a candidate that knows the versions and settings of what runs it.
type Describer interface {
	// Describe is valid once a program was prepared.
	Describe() map[string]string
}

// OnBackend is the candidate that runs a variant of the program on a backend,
// which uses the given number of threads.
func OnBackend(b backend.Backend, v Variant, threads int) Candidate {
	return &compiled{b, Label{b.Name(), v, threads}}
}

// compiled is a candidate on a backend.
type compiled struct {
	backend backend.Backend
	label   Label
}

func (c *compiled) Label() Label { return c.label }

func (c *compiled) Prepare(ctx context.Context, s *Subject) (Prepared, error) {
	g := s.Optimised
	if c.label.Variant == Written {
		g = s.Written
	}
	exe, err := c.backend.Compile(ctx, g)
	if err != nil {
		return Prepared{}, err
	}
	if c, ok := exe.(backend.Changing); ok {
		_ = c.Settle(ctx) // a form that cannot be had is no reason not to time the other
	}
	exe = backend.Current(exe)
	return Prepared{Runner: Executing(exe, s.Inputs), Cache: cacheState(exe)}, nil
}

// cacheState asks an executable where its code came from. One of a backend that
// keeps nothing does not know.
func cacheState(exe backend.Executable) CacheState {
	switch x, ok := exe.(interface{ Cached() bool }); {
	case !ok:
		return NoCache
	case x.Cached():
		return Hit
	}
	return Miss
}

// Executing is the runner of an executable on inputs. One that can leave its results
// in place is a [Repeater].
func Executing(exe backend.Executable, inputs []*tensor.Tensor) Runner {
	if x, ok := exe.(backend.Into); ok {
		return &repeating{execution{exe, inputs}, x, nil}
	}
	return &execution{exe, inputs}
}

// execution is an executable with its inputs.
type execution struct {
	exe    backend.Executable
	inputs []*tensor.Tensor
}

func (e *execution) Run(ctx context.Context) ([]*tensor.Tensor, error) {
	return e.exe.Run(ctx, e.inputs...)
}

// repeating is an execution with tensors for its results.
type repeating struct {
	execution
	into    backend.Into
	outputs []*tensor.Tensor // of the last Run
}

// Run gives results that later runs do not write to.
func (r *repeating) Run(ctx context.Context) ([]*tensor.Tensor, error) {
	list, err := r.execution.Run(ctx)
	r.outputs = nil
	for _, t := range list {
		r.outputs = append(r.outputs, t.Clone())
	}
	return list, err
}

// Repeat follows at least one Run.
func (r *repeating) Repeat(ctx context.Context) error {
	return r.into.RunInto(ctx, r.outputs, r.inputs)
}

// outline reads a recorded program.
func outline(raw []byte) (*ir.Graph, error) { return ir.ParseOutline(op.Registry, raw) }

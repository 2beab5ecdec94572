package forge

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/ir"
	"forgekernel/forge/pass"
	"forgekernel/forge/script"
)

// Program is a function compiled for inputs of known shapes. Everything it
// needs is its own: tensors that its constants were made from may change
// later. It is safe for concurrent use.
type Program struct {
	origin  origin
	traced  *ir.Graph      // as written, before any pass
	calls   *script.Traced // what it inlined; nil when it comes from no source
	passes  *pass.Result
	threads int
	backend string
	native  atomic.Pointer[native] // what runs it; tuning replaces it
}

// native is a program on its backend.
type native struct {
	exe   backend.Executable
	found atomic.Pointer[lookup] // nil until machine code is compiled
}

// origin is what a program was made from: it names the program and words the
// errors of its calls.
type origin interface {
	programName() string
	source() display.Source
	specs(args []*Tensor) ([]Spec, error)
	callError(ctx context.Context, err error, specs []Spec) error
}

// compile traces f and makes a program of the result.
func compile(ctx context.Context, f *function, specs []Spec) (*Program, error) {
	meter := display.Progress(ctx, "compiling "+f.src.Name.Name, 0)
	traced, err := f.src.Trace(f.scope(), specs)
	var p *Program
	if err == nil {
		p, err = build(ctx, f, traced.Graph, f.settings, pass.Options{})
	}
	if err != nil {
		meter.Fail(err)
		return nil, err
	}
	meter.Done()
	p.calls = traced
	return p, nil
}

// build runs the passes over g and prepares the result on a backend. The
// program keeps g.
func build(ctx context.Context, from origin, g *ir.Graph, s settings, opts pass.Options) (*Program, error) {
	b, err := NewBackend(s.backend, s.threads)
	if err != nil {
		return nil, err
	}
	p := &Program{origin: from, traced: g, backend: b.Name(), threads: s.threads}
	if strings.HasPrefix(s.backend, p.backend+":") {
		p.backend = s.backend // and the number of the device
	}
	if p.passes, err = pass.Run(g, opts); err != nil {
		return nil, err
	}
	p.passes.Snapshots[0].Pass = cmp.Or(opts.After, pass.TraceSnapshot)
	return p, p.prepare(ctx, b)
}

// prepare compiles the program for a backend, with its record of tuning if there is
// one.
func (p *Program) prepare(ctx context.Context, b backend.Backend) error {
	n, err := p.on(ctx, b)
	if err == nil {
		p.native.Store(n)
	}
	return err
}

func (p *Program) on(ctx context.Context, b backend.Backend) (*native, error) {
	n := &native{}
	switch c := b.(type) {
	case *cuda.Backend:
		own := *c // the process has one for each device
		own.Choose = n.deviceChooser
		b = &own
	default:
		if c := compiler(b); c != nil {
			c.Choose = n.chooser(*c)
		}
	}
	var err error
	n.exe, err = b.Compile(ctx, p.passes.Graph)
	return n, err
}

// exe is what runs the program.
func (p *Program) exe() backend.Executable { return p.native.Load().exe }

// Name is the name of the function.
func (p *Program) Name() string { return p.origin.programName() }

// Backend names what runs the program.
func (p *Program) Backend() string { return p.backend }

// Threads is how many may share the work of a run.
func (p *Program) Threads() int { return p.threads }

// Inputs are the parameters with their specs, in order.
func (p *Program) Inputs() []Typed { return typed(p.graph().Inputs) }

// Outputs are the results with their specs, in order: one, or those of a tuple.
func (p *Program) Outputs() []Typed { return typed(p.graph().Outputs) }

// Typed is a parameter or a result of a program.
type Typed struct {
	Name string // of the value in the program
	Spec Spec
}

func typed(values []*ir.Value) []Typed {
	list := make([]Typed, len(values))
	for i, v := range values {
		list[i] = Typed{Name: v.Name, Spec: v.Spec.Clone()}
	}
	return list
}

func (p *Program) specs() []Spec {
	list := make([]Spec, len(p.traced.Inputs))
	for i, v := range p.traced.Inputs {
		list[i] = v.Spec
	}
	return list
}

// graph is the optimised graph.
func (p *Program) graph() *ir.Graph { return p.passes.Graph }

// holds is about how many bytes the program keeps: its constants, which its kernels may
// have in an order of their own as well, and the intermediate values of one call.
func (p *Program) holds() int64 {
	bytes := p.Plan().Planned
	for _, n := range p.graph().Nodes {
		if n.Op.Class == ir.Constant {
			bytes += 2 * int64(n.Tensor("value").Bytes())
		}
	}
	return bytes
}

// Run computes a program of one result. The arguments must have the shapes
// that it was compiled for. The error is a [*CallError] or the cause that ended
// ctx. A run longer than a second shows that it is running.
func (p *Program) Run(ctx context.Context, args ...*Tensor) (*Tensor, error) {
	if n := len(p.traced.Outputs); n != 1 {
		return nil, p.severalResults(n)
	}
	outs, err := p.RunAll(ctx, args...)
	if err != nil {
		return nil, err
	}
	return outs[0], nil
}

// RunAll is [Program.Run] for programs of any number of results, which it
// returns in order.
func (p *Program) RunAll(ctx context.Context, args ...*Tensor) (Tensors, error) {
	meter := display.Progress(ctx, "running "+p.Name(), 0)
	outs, err := p.run(ctx, args)
	if err != nil {
		meter.Fail(err)
		return nil, err
	}
	meter.Done()
	return outs, nil
}

// severalResults is the error of asking a tuple for its one result.
func (p *Program) severalResults(n int) error {
	name := p.Name()
	return &CallError{Function: name, Diagnostic: diagnostic(
		fmt.Sprintf("%s returns %d tensors, and a plain call gives one", name, n),
		fmt.Sprintf("call %s.All(…), or %s.RunAll(ctx, …), which give all of them", name, name))}
}

// run is RunAll without a word on the way.
func (p *Program) run(ctx context.Context, args []*Tensor) ([]*Tensor, error) {
	specs, err := p.origin.specs(args)
	if err != nil {
		return nil, err
	}
	outs, err := p.exe().Run(ctx, args...)
	if err != nil {
		return nil, p.origin.callError(ctx, err, specs)
	}
	return outs, nil
}

// Source is the text that the program was made from.
func (p *Program) Source() display.Source { return p.origin.source() }

// Generated is the code that the backend generated from the program. It waits for
// code that is being compiled, and fails for a backend that generates none.
func (p *Program) Generated() (display.Source, error) {
	settled := p.Settle(callContext())
	if x, ok := backend.Current(p.exe()).(interface{ Code() display.Source }); ok {
		return x.Code(), nil
	}
	if settled != nil {
		return display.Source{}, fmt.Errorf("there is no generated code: %w", settled)
	}
	return display.Source{}, fmt.Errorf("the backend %s generates no code; cpu does", p.backend)
}

// Notes are what a reader of the program should know: the inputs of a model that are
// a part of it, what its importer says, and what the backend says of all of it, as
// which form runs and why.
func (p *Program) Notes() []string {
	var list []string
	if o, ok := p.origin.(modelOrigin); ok {
		list = o.notes()
	}
	return append(list, backend.Notes(p.exe())...)
}

// Settle waits until the program runs in its final form; see [backend.Changing].
func (p *Program) Settle(ctx context.Context) error { return settle(ctx, p.exe()) }

func settle(ctx context.Context, x backend.Executable) error {
	if c, ok := x.(backend.Changing); ok {
		return c.Settle(ctx)
	}
	return nil
}

// IR is the optimised program as text.
func (p *Program) IR() display.Source {
	return display.Source{Lang: "ir", Code: p.graph().Listing(), Name: p.Name()}
}

// Module is the optimised program itself. It must not be changed.
func (p *Program) Module() *ir.Graph { return p.graph() }

// Graph is the optimised program as a drawing.
func (p *Program) Graph() display.Graph { return p.graph().Drawing() }

// Mermaid is the text of the drawing in Mermaid's language.
func (p *Program) Mermaid() string { return p.Graph().Mermaid() }

// Snapshots are the program as traced and after each pass.
func (p *Program) Snapshots() Snapshots {
	list := make(Snapshots, len(p.passes.Snapshots))
	for i, s := range p.passes.Snapshots {
		list[i] = Snapshot{s}
	}
	return list
}

// Display shows the program as a drawing.
func (p *Program) Display() display.Bundle { return p.Graph().Display() }

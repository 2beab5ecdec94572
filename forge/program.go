package forge

import (
	"context"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/pass"
	"forgekernel/forge/script"
	"forgekernel/forge/tensor"
)

// Program is a function compiled for inputs of known shapes. It is safe for
// concurrent use.
type Program struct {
	fn      *function
	specs   []Spec
	traced  *script.Traced
	passes  *pass.Result
	exe     backend.Executable
	backend string
}

// compile traces f, runs the passes and prepares the result on its backend.
func compile(ctx context.Context, f *function, specs []Spec) (*Program, error) {
	b, err := backendNamed(f.backend)
	if err != nil {
		return nil, err
	}
	meter := display.Progress(ctx, "compiling "+f.src.Name.Name, 0)
	p := &Program{fn: f, specs: specs, backend: b.Name()}
	if p.traced, err = f.src.Trace(f.scope(), specs); err == nil {
		p.passes, err = pass.Run(p.traced.Graph, pass.Options{})
	}
	if err == nil {
		p.exe, err = b.Compile(ctx, p.passes.Graph)
	}
	if err != nil {
		meter.Fail(err)
		return nil, err
	}
	meter.Done()
	return p, nil
}

// Name is the name of the function.
func (p *Program) Name() string { return p.fn.src.Name.Name }

// Backend names what runs the program.
func (p *Program) Backend() string { return p.backend }

// Inputs are the parameters with their specs, in order.
func (p *Program) Inputs() []Input {
	list := make([]Input, len(p.specs))
	for i, s := range p.specs {
		list[i] = Input{Name: p.fn.src.Params[i].Name.Name, Spec: s}
	}
	return list
}

// Input is one parameter of a program.
type Input struct {
	Name string
	Spec Spec
}

// Output is the spec of the result.
func (p *Program) Output() Spec { return p.graph().Outputs[0].Spec }

// graph is the optimised graph.
func (p *Program) graph() *ir.Graph { return p.passes.Graph }

// Run computes the program. The arguments must have the shapes that it was
// compiled for. The error is a [*CallError] or the cause that ended ctx. A run
// longer than a second shows that it is running.
func (p *Program) Run(ctx context.Context, args ...*Tensor) (*Tensor, error) {
	meter := display.Progress(ctx, "running "+p.Name(), 0)
	y, err := p.run(ctx, args)
	if err != nil {
		meter.Fail(err)
		return nil, err
	}
	meter.Done()
	return y, nil
}

// run is Run without a word on the way.
func (p *Program) run(ctx context.Context, args []*Tensor) (*Tensor, error) {
	specs, err := p.fn.specs(args)
	if err != nil {
		return nil, err
	}
	outs, err := p.exe.Run(ctx, args...)
	if err != nil {
		return nil, p.fn.callError(ctx, err, specs)
	}
	return outs[0], nil
}

// RandomInputs are standard normal inputs for the program, the same for equal
// seeds.
func (p *Program) RandomInputs(seed uint64) ([]*Tensor, error) {
	list := make([]*Tensor, len(p.specs))
	for i, s := range p.specs {
		t, err := tensor.Randn(seed+uint64(i), s.Shape...)
		if err != nil {
			return nil, err
		}
		list[i] = t
	}
	return list, nil
}

// Source is the text of the function.
func (p *Program) Source() display.Source { return p.fn.source() }

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

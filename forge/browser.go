package forge

import (
	"context"

	"forgekernel/display"
	"forgekernel/forge/backend/wgsl"
	"forgekernel/forge/backend/wgsl/page"
)

// InBrowser is a program as compute shaders for the browser of whoever looks at it,
// with what the program gave here. Its display is a card that runs the shaders on the
// GPU of that browser, by WebGPU, and shows times and the differences between the
// results there and here; see package page for what a notebook keeps of it.
type InBrowser struct {
	Results Tensors // of the program's own backend
	card    page.Card
}

// Display is the card.
func (r *InBrowser) Display() display.Bundle { return r.card.Display() }

// Dispatches lists what the GPU is told: shaders, and how many workgroups of each.
func (r *InBrowser) Dispatches() display.Table { return r.card.Dispatches() }

// RunInBrowser is [Program.RunInBrowserContext] for a cell: it runs in the cell's
// context and panics with the error.
func (p *Program) RunInBrowser(args ...*Tensor) *InBrowser {
	return cell(p.RunInBrowserContext(callContext(), args...))
}

// RunInBrowserContext runs the program, and prepares it with the same arguments for a
// browser. Without arguments it takes random ones. The error is a [*CallError] or the
// cause that ended ctx: some types and operators are none of WebGPU, and what a card
// holds is limited to [page.MaxBytes].
func (p *Program) RunInBrowserContext(ctx context.Context, args ...*Tensor) (*InBrowser, error) {
	args, err := p.orRandom(args)
	if err != nil {
		return nil, err
	}
	results, err := p.run(ctx, args)
	if err != nil {
		return nil, err
	}
	shaders, err := wgsl.NewProgram(p.graph(), wgsl.DefaultTarget)
	if err != nil {
		return nil, p.noBrowser(err)
	}
	r := &InBrowser{Results: results}
	r.card = page.Card{Plan: shaders.Plan, Memory: shaders.Filled(args)}
	for i, t := range results {
		if b := shaders.Outputs[i]; b >= 0 { // it has elements
			r.card.Results = append(r.card.Results, page.Result{Name: p.resultName(i), Buffer: b, Tensor: t, Bytes: shaders.Encoded(i, t)})
		}
	}
	if err := r.card.Check(); err != nil {
		return nil, p.noBrowser(err)
	}
	return r, nil
}

// resultName is the name of a result in the file of a model, or in the program: "%h".
func (p *Program) resultName(i int) string {
	if _, is := p.origin.(modelOrigin); is {
		return p.OutputNames()[i]
	}
	return p.graph().Outputs[i].String()
}

// noBrowser is the error of a program that no browser can run.
func (p *Program) noBrowser(err error) error {
	return &CallError{Function: p.Name(), Diagnostic: diagnostic(err.Error(), ""), cause: err}
}

// RunInBrowser is [Program.RunInBrowser] of the program for the arguments, or of the one
// used last.
func (f Function) RunInBrowser(args ...*Tensor) *InBrowser {
	return f.forOrProgram(args).RunInBrowser(args...)
}

// RunInBrowser is [Program.RunInBrowser] of the program for the shapes of the inputs,
// which are given by the names of the model.
func (m *Model) RunInBrowser(inputs map[string]*Tensor) *InBrowser {
	return cell(m.runInBrowser(callContext(), inputs))
}

func (m *Model) runInBrowser(ctx context.Context, inputs map[string]*Tensor) (*InBrowser, error) {
	values, err := m.check(inputs)
	if err != nil {
		return nil, err
	}
	p, err := m.Compile(ctx, Binding{Values: values})
	if err != nil {
		return nil, err
	}
	args, err := p.Arguments(values)
	if err != nil {
		return nil, err
	}
	return p.RunInBrowserContext(ctx, args...)
}

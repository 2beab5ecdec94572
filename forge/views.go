package forge

import (
	"context"
	"fmt"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/plan"
)

// view is one way to look at a program.
type view struct {
	name, doc string
	make      func(context.Context, *Program) (any, error)
}

// views are what [Program.Show] and the magic %%forge --show know, in the
// order in which they explain a program.
var views = []view{
	{"source", "the ForgeScript text", func(_ context.Context, p *Program) (any, error) { return p.Source(), nil }},
	{"trace", "the program as written, as IR text", func(_ context.Context, p *Program) (any, error) { return p.Snapshots()[0].IR(), nil }},
	{"ir", "the optimised program as IR text", func(_ context.Context, p *Program) (any, error) { return p.IR(), nil }},
	{"graph", "the optimised program as a drawing", func(_ context.Context, p *Program) (any, error) { return p.Graph(), nil }},
	{"mermaid", "the drawing by the front end's Mermaid, and its text where there is none", func(_ context.Context, p *Program) (any, error) {
		return display.Mermaid(p.Mermaid()), nil
	}},
	{"summary", "types and work, as written and optimised", func(_ context.Context, p *Program) (any, error) { return p.Summary(), nil }},
	{"passes", "the work that is left after each pass", func(_ context.Context, p *Program) (any, error) { return p.Snapshots(), nil }},
	{"plan", "where intermediate values stand in memory, and when", func(_ context.Context, p *Program) (any, error) {
		return plan.New(p.graph(), plan.Options{})
	}},
	{"c", "the code that the backend generated, C on the processor", func(_ context.Context, p *Program) (any, error) { return p.Generated() }},
	{"kernels", "the source of the kernels beside the nodes that they implement", func(_ context.Context, p *Program) (any, error) {
		return p.KernelSource(p.kernelLanguage())
	}},
	{"explain", "everything that the compiler decided, and why", func(_ context.Context, p *Program) (any, error) { return p.Explanation() }},
	{"check", "the error against float64, on random inputs", func(ctx context.Context, p *Program) (any, error) { return p.CheckContext(ctx) }},
	{"bench", "the time of a run, on random inputs", func(ctx context.Context, p *Program) (any, error) {
		return p.BenchContext(ctx, BenchOptions{})
	}},
	{"profile", "the time of each node, on random inputs", func(ctx context.Context, p *Program) (any, error) {
		return p.ProfileContext(ctx)
	}},
	{"roofline", "each kernel under what the hardware does at most, on random inputs", func(ctx context.Context, p *Program) (any, error) {
		return p.RooflineContext(ctx)
	}},
	{"tune", "the schedules of the kernels, found by measurement", func(ctx context.Context, p *Program) (any, error) {
		if p.OnDevice() {
			return p.TuneOnDevice(ctx, TuneOptions{})
		}
		return p.TuneContext(ctx, TuneOptions{})
	}},
}

// Views names the ways to look at a program.
func Views() []string {
	names := make([]string, len(views))
	for i, v := range views {
		names[i] = v.name
	}
	return names
}

// ParseViews splits a list such as "ir,graph" and checks every name.
func ParseViews(list string) ([]string, error) {
	var names []string
	for _, name := range strings.Split(list, ",") {
		name = strings.TrimSpace(name)
		if _, err := viewNamed(name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

func viewNamed(name string) (view, error) {
	for _, v := range views {
		if v.name == name {
			return v, nil
		}
	}
	return view{}, fmt.Errorf("there is no view %q of a program; there are %s", name, strings.Join(Views(), ", "))
}

// View returns one way to look at the program, a value to display.
func (p *Program) View(ctx context.Context, name string) (any, error) {
	v, err := viewNamed(name)
	if err != nil {
		return nil, err
	}
	return v.make(ctx, p)
}

// Show displays the named views in turn through the sink of ctx. An unknown
// name is an error before anything is shown.
func (p *Program) Show(ctx context.Context, names ...string) error {
	for _, name := range names {
		if _, err := viewNamed(name); err != nil {
			return err
		}
	}
	for _, name := range names {
		v, err := p.View(ctx, name)
		if err != nil {
			return err
		}
		if err := display.ShowContext(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

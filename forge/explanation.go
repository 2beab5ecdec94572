package forge

import (
	"forgekernel/forge/explain"
	"forgekernel/forge/plan"
	"forgekernel/forge/script"
)

// Explanation is everything that the compiler decided about a program: passes
// with reasons, memory, kernels, work, and what optimisation changed. It shows
// itself as a view to explore.
type Explanation = explain.Report

// Explain is [Program.Explanation] for a cell: it panics with the error.
func (p *Program) Explain() *Explanation { return cell(p.Explanation()) }

// Explanation gathers what the compiler decided. It fails for a program that has
// no memory plan.
func (p *Program) Explanation() (*Explanation, error) {
	n := p.native.Load()
	found := n.record()
	s := explain.Subject{
		Name: p.Source().Name, Sources: p.sources(), Backend: p.backend,
		Written: p.passes.Snapshots[0].Graph, Passes: p.passes, Kernels: n.exe.Kernels(), Notes: p.Notes(), Tuning: found.tuning,
	}
	if found.problem != nil {
		s.TuningIgnored = found.problem.Error()
	}
	return explain.New(s)
}

// Plan is where intermediate values stand in memory, and when. It panics with
// the error of a program that has no plan.
func (p *Program) Plan() *MemoryPlan { return cell(plan.New(p.graph(), plan.Options{})) }

// sources are the texts of the function and of those it inlined, each once.
func (p *Program) sources() []explain.Source {
	if p.calls == nil {
		return nil
	}
	var list []explain.Source
	for _, f := range p.calls.Functions() {
		list = append(list, sourceOf(f))
	}
	return list
}

func sourceOf(f *script.Func) explain.Source {
	pos := f.Pos()
	return explain.Source{Name: pos.Source, Line: pos.Line, Text: f.Source()}
}

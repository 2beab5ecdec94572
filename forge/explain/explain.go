// Package explain gathers what the compiler decided about one program into one
// [Report]: what each pass did and declined, where values stand in memory, what
// runs each node, the work of every node, and what all that changed.
//
// A report has four forms. [Report.Text] is for terminals, its JSON for
// programs ([Schema] describes it), [Report.Mermaid] for documents, and
// [Report.HTML] is a view to explore: the passes stand in columns, and choosing
// a value lights it up in every column and in the source line that it came
// from. The view is complete without scripts and style sheets, which only add
// the choosing.
package explain

import (
	_ "embed"
	"fmt"

	"forgekernel/display"
	"forgekernel/forge/analysis"
	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/pass"
	"forgekernel/forge/plan"
	"forgekernel/forge/tune"
)

// Version is the version of the JSON form. A field may be added within a
// version; a change of meaning makes a new one.
const Version = 1

// Format names the JSON form.
const Format = "forge.explain"

// Schema is the JSON Schema of the JSON form.
//
//go:embed schema.json
var Schema []byte

// Report is everything that the compiler decided about one program.
type Report struct {
	Format   string             `json:"format"`
	Version  int                `json:"version"`
	Program  string             `json:"program"`
	Source   string             `json:"source"` // name of the source
	Backend  string             `json:"backend"`
	Inputs   []Value            `json:"inputs"`
	Outputs  []Value            `json:"outputs"`
	Passes   []Pass             `json:"passes"`
	Memory   *plan.Plan         `json:"memory"`
	Kernels  []backend.Kernel   `json:"kernels"`         // in order of execution
	Notes    []string           `json:"notes,omitempty"` // what the backend says of the whole program
	Analysis *analysis.Analysis `json:"analysis"`
	Delta    analysis.Delta     `json:"delta"`
	// Tuning is the record that the program was compiled with: the schedules chosen
	// and rejected with all samples.
	Tuning *tune.Record `json:"tuning,omitempty"`
	// TuningIgnored says why a record was not used.
	TuningIgnored string `json:"tuning_ignored,omitempty"`

	sources   []Source
	snapshots []pass.Snapshot
}

// Value is the type of an input or a result.
type Value struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
}

// Pass is one step of the pipeline. The first, "trace", is the program as it
// was given.
type Pass struct {
	Name     string         `json:"name"`
	Doc      string         `json:"doc"` // one sentence
	Summary  pass.Summary   `json:"summary"`
	Changed  bool           `json:"changed"` // the graph is not that of the step before
	Applied  int            `json:"applied"`
	Declined int            `json:"declined"`
	Sites    []pass.Rewrite `json:"sites"`
}

// Source is a piece of the text that a program was made from.
type Source struct {
	Name string // of the source that it stands in
	Line int    // number of its first line
	Text string
}

// Subject is a compiled program to explain.
type Subject struct {
	Name    string   // of the source
	Sources []Source // what it was made from; none for a program that was given as a graph
	Backend string
	Written *ir.Graph // before any pass
	Passes  *pass.Result
	Kernels []backend.Kernel
	Notes   []string // what the backend says of the whole program
	// Tuning is the record that the program was compiled with, nil for none;
	// TuningIgnored says why one was not used.
	Tuning        *tune.Record
	TuningIgnored string
}

// New explains a program. It fails if the program has no memory plan.
func New(s Subject) (*Report, error) {
	before, err := plan.New(s.Written, plan.Options{})
	if err != nil {
		return nil, fmt.Errorf("as written: %w", err)
	}
	after, err := plan.New(s.Passes.Graph, plan.Options{})
	if err != nil {
		return nil, err
	}
	g := s.Passes.Graph
	r := &Report{
		Format: Format, Version: Version, Program: g.Name, Source: s.Name, Backend: s.Backend,
		Inputs: valuesOf(g.Inputs), Outputs: valuesOf(g.Outputs), Passes: passesOf(s.Passes),
		Memory: after, Kernels: s.Kernels, Notes: s.Notes, Analysis: analysis.Of(g),
		Tuning: s.Tuning, TuningIgnored: s.TuningIgnored,
		sources: s.Sources, snapshots: s.Passes.Snapshots,
	}
	r.Delta = analysis.Delta{Before: analysis.Of(s.Written).Extent(before.Planned), After: r.Analysis.Extent(after.Planned)}
	return r, nil
}

func valuesOf(list []*ir.Value) []Value {
	out := make([]Value, len(list))
	for i, v := range list {
		out[i] = Value{Name: v.Name, DType: v.Spec.DType.String(), Shape: append([]int{}, v.Spec.Shape...)}
	}
	return out
}

func (v Value) spec() string { return v.DType + shapeText(v.Shape) }

// passesOf lists the steps with their decisions.
func passesOf(res *pass.Result) []Pass {
	list := make([]Pass, len(res.Snapshots))
	at := make(map[string]int)
	for i, s := range res.Snapshots {
		p := Pass{Name: s.Pass, Doc: docOf(i, s.Pass), Summary: s.Summary, Sites: []pass.Rewrite{}}
		p.Changed = i > 0 && !ir.Equal(s.Graph, res.Snapshots[i-1].Graph)
		list[i], at[s.Pass] = p, i
	}
	for _, w := range res.Rewrites {
		i, ran := at[w.Pass]
		if !ran {
			continue
		}
		list[i].Sites = append(list[i].Sites, w)
		if w.Action == pass.Applied {
			list[i].Applied++
		} else {
			list[i].Declined++
		}
	}
	return list
}

// docOf is the sentence that describes a step.
func docOf(i int, name string) string {
	switch {
	case i > 0:
		return pass.Doc(name)
	case name == pass.TraceSnapshot:
		return "The program as it was written."
	}
	return "The program as it was given, after this pass."
}

// Mermaid is the optimised program in Mermaid's language.
func (r *Report) Mermaid() string { return r.graph().Drawing().Mermaid() }

// graph is the optimised program.
func (r *Report) graph() *ir.Graph { return r.snapshots[len(r.snapshots)-1].Graph }

// Display shows the view, and the text where there is no HTML.
func (r *Report) Display() display.Bundle {
	return display.Bundle{Data: map[string]any{"text/html": r.Fragment(), "text/plain": r.Text(false)}}
}

package forge

import (
	"forgekernel/display"
	"forgekernel/forge/pass"
)

// Snapshot is the program after one pass; the first, "trace", is the program
// as written.
type Snapshot struct{ pass.Snapshot }

// IR is the snapshot as text.
func (s Snapshot) IR() display.Source {
	return display.Source{Lang: "ir", Code: s.Snapshot.Graph.Listing(), Name: "after " + s.Pass}
}

// Drawing is the snapshot as a drawing.
func (s Snapshot) Drawing() display.Graph {
	g := s.Snapshot.Graph.Drawing()
	g.Name += " after " + s.Pass
	return g
}

// Display shows the snapshot as text.
func (s Snapshot) Display() display.Bundle { return display.ToBundle(s.IR()) }

// Snapshots are the states of a program in order.
type Snapshots []Snapshot

// Display shows the work of the program after each pass.
func (s Snapshots) Display() display.Bundle {
	t := display.Table{Columns: []display.Column{{Name: "after"}, {Name: "operations"}, {Name: "constants"}, {Name: "FLOPs"}, {Name: "traffic", Unit: "bytes"}}}
	for _, x := range s {
		t.Rows = append(t.Rows, []any{x.Pass, x.Summary.Nodes, x.Summary.Constants, x.Summary.FLOPs, x.Summary.Bytes})
	}
	return display.ToBundle(t)
}

// Summary is the program at a glance: its types and its work before and after
// the passes.
func (p *Program) Summary() display.Table {
	before, after := p.passes.Snapshots[0].Summary, pass.Summarise(p.graph())
	t := display.Table{
		Title:   p.Name() + " on " + p.backend,
		Columns: []display.Column{{Name: ""}, {Name: "as written"}, {Name: "optimised"}},
	}
	for _, in := range p.Inputs() {
		t.Rows = append(t.Rows, []any{"input " + in.Name, in.Spec.String(), nil})
	}
	for _, out := range p.Outputs() {
		t.Rows = append(t.Rows, []any{"result " + out.Name, out.Spec.String(), nil})
	}
	t.Rows = append(t.Rows,
		[]any{"operations", before.Nodes, after.Nodes},
		[]any{"constants", before.Constants, after.Constants},
		[]any{"FLOPs", before.FLOPs, after.FLOPs},
		[]any{"memory traffic, bytes", before.Bytes, after.Bytes},
	)
	return t
}

package forge

import (
	"fmt"
	"slices"
	"strings"

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

// Diff draws what happened from one snapshot to another: what is new, gone, changed and
// the same. They go by the names of their passes; "trace" is the program as written.
func (s Snapshots) Diff(from, to string) (display.Graph, error) {
	var both [2]display.Graph
	for i, name := range []string{from, to} {
		k := slices.IndexFunc(s, func(x Snapshot) bool { return x.Pass == name })
		if k < 0 {
			return display.Graph{}, fmt.Errorf("there is no snapshot after %q; there are %s", name, strings.Join(s.Names(), ", "))
		}
		both[i] = s[k].Drawing()
	}
	both[1].Name = "after " + to // the program is named before
	return both[0].Diff(both[1]), nil
}

// Names are the passes, in order.
func (s Snapshots) Names() []string {
	names := make([]string, len(s))
	for i, x := range s {
		names[i] = x.Pass
	}
	return names
}

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

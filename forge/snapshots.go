package forge

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"forgekernel/display"
	"forgekernel/forge/pass"
	"forgekernel/forge/plan"
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

// MemoryPlan is where the intermediate values of a program stand in memory, and when.
type MemoryPlan = plan.Plan

// PlanOptions keep the planner from something, to see what that saves.
type PlanOptions = plan.Options

// Plan is the memory that the snapshot would need if it ran as it is. It panics with the
// error of a program that has no plan.
func (s Snapshot) Plan(o PlanOptions) *MemoryPlan { return cell(plan.New(s.Snapshot.Graph, o)) }

// Snapshots are the states of a program in order.
type Snapshots []Snapshot

// After is the snapshot after a pass; "trace" is the program as written. It panics with
// a *CallError when no such pass ran.
func (s Snapshots) After(pass string) Snapshot {
	for _, x := range s {
		if x.Pass == pass {
			return x
		}
	}
	panic(&CallError{Function: "After", Diagnostic: diagnostic(
		fmt.Sprintf("no snapshot was taken after %q", pass), "there are "+strings.Join(s.Names(), ", "))})
}

// Names are the passes, in order.
func (s Snapshots) Names() []string {
	names := make([]string, len(s))
	for i, x := range s {
		names[i] = x.Pass
	}
	return names
}

// Changed are the program as written and the snapshots of passes that changed it.
func (s Snapshots) Changed() Snapshots {
	var list Snapshots
	for i, x := range s {
		if i == 0 || x.Snapshot.Text() != s[i-1].Snapshot.Text() {
			list = append(list, x)
		}
	}
	return list
}

// Diff is the difference between the listings of two snapshots, in unified form.
func (s Snapshots) Diff(from, to string) display.Source {
	before, after := s.After(from), s.After(to)
	return display.Source{Lang: "diff", Code: string(diff.Diff("after "+from, before.lines(), "after "+to, after.lines()))}
}

// GraphDiff draws what happened from one snapshot to another: what is new, gone, changed
// and the same.
func (s Snapshots) GraphDiff(from, to string) display.Graph {
	before, after := s.After(from).Drawing(), s.After(to).Drawing()
	after.Name = "after " + to // the program is named before
	return before.Diff(after)
}

// aligned stands before a note that is aligned with others.
var aligned = regexp.MustCompile(`(?m) {2,}(# [^"\n]*)$`)

// lines is the listing with notes right behind their lines: aligned, a line that is
// longer than before would move the notes of all others.
func (s Snapshot) lines() []byte {
	return aligned.ReplaceAll([]byte(s.Snapshot.Graph.Listing()), []byte("  $1"))
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

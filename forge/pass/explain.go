package pass

import (
	"fmt"
	"strings"

	"forgekernel/display"
)

// Explain tells what the pipeline did: the size of the graph after each pass,
// then every decision with its reason.
func (r *Result) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s %6s %10s %14s %14s\n", "after", "nodes", "constants", "FLOPs", "bytes moved")
	for _, s := range r.Snapshots {
		fmt.Fprintf(&b, "%-24s %6d %10d %14d %14d\n", s.Pass, s.Summary.Nodes, s.Summary.Constants, s.Summary.FLOPs, s.Summary.Bytes)
	}
	pass := ""
	for _, d := range r.Rewrites {
		if d.Pass != pass {
			pass = d.Pass
			fmt.Fprintf(&b, "\n%s\n", pass)
		}
		fmt.Fprintf(&b, "  %s\n", d)
	}
	return b.String()
}

// String is one line: "applied  %y = mul (mlp.fs:2:10): reason [%z]". What is
// not exact is marked as bounded.
func (d Rewrite) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s  %s", d.Action, d.Site)
	if d.Pos.IsKnown() {
		fmt.Fprintf(&b, " (%v)", d.Pos)
	}
	b.WriteString(": " + d.Reason)
	if d.Action == Applied && !d.Exact {
		b.WriteString(" (bounded)")
	}
	if len(d.Values) > 0 {
		b.WriteString(" [" + strings.Join(d.Values, ", ") + "]")
	}
	return b.String()
}

// Display shows the explanation as text or as two tables.
func (r *Result) Display() display.Bundle {
	b := display.Text(r.Explain())
	sizes := display.Table{Title: "Size of " + r.Graph.Name, Columns: []display.Column{
		{Name: "after"}, {Name: "nodes"}, {Name: "constants"}, {Name: "FLOPs"}, {Name: "bytes moved"}, {Name: "what the pass does"},
	}}
	for _, s := range r.Snapshots {
		sizes.Rows = append(sizes.Rows, []any{s.Pass, s.Summary.Nodes, s.Summary.Constants, s.Summary.FLOPs, s.Summary.Bytes, Doc(s.Pass)})
	}
	decisions := display.Table{Title: "Decisions", Columns: []display.Column{
		{Name: "pass"}, {Name: "site"}, {Name: "source"}, {Name: "action"}, {Name: "reason"}, {Name: "values"},
	}}
	for _, d := range r.Rewrites {
		decisions.Rows = append(decisions.Rows, []any{d.Pass, d.Site, d.Pos.String(), string(d.Action), d.Reason, strings.Join(d.Values, ", ")})
	}
	html := ""
	for _, t := range []display.Table{sizes, decisions} {
		if text, ok := t.Display().Data["text/html"].(string); ok && len(t.Rows) > 0 {
			html += text
		}
	}
	b.Data["text/html"] = html
	return b
}

// Display draws the graph.
func (s Snapshot) Display() display.Bundle { return s.Graph.Display() }

package pass

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"forgekernel/display"
)

// Explain tells what the pipeline did: the size of the graph after each pass,
// then every decision with its reason.
func (r *Result) Explain() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "after\tnodes\tconstants\tFLOPs\tbytes moved\t")
	for _, s := range r.Snapshots {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t\n", s.Pass, s.Summary.Nodes, s.Summary.Constants, s.Summary.FLOPs, s.Summary.Bytes)
	}
	w.Flush()
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

// String is one line: "applied  %y = mul (mlp.fs:2:10): reason [%z]".
func (d Rewrite) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s  %s", d.Action, d.Site)
	if d.Pos.IsKnown() {
		fmt.Fprintf(&b, " (%v)", d.Pos)
	}
	b.WriteString(": " + d.Reason)
	if len(d.Values) > 0 {
		b.WriteString(" [" + strings.Join(d.Values, ", ") + "]")
	}
	return b.String()
}

// Display shows the explanation.
func (r *Result) Display() display.Bundle { return display.Text(r.Explain()) }

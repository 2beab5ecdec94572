package explain

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"forgekernel/display"
	"forgekernel/forge/analysis"
	"forgekernel/forge/pass"
	"forgekernel/forge/plan"
)

// Text is the report for a terminal of 80 columns, with ANSI colours if asked for.
func (r *Report) Text(colour bool) string { return r.TextWithin(80, colour) }

// TextWithin is the report for a terminal of any width; sentences have no more than
// [proseWidth] columns.
func (r *Report) TextWithin(width int, colour bool) string {
	t := texter{width: width, colour: colour}
	t.header(r)
	t.passes(r)
	t.decisions(r)
	t.memory(r.Memory)
	t.kernels(r)
	t.tuning(r)
	t.analysis(r.Analysis)
	t.delta(r.Delta)
	return t.b.String()
}

// texter writes the sections of a report.
type texter struct {
	b      strings.Builder
	width  int
	colour bool
}

// ANSI attributes.
const (
	bold   = "1"
	faint  = "2"
	green  = "32"
	yellow = "33"
)

func (t *texter) paint(attribute, s string) string {
	if !t.colour {
		return s
	}
	return "\x1b[" + attribute + "m" + s + "\x1b[0m"
}

func (t *texter) line(format string, args ...any) { fmt.Fprintf(&t.b, format+"\n", args...) }

// proseWidth is how wide sentences are at most: longer lines are hard to read.
const proseWidth = 100

// lines writes a text of any length, broken at spaces, behind a first indent and below
// it behind another.
func (t *texter) lines(first, other, text string) {
	left := min(t.width, proseWidth) - len(other)
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > left {
			t.line("%s%s", first, line)
			first, line = other, ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	t.line("%s%s", first, line)
}

func (t *texter) heading(title, note string) {
	first := "\n" + t.paint(bold, title)
	for _, part := range display.Wrap(note, t.width-len(title)-2) {
		t.line("%s  %s", first, t.paint(faint, part))
		first = strings.Repeat(" ", len(title))
	}
}

// table writes rows under the heading, indented.
func (t *texter) table(table display.Table) {
	head := true
	for line := range strings.SplitSeq(strings.TrimRight(table.TextWithin(t.width-2), "\n"), "\n") {
		rule := strings.Trim(line, "- ") == ""
		if head {
			line = t.paint(faint, line)
		}
		head = head && !rule
		t.line("  %s", line)
	}
}

func (t *texter) header(r *Report) {
	t.line("%s  on %s, from %s", t.paint(bold, r.Program), r.Backend, r.Source)
	for _, v := range r.Inputs {
		t.line("  input   %%%s: %s", v.Name, v.spec())
	}
	for _, v := range r.Outputs {
		t.line("  output  %%%s: %s", v.Name, v.spec())
	}
}

func (t *texter) passes(r *Report) {
	t.heading("Passes", "the program after each")
	table := display.Table{Columns: []display.Column{
		{Name: "after"}, {Name: "nodes"}, {Name: "consts"}, {Name: "FLOPs", Align: display.AlignRight},
		{Name: "traffic", Align: display.AlignRight}, {Name: "applied"}, {Name: "declined"},
	}}
	for i, p := range r.Passes {
		row := []any{p.Name, p.Summary.Nodes, p.Summary.Constants, flopText(p.Summary.FLOPs), display.FormatBytes(p.Summary.Bytes)}
		if i > 0 {
			row = append(row, p.Applied, p.Declined)
		}
		table.Rows = append(table.Rows, row)
	}
	t.table(table)
}

func (t *texter) decisions(r *Report) {
	t.heading("Decisions", "what was done, and what was not and why")
	none := true
	for _, p := range r.Passes {
		if len(p.Sites) == 0 {
			continue
		}
		none = false
		t.line("  %s", p.Name)
		for _, s := range p.Sites {
			mark := t.paint(green, "+")
			if s.Action == pass.Declined {
				mark = t.paint(yellow, "-")
			}
			t.lines("    "+mark+" ", "      ", siteText(s))
		}
	}
	if none {
		t.line("  the passes found nothing to decide")
	}
}

// siteText is "%y = mul, mlp.fs:2:10: reason (%z)".
func siteText(s pass.Rewrite) string {
	text := s.Site
	if s.Pos.IsKnown() {
		text += ", " + s.Pos.String()
	}
	return text + ": " + reasonText(s)
}

// reasonText is the reason, the values that decided, and whether elements may
// change by a bounded amount.
func reasonText(s pass.Rewrite) string {
	text := s.Reason
	if len(s.Values) > 0 {
		text += " (" + strings.Join(s.Values, ", ") + ")"
	}
	if s.Action == pass.Applied && !s.Exact {
		text += ", within bounds instead of to the bit"
	}
	return text
}

func (t *texter) memory(p *plan.Plan) {
	t.heading("Memory", "of intermediate values; inputs, constants and outputs have their own")
	t.lines("  ", "  ", p.Headline())
	t.lines("  ", "  ", planText(p))
	table := display.Table{Columns: []display.Column{
		{Name: "value"}, {Name: "bytes", Align: display.AlignRight}, {Name: "place"}, {Name: "steps"}, {Name: ""},
	}}
	for _, v := range placed(p) {
		table.Rows = append(table.Rows, []any{"%" + v.Name, display.FormatBytes(v.Bytes), where(v), steps(v), note(v)})
	}
	if len(table.Rows) > 0 {
		t.table(table)
	}
}

// planText says how a plan was found.
func planText(p *plan.Plan) string {
	return fmt.Sprintf("%s, %s; schedule “%s”, packing “%s”, the best of %s", display.Count(len(p.Slots), "slot"), display.Count(len(p.Steps), "step"), p.Policy, p.Packing, display.Count(len(p.Candidates), "candidate"))
}

// placed are the values that the program computes or takes a view of.
func placed(p *plan.Plan) []plan.Value {
	return slices.DeleteFunc(slices.Clone(p.Values), func(v plan.Value) bool {
		return v.Place == plan.InConstant || v.Place == plan.InInput && v.ViewOf == "" && v.Donated == ""
	})
}

func where(v plan.Value) string {
	if v.Place != plan.InSlot {
		return string(v.Place)
	}
	return fmt.Sprintf("slot %d + %d", v.Slot, v.Offset)
}

func steps(v plan.Value) string { return fmt.Sprintf("%d-%d", v.Start, v.End) }

// note says why a value stands where it does, if that is not plain.
func note(v plan.Value) string {
	var notes []string
	if v.ViewOf != "" {
		notes = append(notes, "view of %"+v.ViewOf)
	}
	if v.Donated != "" {
		notes = append(notes, "in place of %"+v.Donated)
	}
	if v.Copied {
		notes = append(notes, "copied out")
	}
	return strings.Join(notes, ", ")
}

func (t *texter) kernels(r *Report) {
	t.heading("Kernels", "what "+r.Backend+" runs for each node")
	for _, note := range r.Notes {
		t.lines("  ", "  ", note)
	}
	table := display.Table{Columns: []display.Column{{Name: "value"}, {Name: "kernel"}, {Name: "why"}}}
	for _, k := range r.Kernels {
		name := k.Kernel
		if name == "" {
			name = "none"
		}
		table.Rows = append(table.Rows, []any{k.Value, name, k.Reason})
	}
	t.table(table)
}

// tuning is the summary of the record; all samples are in the JSON form.
func (t *texter) tuning(r *Report) {
	if r.TuningIgnored != "" {
		t.heading("Tuning", "none")
		t.lines("  ", "  ", r.TuningIgnored)
	}
	if r.Tuning == nil {
		return
	}
	t.heading("Tuning", "schedules that were measured, and the quickest")
	table := r.Tuning.Summary()
	table.Title = ""
	t.table(table)
	t.lines("  ", "  ", r.Tuning.Verdict())
}

func (t *texter) analysis(a *analysis.Analysis) {
	t.heading("Analysis", "* marks the critical path, the chain with the most FLOPs")
	table := display.Table{Columns: []display.Column{
		{Name: ""}, {Name: "value"}, {Name: "kind"}, {Name: "result"}, {Name: "FLOPs", Align: display.AlignRight},
		{Name: "traffic", Align: display.AlignRight}, {Name: "FLOP/B"}, {Name: "depth"},
	}}
	for _, n := range a.Nodes {
		mark := ""
		if n.Critical {
			mark = "*"
		}
		table.Rows = append(table.Rows, []any{mark, n.Value, kind(n), n.DType + shapeText(n.Shape), flopText(n.FLOPs), display.FormatBytes(n.Bytes), n.Intensity(), n.Depth})
	}
	t.table(table)
	total := a.Totals
	t.lines("  ", "  ", fmt.Sprintf("in all %s FLOPs, %s of traffic, %.3g FLOP/B; %s, %s, %s; depth %d", flopText(total.FLOPs), display.FormatBytes(total.Bytes), total.Intensity(),
		display.Count(total.Kernels, "kernel"), display.Count(total.Views, "view"), display.Count(total.Constants, "constant"), total.Depth))
	t.lines("  ", "    ", fmt.Sprintf("critical path %s: %s FLOPs%s", strings.Join(a.Critical.Values, " > "), flopText(a.Critical.FLOPs), share(a.Critical.FLOPs, total.FLOPs)))
	for i, v := range a.Top {
		n, _ := a.Node(v)
		t.lines(fmt.Sprintf("  top %d  ", i+1), "         ", fmt.Sprintf("%s = %s: %s FLOPs%s", v, kind(n), flopText(n.FLOPs), share(n.FLOPs, total.FLOPs)))
	}
}

// namedOps is how many operators of a fused region a table names: a line has its
// length. The program after the pass has them all.
const namedOps = 8

// kind is the operator, with those of a fused region.
func kind(n analysis.Node) string {
	if len(n.Body) == 0 {
		return n.Op
	}
	ops := slices.DeleteFunc(slices.Clone(n.Body), func(op string) bool { return op == "const" })
	if more := len(ops) - namedOps; more > 1 {
		ops = append(ops[:namedOps], fmt.Sprintf("and %d more", more))
	}
	return n.Op + "(" + strings.Join(ops, ", ") + ")"
}

// share is ", 42 % of all".
func share(part, whole int64) string {
	if whole == 0 {
		return ""
	}
	return fmt.Sprintf(", %.0f %% of all", 100*float64(part)/float64(whole))
}

func (t *texter) delta(d analysis.Delta) {
	t.heading("Optimisation", "against the program as written")
	table := display.Table{Columns: []display.Column{
		{Name: ""}, {Name: "as written", Align: display.AlignRight}, {Name: "optimised", Align: display.AlignRight}, {Name: "change", Align: display.AlignRight},
	}}
	for _, f := range d.Figures() {
		table.Rows = append(table.Rows, []any{f.Name, figure(f, f.Before), figure(f, f.After), change(f.Change())})
	}
	t.table(table)
}

func figure(f analysis.Figure, n int64) string {
	if f.Bytes {
		return display.FormatBytes(n)
	}
	return flopText(n)
}

package capture

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"
	"time"

	"forgekernel/display"
	"forgekernel/forge/plan"
)

// ErrDirty is why a report refuses a capture that no commit can reproduce.
var ErrDirty = errors.New("the program that took the capture was not built from a clean commit")

// Report shows a capture that was verified.
type Report struct {
	capture *Capture
	hash    string
	plans   []*plan.Plan // one for each workload
}

// NewReport verifies a capture and makes a report of it. A capture whose program
// was not built from a clean commit is refused with [ErrDirty], unless allowed.
func NewReport(c *Capture, allowDirty bool) (*Report, error) {
	if err := Verify(c); err != nil {
		return nil, err
	}
	if c.Environment.Tree != Clean && !allowDirty {
		return nil, fmt.Errorf("%w: its working tree is %s", ErrDirty, c.Environment.Tree)
	}
	r := &Report{capture: c}
	var err error
	if r.hash, err = Hash(c); err != nil {
		return nil, err
	}
	for i := range c.Workloads {
		p, err := c.Workloads[i].MemoryPlan()
		if err != nil {
			return nil, err
		}
		r.plans = append(r.plans, p)
	}
	return r, nil
}

func right(name string) display.Column { return display.Column{Name: name, Align: display.AlignRight} }

// environment is a table of fields.
func (r *Report) environment() display.Table {
	c, e := r.capture, &r.capture.Environment
	rows := [][2]string{
		{"capture", c.ID},
		{"SHA-256", r.hash},
		{"taken", c.Taken.Format(time.RFC3339)},
	}
	rows = append(rows, e.rows()...)
	rows = append(rows,
		[2]string{"load average", fmt.Sprintf("%s before, %s after", cmp.Or(e.LoadBefore, "unknown"), cmp.Or(e.LoadAfter, "unknown"))},
		[2]string{"samples", c.Settings.String()},
		[2]string{"ranks and verdicts", verdictRule},
		[2]string{"seed of the inputs", fmt.Sprint(c.Settings.Seed)},
	)
	for _, p := range peerList(e) {
		rows = append(rows, [2]string{"peer " + p.name, p.versions})
	}
	return fields("Where and how", rows)
}

func fields(title string, rows [][2]string) display.Table {
	t := display.Table{Title: title, Columns: []display.Column{{Name: "field", Align: display.AlignLeft}, {Name: "value", Align: display.AlignLeft}}}
	for _, row := range rows {
		t.Rows = append(t.Rows, []any{row[0], row[1]})
	}
	return t
}

// rows are what is known of a machine and a program.
func (e *Environment) rows() [][2]string {
	return [][2]string{
		{"commit", cmp.Or(e.Commit, "unknown") + ", tree " + string(cmp.Or(e.Tree, UnknownTree))},
		{"processor", cmp.Or(e.CPU, "unknown")},
		{"instruction sets", cmp.Or(strings.Join(e.ISA, " "), "unknown")},
		{"cores", fmt.Sprintf("%d, GOMAXPROCS %d", e.Cores, e.GoThreads)},
		{"memory", display.FormatBytes(int64(min(e.Memory, 1<<62)))},
		{"system", cmp.Or(strings.TrimSpace(e.Platform+" "+e.System), "unknown")},
		{"Go", cmp.Or(e.Go, "unknown")},
		{"C compiler", cmp.Or(e.Compiler, "none found")},
		{"GPU", cmp.Or(strings.Join(e.GPUs, ", "), "none found")},
		{"GPU driver", cmp.Or(e.Driver, "none found")},
		{"NVRTC", cmp.Or(e.NVRTC, "not used")},
		{"limits of one core", e.Limits.String()},
		{"variables", cmp.Or(pairs(e.Variables), "none set")},
	}
}

// Table shows what is known of the machine and the program.
func (e *Environment) Table() display.Table { return fields("", e.rows()) }

// Display shows the table.
func (e *Environment) Display() display.Bundle { return e.Table().Display() }

// String says how samples were taken.
func (s Settings) String() string {
	text := fmt.Sprintf("%d of each candidate, in turn, each of at least %v; %d runs of warm-up", s.Samples, s.MinSample, s.Warmup)
	if s.Budget > 0 {
		text += fmt.Sprintf("; none begun %v after the first", s.Budget)
	}
	if s.Blocks > 0 {
		text += fmt.Sprintf("; in %d blocks over %v, prepared anew for each; an interval is of the medians of the blocks", s.Blocks, s.Spread)
	}
	return text
}

// libraries is a table of modules.
func (r *Report) libraries() display.Table {
	t := display.Table{Title: "Libraries", Columns: []display.Column{{Name: "module"}, {Name: "version"}}}
	for _, path := range slices.Sorted(maps.Keys(r.capture.Environment.Libraries)) {
		t.Rows = append(t.Rows, []any{path, r.capture.Environment.Libraries[path]})
	}
	return t
}

// memory is the table of all plans.
func (r *Report) memory() display.Table {
	t := display.Table{
		Title:   "Memory plans, proved again",
		Columns: []display.Column{{Name: "workload"}, right("planned"), right("without reuse"), right("lower bound"), right("ratio"), right("slots"), right("kernels"), {Name: "schedule"}, {Name: "packing"}},
	}
	for i, p := range r.plans {
		t.Rows = append(t.Rows, []any{
			r.capture.Workloads[i].Name, display.FormatBytes(p.Planned), display.FormatBytes(p.Naive), display.FormatBytes(p.Lower),
			fmt.Sprintf("%.3f", p.Ratio()), len(p.Slots), len(p.Steps), p.Policy, p.Packing,
		})
	}
	return t
}

// origin is what a workload was made from, in one line.
func (w *Workload) origin() string {
	return fmt.Sprintf("%s FLOP, %s moved at least; program %.12s, optimised %.12s",
		significant(float64(w.FLOPs)), display.FormatBytes(w.Bytes), w.Written, w.Optimised)
}

// textLine is how wide the charts of a text are, in characters.
const textLine = 78

// Text is the report as text, its tables as wide as they are: times first, and below what
// they were measured on.
func (r *Report) Text() string { return r.text(textLine, display.Table.Text) }

// TextWithin is Text in lines of width cells.
func (r *Report) TextWithin(width int) string {
	return r.text(width, func(t display.Table) string { return t.TextWithin(width) })
}

func (r *Report) text(width int, table func(display.Table) string) string {
	var b strings.Builder
	for i := range r.capture.Workloads {
		w := &r.capture.Workloads[i]
		b.WriteString(table(w.times(r.capture.Settings.Blocks)) + lines(w.origin(), width) + w.boxes(width) + "\n")
	}
	for i := range r.capture.Workloads {
		b.WriteString(table(r.capture.Workloads[i].gates()) + "\n")
	}
	b.WriteString(table(r.memory()) + "\n" + table(r.environment()))
	return b.String()
}

// lines are those of a sentence.
func lines(sentence string, width int) string {
	return strings.Join(display.Wrap(sentence, width), "\n") + "\n"
}

// Markdown is the report for a page that shows the figures of [Report.Files]
// beside it.
func (r *Report) Markdown() string {
	var b strings.Builder
	show := func(text, name string) { fmt.Fprintf(&b, "\n![%s](%s.svg)\n", escapeMarkdown(text), name) }
	fmt.Fprintf(&b, "# Capture %s\n", r.capture.ID)
	for i := range r.capture.Workloads {
		w := &r.capture.Workloads[i]
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", markdown(w.times(r.capture.Settings.Blocks)), escapeMarkdown(w.origin()), markdown(w.gates()))
		if w.timed() {
			show(distribution+" of "+w.Name, figureName(i, w.Name, distribution))
		}
		if r.plans[i].Naive > 0 {
			show(memoryPlan+" of "+w.Name, figureName(i, w.Name, memoryPlan))
		}
	}
	if _, drawn := r.Roofline(); drawn {
		show(roofline, roofline)
	}
	b.WriteString("\n" + markdown(r.memory()) + "\n" + markdown(r.environment()) + "\n" + markdown(r.libraries()))
	return b.String()
}

// timed reports whether any candidate has samples.
func (w *Workload) timed() bool {
	return slices.ContainsFunc(w.Series, func(s Series) bool { return s.Summary != nil })
}

// markdown writes a table whose cells are text in the pipe syntax.
func markdown(t display.Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", escapeMarkdown(t.Title))
	line := func(cell func(i int) string) {
		for i := range t.Columns {
			b.WriteString("| " + cell(i) + " ")
		}
		b.WriteString("|\n")
	}
	line(func(i int) string { return t.Columns[i].Name })
	line(func(i int) string {
		if t.Columns[i].Align == display.AlignRight {
			return "---:"
		}
		return "---"
	})
	for _, row := range t.Rows {
		line(func(i int) string {
			if i >= len(row) {
				return ""
			}
			return escapeMarkdown(fmt.Sprint(row[i]))
		})
	}
	return b.String()
}

// escapeMarkdown makes text that a table cell, a heading and a link can hold: a
// capture may say anything.
func escapeMarkdown(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return markdownSpecial.Replace(html.EscapeString(s))
}

var markdownSpecial = strings.NewReplacer(`\`, `\\`, `|`, `\|`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`, `!`, `\!`, `#`, `\#`)

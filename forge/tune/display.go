package tune

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/display/chart"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/capture"
)

// Display shows what was chosen and the samples of the candidates.
func (r *Record) Display() display.Bundle {
	var b strings.Builder
	b.WriteString(page(r.Summary()))
	fmt.Fprintf(&b, "<p>%s</p>\n", html.EscapeString(r.Verdict()))
	if image, err := r.Chart().HTML(); err == nil {
		b.WriteString(image + "\n")
	}
	for i := range r.Kernels {
		if k := &r.Kernels[i]; k.Note == "" {
			fmt.Fprintf(&b, "<details><summary>%s: %s</summary>%s</details>\n", html.EscapeString(k.Shape), display.Count(len(k.Candidates), "candidate"), page(k.Table(0)))
		}
	}
	return display.Bundle{Data: map[string]any{"text/html": b.String(), "text/plain": r.Text()}}
}

func page(t display.Table) string {
	text, _ := t.Display().Data["text/html"].(string)
	return text
}

// textRows is the number of candidates of a kernel in the text form; all are in
// the others.
const textRows = 6

// Text is the summary, and for each kernel its best candidates and those that were
// rejected.
func (r *Record) Text() string {
	var b strings.Builder
	b.WriteString(r.Summary().Text())
	b.WriteString("\n" + r.Verdict() + "\n")
	for i := range r.Kernels {
		if k := &r.Kernels[i]; k.Note == "" {
			b.WriteString("\n" + k.Table(textRows).Text())
		}
	}
	return b.String()
}

// Verdict says what came of the whole program.
func (r *Record) Verdict() string {
	switch {
	case r.Check == nil:
		return "The backend's own choices stand: no candidate is faster by more than what counts as a tie."
	case !r.Check.Used:
		return fmt.Sprintf("The program as tuned takes %.3f times the time of the untuned one, so that it is not used.", 1/r.Check.Ratio())
	}
	return fmt.Sprintf("The program as tuned is %.3f times as fast: %s instead of %s.", r.Check.Ratio(), micro(least(r.Check.Tuned)), micro(least(r.Check.Default)))
}

func micro(seconds float64) string { return fmt.Sprintf("%.4g µs", seconds*1e6) }

// Summary is a row for each kernel.
func (r *Record) Summary() display.Table {
	cores, peak := float64(max(r.Machine.Threads, 1)), "of a core's peak"
	if cores > 1 {
		peak = fmt.Sprintf("of the peak of %g cores", cores)
	}
	t := display.Table{
		Title: fmt.Sprintf("%s on %s, %s, %s", r.Program, cmp.Or(r.Machine.Processor, "an unknown processor"), r.Machine.Target, r.Machine.Compiler),
		Columns: []display.Column{
			{Name: "kernel"}, {Name: "times", Align: display.AlignRight}, {Name: "chosen"}, {Name: "time", Unit: "µs"}, {Name: "default", Unit: "µs"},
			{Name: "gain"}, {Name: peak, Unit: "%"}, {Name: "candidates"},
		},
	}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		if k.Note != "" {
			t.Rows = append(t.Rows, []any{k.Shape, len(k.Values), short(k.Note, noteWidth)})
			continue
		}
		best := k.Chosen().Best()
		row := []any{k.Shape, len(k.Values), k.Chosen().Schedule.String(), best * 1e6, k.Candidates[0].Best() * 1e6, fmt.Sprintf("%.3fx", k.Ratio()), nil, k.tally()}
		if r.Peak > 0 {
			row[6] = 100 * float64(k.FLOPs) / best / (r.Peak * cores)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// tally counts candidates by verdict: "20: 12 ties, 1 rejected".
func (k *Kernel) tally() string {
	count := make(map[Verdict]int)
	for _, c := range k.Candidates {
		count[c.Verdict]++
	}
	text := fmt.Sprint(len(k.Candidates))
	if n := count[Tie]; n > 0 {
		text += fmt.Sprintf(", %d tied", n)
	}
	if n := count[Rejected]; n > 0 {
		text += fmt.Sprintf(", %d rejected", n)
	}
	return text
}

// common are the parts of the schedules that all candidates share, and differing
// writes a schedule without them.
func (k *Kernel) common() (common string, differing func(cpu.Schedule) string) {
	shared := strings.Fields(k.Candidates[0].Schedule.String())
	for _, c := range k.Candidates[1:] {
		parts := strings.Fields(c.Schedule.String())
		shared = slices.DeleteFunc(shared, func(p string) bool { return !slices.Contains(parts, p) })
	}
	return strings.Join(shared, " "), func(s cpu.Schedule) string {
		parts := slices.DeleteFunc(strings.Fields(s.String()), func(p string) bool { return slices.Contains(shared, p) })
		return cmp.Or(strings.Join(parts, " "), "all of these")
	}
}

// Table lists candidates, the quickest first and the rejected ones last; of those
// that are neither chosen, rejected nor the backend's own, at most so many, 0 for
// all.
func (k *Kernel) Table(most int) display.Table {
	common, label := k.common()
	t := display.Table{Title: fmt.Sprintf("%s, for %s; all %s", k.Shape, strings.Join(k.Values, ", "), common), Columns: []display.Column{
		{Name: "schedule"}, {Name: ""}, {Name: "quickest", Unit: "µs"}, {Name: "median", Unit: "µs"}, {Name: "samples"}, {Name: "", Align: display.AlignRight},
	}}
	shown := k.sorted(most)
	for _, c := range shown {
		if c.Verdict == Rejected {
			t.Rows = append(t.Rows, []any{label(c.Schedule), "rejected: " + short(c.Error, noteWidth)})
			continue
		}
		s := capture.Summarise(c.all())
		t.Rows = append(t.Rows, []any{label(c.Schedule), k.words(c), s.Min * 1e6, s.Median * 1e6, c.Count(), k.excess(c)})
	}
	if n := len(k.Candidates) - len(shown); n > 0 {
		t.Rows = append(t.Rows, []any{fmt.Sprintf("and %d more", n)})
	}
	return t
}

// Count is the number of samples.
func (c *Candidate) Count() int { return len(c.all()) }

func (c *Candidate) all() []float64 { return slices.Concat(c.Samples, c.Again, c.Final) }

// words are the verdict, that a candidate is the backend's own choice, and that it
// was measured again.
func (k *Kernel) words(c *Candidate) string {
	text := string(c.Verdict)
	if c == &k.Candidates[0] {
		text += ", default"
	}
	if len(c.Again) > 0 {
		text += ", again"
	}
	return text
}

// excess is how much longer a candidate takes than the chosen one: "+3.1 %".
func (k *Kernel) excess(c *Candidate) string {
	return fmt.Sprintf("%+.1f %%", 100*(c.Best()/k.Chosen().Best()-1))
}

// sorted are the candidates of a table or a chart.
func (k *Kernel) sorted(most int) []*Candidate {
	var list []*Candidate
	for i := range k.Candidates {
		if k.Candidates[i].Verdict != Unmeasured {
			list = append(list, &k.Candidates[i])
		}
	}
	slices.SortStableFunc(list, func(a, b *Candidate) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Best(), b.Best()))
	})
	others := 0
	return slices.DeleteFunc(list, func(c *Candidate) bool {
		if most == 0 || c.Verdict == Chosen || c.Verdict == Rejected || c == &k.Candidates[0] {
			return false
		}
		others++
		return others > most
	})
}

// place puts the chosen candidate first and rejected ones last.
func place(c *Candidate) int {
	switch c.Verdict {
	case Chosen:
		return 0
	case Rejected:
		return 2
	}
	return 1
}

// figureRows is the number of candidates of a kernel in the chart.
const figureRows = 10

// Chart draws the samples of each kernel's candidates. Without a kernel that was
// measured it has no panels.
func (r *Record) Chart() chart.Figure {
	var list []chart.Match
	for i := range r.Kernels {
		k := &r.Kernels[i]
		if k.Note != "" {
			continue
		}
		shown := k.sorted(figureRows)
		common, label := k.common()
		m := chart.Match{Title: k.Shape + ", " + common}
		if n := len(k.Candidates) - len(shown); n > 0 {
			m.Title += fmt.Sprintf(", without %d more", n)
		}
		for _, c := range shown {
			m.Candidates = append(m.Candidates, k.row(c, label(c.Schedule)))
		}
		list = append(list, m)
	}
	return chart.Contest("Samples of the candidates of "+r.Program, r.Text(), list...)
}

// Runes of a reason in the summary, and of one in the chart.
const (
	noteWidth = 80
	maxNote   = 22
)

// short is the beginning of the first line of a text.
func short(text string, most int) string {
	line, _, more := strings.Cut(text, "\n")
	if runes := []rune(line); len(runes) > most {
		line, more = string(runes[:most]), true
	}
	if more {
		line += "…"
	}
	return line
}

// row is a candidate in the chart.
func (k *Kernel) row(c *Candidate, name string) chart.Candidate {
	row := chart.Candidate{Name: name, Times: c.all(), Colour: chart.Plain}
	switch c.Verdict {
	case Rejected:
		row.Colour, row.Note = chart.Bad, "rejected: "+short(c.Error, maxNote)
		return row
	case Chosen:
		row.Colour = chart.Good
	case Tie:
		row.Colour = chart.Close
	}
	row.Note = k.words(c)
	if c.Verdict != Chosen {
		row.Note = k.excess(c) + " " + row.Note
	}
	return row
}

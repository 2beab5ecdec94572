package capture

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"forgekernel/display"
)

// SummaryBegin and SummaryEnd are the lines of a Markdown page between which a
// summary stands.
const (
	SummaryBegin = "<!-- capture: begin -->"
	SummaryEnd   = "<!-- capture: end -->"
)

// Summary is a Markdown table of the medians of all workloads, those of the first
// optimised candidate before all others, between the lines of a page that mark it.
func (r *Report) Summary() string {
	c := r.capture
	order := summaryOrder(c.Workloads)
	var b strings.Builder
	b.WriteString(SummaryBegin + "\n| workload |")
	for _, l := range order {
		b.WriteString(" " + escapeMarkdown(l.String()) + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(order)) + "\n")
	for i := range c.Workloads {
		b.WriteString("| " + escapeMarkdown(c.Workloads[i].Name) + " |")
		for _, l := range order {
			b.WriteString(" " + c.Workloads[i].cell(l, order[0], c.Environment.Limits) + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString("\n" + r.provenance() + "\n" + SummaryEnd)
	return b.String()
}

// labels lists the candidates of all workloads, as they come.
func labels(workloads []Workload) (list []Label) {
	for _, w := range workloads {
		for _, s := range w.Series {
			if !slices.Contains(list, s.Label) {
				list = append(list, s.Label)
			}
		}
	}
	return list
}

// summaryOrder lists the candidates, the first optimised one first.
func summaryOrder(workloads []Workload) []Label {
	order := labels(workloads)
	if i := slices.IndexFunc(order, func(l Label) bool { return l.Variant == Optimised }); i > 0 {
		first := order[i]
		order = slices.Insert(slices.Delete(order, i, i+1), 0, first)
	}
	return order
}

// cell is a median, with the share of the core's limit for the candidate that the
// others are compared with, and for those how many times as long they take.
func (w *Workload) cell(l, base Label, limits *Limits) string {
	s, b := w.series(l), w.series(base)
	switch {
	case s == nil:
		return ""
	case s.Summary == nil:
		return "failed"
	case l != base && b != nil && b.Summary != nil:
		return fmt.Sprintf("%s (%.3g×)", formatTime(s.Summary.Median), s.Summary.Median/b.Summary.Median)
	case l == base && l.Threads == 1 && limits != nil && limits.FLOPs > 0:
		return fmt.Sprintf("%s, %.2g %%", formatTime(s.Summary.Median), min(100*float64(w.FLOPs)/s.Summary.Median/limits.FLOPs, 99))
	}
	return formatTime(s.Summary.Median)
}

// series is that of a label; nil if there is none.
func (w *Workload) series(l Label) *Series {
	i := slices.IndexFunc(w.Series, func(s Series) bool { return s.Label == l })
	if i < 0 {
		return nil
	}
	return &w.Series[i]
}

// provenance says in a paragraph what the numbers are and where they come from.
func (r *Report) provenance() string {
	c, e := r.capture, &r.capture.Environment
	text := fmt.Sprintf("Median time of a call over %s, taken in turn in one run; × is how many times as long that is as the first column.", display.Count(c.Settings.Samples, "sample"))
	if l := e.Limits; l != nil && l.FLOPs > 0 {
		text += fmt.Sprintf(" %% is of the multiply-add limit of one core, %s GFLOP/s.", significant(l.FLOPs/1e9))
	}
	text += fmt.Sprintf(" Taken on %s, commit %.12s, on %s (%s, %s, load average %s to %s).",
		c.Taken.Format("2 January 2006"), cmp.Or(e.Commit, "unknown"), cmp.Or(e.CPU, "an unknown processor"), display.Count(e.Cores, "core"), cmp.Or(e.Compiler, "no C compiler"), cmp.Or(e.LoadBefore, "unknown"), cmp.Or(e.LoadAfter, "unknown"))
	for _, p := range peerList(e) {
		text += fmt.Sprintf(" %s: %s.", p.name, p.versions)
	}
	text += fmt.Sprintf(" SHA-256 of the capture: %.12s.", r.hash)
	return escapeMarkdown(text)
}

// peerVersions are what peers with equal versions run on.
type peerVersions struct{ name, versions string }

// peerList groups the peers by their versions, in order of their names.
func peerList(e *Environment) (list []peerVersions) {
	for _, name := range slices.Sorted(maps.Keys(e.Peers)) {
		var facts []string
		for _, k := range slices.Sorted(maps.Keys(e.Peers[name])) {
			facts = append(facts, k+" "+e.Peers[name][k])
		}
		versions := strings.Join(facts, ", ")
		if i := slices.IndexFunc(list, func(p peerVersions) bool { return p.versions == versions }); i >= 0 {
			list[i].name += ", " + name
		} else {
			list = append(list, peerVersions{name, versions})
		}
	}
	return list
}

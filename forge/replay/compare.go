package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"forgekernel/display"
)

// Change is what differs in one stage of one model.
type Change struct {
	Model string
	Stage string // the section: a pass, or a plan
	// First says that no earlier stage of the model differs: it is this stage
	// that altered the outcome, and later ones may only pass it on.
	First bool
	Diff  string // unified, with "old" and "new"
}

// Report is all changes, in order of the models and stages.
type Report []Change

// Compare lists what differs between two sets of records.
func Compare(old, new []*Record) Report {
	var report Report
	for _, model := range union(names(old), names(new)) {
		report = append(report, compareModels(find(old, model), find(new, model))...)
	}
	return report
}

func names(records []*Record) []string {
	var list []string
	for _, r := range records {
		list = append(list, r.Model)
	}
	return list
}

func find(records []*Record, model string) *Record {
	for _, r := range records {
		if r.Model == model {
			return r
		}
	}
	return &Record{Model: model}
}

// union lists what is in old or new: the order is that of new, and what is only
// in old stands behind what it followed there.
func union(old, new []string) []string {
	list := slices.Clone(new)
	at := 0
	for _, name := range old {
		if i := slices.Index(list, name); i >= 0 {
			at = i + 1
			continue
		}
		list = slices.Insert(list, at, name)
		at++
	}
	return list
}

// compareModels compares stage by stage. A stage that one of the records lacks,
// as a pass that did not run, left what the stage before it made.
func compareModels(old, new *Record) Report {
	if len(old.Sections) == 0 || len(new.Sections) == 0 {
		what := "it is new"
		if len(new.Sections) == 0 {
			what = "it is gone"
		}
		return Report{{Model: new.Model, Stage: "the model", First: true, Diff: what + "\n"}}
	}
	var report Report
	var before, after string
	for _, stage := range union(stages(old), stages(new)) {
		if s := old.section(stage); s != nil {
			before = s.Text
		}
		if s := new.section(stage); s != nil {
			after = s.Text
		}
		if before != after {
			report = append(report, Change{
				Model: new.Model, Stage: stage, First: len(report) == 0,
				Diff: string(diff.Diff("old", []byte(before), "new", []byte(after))),
			})
		}
	}
	return report
}

func stages(r *Record) []string {
	var list []string
	for _, s := range r.Sections {
		list = append(list, s.Name)
	}
	return list
}

// String shows the changes for a terminal.
func (r Report) String() string {
	if len(r) == 0 {
		return "nothing changed\n"
	}
	var b strings.Builder
	for i, c := range r {
		if c.First {
			if i > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "%s: %s changed first%s\n", c.Model, c.Stage, r.followers(i))
		}
		if !c.First && c.Diff == r[i-1].Diff {
			fmt.Fprintf(&b, "\n%s, %s: the same difference\n", c.Model, c.Stage)
			continue
		}
		fmt.Fprintf(&b, "\n%s, %s:\n", c.Model, c.Stage)
		for line := range strings.Lines(c.Diff) {
			if !strings.HasPrefix(line, "diff ") && !strings.HasPrefix(line, "--- ") && !strings.HasPrefix(line, "+++ ") {
				b.WriteString("  " + line)
			}
		}
	}
	return b.String()
}

// followers names the later stages of the same model that differ.
func (r Report) followers(first int) string {
	var list []string
	for _, c := range r[first+1:] {
		if c.First {
			break
		}
		list = append(list, c.Stage)
	}
	if len(list) == 0 {
		return ""
	}
	return ", then " + strings.Join(list, ", ")
}

// Display shows the report as text and as a table of diffs.
func (r Report) Display() display.Bundle {
	b := display.Text(r.String())
	if len(r) == 0 {
		return b
	}
	t := display.Table{Title: "What changed", Columns: []display.Column{{Name: "model"}, {Name: "stage"}, {Name: "changed first"}, {Name: "lines removed"}, {Name: "lines added"}}}
	for _, c := range r {
		first := ""
		if c.First {
			first = "yes"
		}
		t.Rows = append(t.Rows, []any{c.Model, c.Stage, first, c.lines("-"), c.lines("+")})
	}
	b.Data["text/html"] = t.Display().Data["text/html"]
	return b
}

// lines counts the lines of a diff that begin with a sign.
func (c Change) lines(sign string) int {
	n := 0
	for line := range strings.Lines(c.Diff) {
		if strings.HasPrefix(line, sign) && !strings.HasPrefix(line, sign+sign+sign+" ") {
			n++
		}
	}
	return n
}

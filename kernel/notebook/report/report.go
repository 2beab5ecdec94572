// Package report makes a page of an executed notebook for readers who were not there:
// the notebook itself, with every measurement drawn again from its capture, and pages
// on the run, the machine and how to do it again.
//
// A capture that does not prove itself is an error: nothing is drawn from it.
package report

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/capture"
	"forgekernel/kernel/notebook"
	"forgekernel/kernel/notebook/runner"
	"forgekernel/kernel/notebook/verify"
)

// Source is the notebook as it was found.
type Source struct {
	Name   string // of its file, without folders
	SHA256 string // of the file
}

// ErrNoRecord refuses a notebook that does not say where it was run.
var ErrNoRecord = errors.New("it has no record of a run: execute it with forge notebook run first")

// measurement is a capture that cells show.
type measurement struct {
	cells   []int // by the numbers of their execution
	capture *capture.Capture
	hash    string
}

// add records that a cell shows captures.
func add(found []measurement, cell int, captures []*capture.Capture) ([]measurement, error) {
	for _, c := range captures {
		hash, err := capture.Hash(c)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(found, func(m measurement) bool { return m.hash == hash })
		if i < 0 {
			i, found = len(found), append(found, measurement{capture: c, hash: hash})
		}
		if !slices.Contains(found[i].cells, cell) {
			found[i].cells = append(found[i].cells, cell)
		}
	}
	return found, nil
}

// Build returns a copy of an executed notebook with the pages at its end. It fails for
// one without the record of a run, and for one whose captures do not prove themselves.
func Build(nb *notebook.Notebook, src Source) (*notebook.Notebook, error) {
	record := runner.Recorded(nb)
	if record == nil {
		return nil, ErrNoRecord
	}
	out := *nb
	out.Cells = nil
	var found []measurement
	for i, c := range nb.Cells {
		copied := *c
		var err error
		if found, err = redraw(&copied, found); err != nil {
			return nil, fmt.Errorf("%v: %w", nb.Place(i), err)
		}
		out.Cells = append(out.Cells, &copied)
	}
	edited := record.Code != runner.CodeHash(nb)
	for _, page := range []string{
		"# About this run\n\n## How to reproduce it\n\n" + reproduce(record, src, found, edited),
		"## Run\n\n" + table(run(record, src, edited)),
		"## Environment\n\n" + table(environment(record, found)),
		"## Measurements\n\n" + measurements(found),
		"## Libraries\n\n" + libraries(record, found),
	} {
		out.Insert(len(out.Cells), &notebook.Cell{Type: notebook.Markdown, Source: page})
	}
	return &out, nil
}

// redraw replaces what measurements of a cell show by what their captures show, and adds
// those to the ones found before. What a cell drew itself from a capture stays.
func redraw(c *notebook.Cell, found []measurement) ([]measurement, error) {
	outputs := slices.Clone(c.Outputs)
	for i, o := range outputs {
		if _, ok := o.Data[capture.MIMEType]; !ok {
			continue
		}
		taken, err := verify.Measured(o)
		if err != nil {
			return nil, err
		}
		if found, err = add(found, c.ExecutionCount, taken.Captures); err != nil {
			return nil, err
		}
		drawn := *o
		switch drawn.Data, err = taken.Redraw(); {
		case errors.Is(err, errors.ErrUnsupported):
			drawn.Data = o.Data
		case err != nil:
			return nil, err
		}
		outputs[i] = &drawn
	}
	c.Outputs = outputs
	return found, nil
}

// table is a table as HTML in Markdown, which ends at an empty line.
func table(t display.Table) string {
	text, _ := display.ToBundle(t).Data["text/html"].(string)
	return strings.ReplaceAll(text, "\n\n", "\n")
}

func fields(rows ...[2]string) display.Table {
	t := display.Table{Columns: []display.Column{{Name: "field", Align: display.AlignLeft}, {Name: "value", Align: display.AlignLeft}}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []any{r[0], r[1]})
	}
	return t
}

// where is the environment of the run, or else of what was measured in it.
func where(r *runner.Record, found []measurement) *capture.Environment {
	switch {
	case r.Environment != nil:
		return r.Environment
	case len(found) > 0:
		return &found[0].capture.Environment
	}
	return &capture.Environment{}
}

func reproduce(r *runner.Record, src Source, found []measurement, edited bool) string {
	e := where(r, found)
	params := ""
	for _, name := range slices.Sorted(maps.Keys(r.Parameters)) {
		params += " --param " + quoted(name+"="+r.Parameters[name])
	}
	lines := []string{
		"git checkout " + quoted(cmp.Or(e.Commit, "COMMIT")) + "    # of the repository of the workbench",
		"make build",
		"bin/forge notebook verify " + quoted(src.Name) + "    # runs it again, and compares",
		"bin/forge notebook run " + quoted(src.Name) + params + " -o again.ipynb",
	}
	text := "<pre>" + html.EscapeString(strings.Join(lines, "\n")) + "</pre>\n\n"
	for _, w := range warnings(r, e, edited) {
		text += "**" + w + "**\n\n"
	}
	return text + "Times are of the machine below: on the same one, every interval that a new run states should overlap the one here. On another one the results must be the same, and only the times may be others.\n"
}

// warnings say what stands in the way of doing it again.
func warnings(r *runner.Record, e *capture.Environment, edited bool) (list []string) {
	if edited {
		list = append(list, "Code of the notebook was edited after it ran: what it shows is of other code.")
	}
	if r.Status != "ok" {
		list = append(list, "The run ended early: it has the status “"+html.EscapeString(r.Status)+"”.")
	}
	if e.Tree != capture.Clean {
		list = append(list, "The program was not built from a clean commit, so that no commit reproduces it.")
	}
	return list
}

// quoted is an argument of a shell.
func quoted(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func run(r *runner.Record, src Source, edited bool) display.Table {
	params := []string{}
	for _, name := range slices.Sorted(maps.Keys(r.Parameters)) {
		params = append(params, name+"="+r.Parameters[name])
	}
	code := r.Code
	if edited {
		code += ", which the code no longer has"
	}
	return fields(
		[2]string{"notebook", src.Name},
		[2]string{"SHA-256 of the file", src.SHA256},
		[2]string{"SHA-256 of the code", code},
		[2]string{"run", r.ID},
		[2]string{"started", r.Started},
		[2]string{"finished", r.Finished},
		[2]string{"status", r.Status},
		[2]string{"kernel", cmp.Or(r.Kernel, "unknown")},
		[2]string{"parameters", cmp.Or(strings.Join(params, ", "), "as the notebook sets them")},
	)
}

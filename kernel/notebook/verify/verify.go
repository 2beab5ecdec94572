// Package verify executes a notebook again and compares what it shows with
// what is stored in it.
//
// What a cell prints is compared as one text for stdout and one for stderr,
// everything else output by output, form by form:
//
//   - Text is compared line by line. Runs of blanks, and of the characters that
//     rules are drawn with, count as one, since columns follow the widest
//     entry. Numbers may be off by the tolerances; whole numbers may not.
//     Durations ("1.5 ms", "1m2s"), rates ("3 GB/s"), addresses, dates, times of
//     day, UUIDs and numbers of goroutines are equal to any other of their kind.
//   - HTML and SVG are compared as text, one line for each tag.
//   - JSON is compared as values, with the tolerances for numbers.
//   - Images are decoded; a share of the pixels may differ.
//   - Of errors the name and the message are compared as text.
//
// A cell that had failed may fail again. Tags choose otherwise for a cell:
// "timing" runs it and does not compare, for cells that show bare measurements,
// and so does nbval's "nbval-ignore-output"; "nbval-skip" does not run it.
package verify

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"forgekernel/kernel/notebook"
	"forgekernel/kernel/notebook/runner"
)

// Tags of cells that are treated apart.
const (
	TagTiming       = "timing"
	TagIgnoreOutput = "nbval-ignore-output"
	TagSkip         = "nbval-skip"
)

// Options say how to run and to compare.
type Options struct {
	Runner runner.Options
	// Abs and Rel are how far a number may be off: by Abs, or by Rel times the
	// stored number. Defaults 1e-8 and 1e-5.
	Abs, Rel float64
	// Pixels is the share of the pixels of an image that may differ visibly.
	// Default 0.001.
	Pixels float64
}

// ErrNeverRun refuses a notebook without results: no code cell has an execution
// count or outputs.
var ErrNeverRun = errors.New("it stores no results to compare with: execute it first")

// Run executes a copy of nb and compares. When the run itself fails, its error
// is returned beside a report on the cells that were reached.
func Run(ctx context.Context, nb *notebook.Notebook, opts Options) (*Report, error) {
	if neverRun(nb) {
		return nil, ErrNeverRun
	}
	fresh, err := clone(nb)
	if err != nil {
		return nil, err
	}
	for _, c := range fresh.Cells {
		if c.HasTag(TagSkip) {
			addTag(c, runner.TagSkip)
		}
		if hasError(c) {
			addTag(c, runner.TagRaisesException)
		}
	}
	reached := &progress{Observer: opts.Runner.Observer, ended: map[*notebook.Cell]error{}}
	if reached.Observer == nil {
		reached.Observer = runner.Silent{}
	}
	opts.Runner.Observer = reached
	err = runner.Run(ctx, fresh, opts.Runner)
	return compareNotebooks(nb, fresh, reached.ended, opts.tolerance()), err
}

// neverRun reports whether there is code, and nothing that it gave.
func neverRun(nb *notebook.Notebook) bool {
	some := false
	for _, c := range nb.Cells {
		if c.ExecutionCount > 0 || len(c.Outputs) > 0 {
			return false
		}
		some = some || c.Type == notebook.Code && strings.TrimSpace(c.Source) != ""
	}
	return some
}

func addTag(c *notebook.Cell, tag string) {
	list, _ := c.Metadata["tags"].([]any)
	c.Metadata["tags"] = append(list, tag)
}

func (o Options) tolerance() tolerance {
	t := tolerance{abs: o.Abs, rel: o.Rel, pixels: o.Pixels}
	if t.abs == 0 {
		t.abs = 1e-8
	}
	if t.rel == 0 {
		t.rel = 1e-5
	}
	if t.pixels == 0 {
		t.pixels = 0.001
	}
	return t
}

// clone copies a notebook by way of its file.
func clone(nb *notebook.Notebook) (*notebook.Notebook, error) {
	var b bytes.Buffer
	if err := nb.Write(&b); err != nil {
		return nil, err
	}
	return notebook.Read(&b)
}

// progress notes how cells ended.
type progress struct {
	runner.Observer
	ended map[*notebook.Cell]error
}

// End implements runner.Observer.
func (p *progress) End(index int, c *notebook.Cell, took time.Duration, err error) {
	p.ended[c] = err
	p.Observer.End(index, c, took, err)
}

// compareNotebooks pairs the cells by id: the fresh notebook may have one more,
// with parameters.
func compareNotebooks(stored, fresh *notebook.Notebook, ended map[*notebook.Cell]error, tol tolerance) *Report {
	byID := map[string]*notebook.Cell{}
	for _, c := range fresh.Cells {
		byID[c.ID] = c
	}
	r := &Report{Same: true}
	for i, c := range stored.Cells {
		if c.Type != notebook.Code {
			continue
		}
		again := byID[c.ID]
		err, ran := ended[again]
		cell := CellReport{Index: i, ID: c.ID}
		switch {
		case tagOf(c, TagSkip, runner.TagSkip, runner.TagInjected) != "":
			cell.Status, cell.Reason = Ignored, "not run: tagged "+tagOf(c, TagSkip, runner.TagSkip, runner.TagInjected)
		case strings.TrimSpace(c.Source) == "":
			cell.Status = Same
		case !ran:
			cell.Status = NotRun
		case err != nil && !isExpected(err, c):
			cell.Status, cell.Error = Failed, err.Error()
		case tagOf(c, TagTiming, TagIgnoreOutput) != "":
			cell.Status, cell.Reason = Ignored, "not compared: tagged "+tagOf(c, TagTiming, TagIgnoreOutput)
		default:
			cell.Status, cell.Differences = Same, tol.outputs(c.Outputs, again.Outputs)
			if len(cell.Differences) > 0 {
				cell.Status = Differs
			}
		}
		r.add(cell)
	}
	return r
}

// tagOf is the first of some tags that a cell has, or "".
func tagOf(c *notebook.Cell, tags ...string) string {
	for _, tag := range tags {
		if c.HasTag(tag) {
			return tag
		}
	}
	return ""
}

// isExpected reports the failure of a cell that had failed before.
func isExpected(err error, c *notebook.Cell) bool {
	var cellErr *runner.CellError
	return errors.As(err, &cellErr) && hasError(c)
}

func hasError(c *notebook.Cell) bool {
	for _, o := range c.Outputs {
		if o.Type == notebook.Error {
			return true
		}
	}
	return false
}

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
//   - Meters ([display.Progress]) are left out, since a quick run shows none.
//   - An output that carries a capture is a measurement. The stored capture has to
//     prove itself: its hash is that of its content, everything in it follows from
//     its samples, and it is the one whose hash the output states. Programs, inputs
//     and candidates of the new one must be the same, its results right, and every
//     interval that the two state must overlap, on the same machine.
//
// What is stored must be fit to be shown in any case: pictures that decode, SVG that is
// XML, HTML that is not empty.
//
// A cell is identical when nothing at all differs, and within tolerance when what
// differs may. A cell that had failed may fail again. Tags choose otherwise for a cell:
// "timing" runs it and does not compare, for cells that show bare times, and so does
// nbval's "nbval-ignore-output"; "nbval-skip" does not run it. "measured" is for verdicts
// that follow from times, and compares them where times are compared. A cell that showed on
// one host that something is missing there ([display.Skipped]) is not compared either.
package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"forgekernel/forge/capture"
	"forgekernel/kernel/notebook"
	"forgekernel/kernel/notebook/runner"
)

// Tags of cells that are treated apart.
const (
	TagTiming       = "timing"
	TagIgnoreOutput = "nbval-ignore-output"
	TagSkip         = "nbval-skip"
	TagMeasured     = "measured"
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
	// SkipTimes leaves the intervals of measurements uncompared, which only a machine
	// without other work repeats. All else of them is.
	SkipTimes bool
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
			addTag(c, notebook.TagSkip)
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
	r := compareNotebooks(nb, fresh, reached.ended, opts)
	r.Fresh = fresh
	restoreTags(fresh, nb)
	r.Notes = notes(nb, opts.Runner.Environment)
	return r, err
}

// Stored checks what a notebook stores without executing it: every capture has to prove
// itself, every picture and drawing must be one, HTML has something to show, and no cell
// may have failed unless its tags allow it. A program that knows
// what it was built from says so, with here.
func Stored(nb *notebook.Notebook, here *capture.Environment) (*Report, error) {
	if neverRun(nb) {
		return nil, ErrNeverRun
	}
	r := &Report{Verified: true}
	for i, c := range nb.Cells {
		if len(c.Outputs) == 0 && len(c.Attachments) == 0 {
			continue
		}
		cell := CellReport{Index: i, Run: nb.Place(i).Run, ID: c.ID, Status: Identical, Differences: checkStored(c, here)}
		if n := countCaptures(c); n > 0 {
			cell.Reason = proven(n)
		}
		switch {
		case len(cell.Differences) > 0:
			cell.Status, cell.Reason = Changed, ""
		case hasError(c) && !c.HasTag(runner.TagRaisesException):
			cell.Status, cell.Error = Failed, "it stores an error, and is not tagged "+runner.TagRaisesException
		}
		r.add(cell)
	}
	return r, nil
}

// checkStored finds what is wrong with a stored cell by itself.
func checkStored(c *notebook.Cell, here *capture.Environment) []Difference {
	return append(checkForms(c), checkCaptures(c, here)...)
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
	c.Metadata["tags"] = append(slices.Clip(list), tag)
}

// restoreTags takes away what addTag added.
func restoreTags(fresh, stored *notebook.Notebook) {
	for _, c := range fresh.Cells {
		i := slices.IndexFunc(stored.Cells, func(s *notebook.Cell) bool { return s.ID == c.ID })
		if i < 0 {
			continue
		}
		if tags, ok := stored.Cells[i].Metadata["tags"]; ok {
			c.Metadata["tags"] = tags
		} else {
			delete(c.Metadata, "tags")
		}
	}
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
func compareNotebooks(stored, fresh *notebook.Notebook, ended map[*notebook.Cell]error, opts Options) *Report {
	byID := map[string]*notebook.Cell{}
	for _, c := range fresh.Cells {
		byID[c.ID] = c
	}
	r := &Report{Verified: true}
	for i, c := range stored.Cells {
		if c.Type != notebook.Code {
			continue
		}
		again := byID[c.ID]
		err, ran := ended[again]
		cell := CellReport{Index: i, Run: stored.Place(i).Run, ID: c.ID}
		switch {
		case again == nil:
			cell.skip("replaced by the parameters of this run")
		case tagOf(c, TagSkip, notebook.TagSkip) != "":
			cell.skip("not run: tagged " + tagOf(c, TagSkip, notebook.TagSkip))
		case strings.TrimSpace(c.Source) == "":
			cell.Status = Identical
		case !ran:
			cell.Status = NotRun
		case err != nil && !isExpected(err, c):
			place := fresh.Place(slices.Index(fresh.Cells, again)) // which the report counts in the stored notebook
			cell.Status, cell.Error = Failed, strings.TrimPrefix(err.Error(), place.String()+": ")
		default:
			cell.compare(c, again, opts)
		}
		r.add(cell)
	}
	return r
}

// compare finds the outcome for a cell that ran.
func (cell *CellReport) compare(stored, again *notebook.Cell, opts Options) {
	cell.Differences = checkStored(stored, opts.Runner.Environment)
	here, there := skipped(again), skipped(stored)
	switch tag := tagOf(stored, TagTiming, TagIgnoreOutput); {
	case len(cell.Differences) > 0:
		cell.Status = Changed
		return
	case tag != "":
		cell.skip("not compared: tagged " + tag)
		if n := countCaptures(stored); n > 0 {
			cell.Reason += "; " + proven(n)
		}
		return
	case opts.SkipTimes && stored.HasTag(TagMeasured):
		cell.skip("it follows from times, which are not to be compared")
		return
	case here != there && there != "":
		cell.skip("the stored run says: " + there)
		return
	case here != there:
		cell.skip("this run says: " + here)
		return
	}
	c := newComparison(opts)
	cell.Differences = c.outputs(stored.Outputs, again.Outputs)
	cell.Measured = c.measured
	switch {
	case len(cell.Differences) > 0:
		cell.Status = Changed
	case c.uncompared != "":
		cell.skip(c.uncompared)
	case here != "":
		cell.skip("both runs say: " + here)
	case identical(stored.Outputs, again.Outputs):
		cell.Status = Identical
	default:
		cell.Status, cell.Reason = Within, c.slack()
	}
}

// proven says how many outputs have captures, none of which is wrong.
func proven(n int) string { return fmt.Sprintf("captures that prove themselves: %d", n) }

func (cell *CellReport) skip(reason string) { cell.Status, cell.Reason = Skipped, reason }

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

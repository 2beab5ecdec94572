// Package cell is what a notebook cell means. An [Interp] takes a cell apart
// into directives and code, decides what language the code is in, and runs each
// piece: magics from a table, commands through package shell, ForgeScript
// through package forge, Go through package gocell. Completion, inspection and
// the question whether a cell is complete follow the same division.
//
// Classification is by content and by nothing else: %%name on the first line
// wins; else a cell whose first code token is def is ForgeScript; else it is
// Go.
package cell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/kernel/cell/shell"
	"forgekernel/kernel/gocell"
	"forgekernel/kernel/link"
)

// Options connect an Interp with its surroundings.
type Options struct {
	// Writer is where the given cell prints now; stream is "stdout" or
	// "stderr". Sink is where it displays.
	Writer func(cell uint64, stream string) io.Writer
	Sink   func(cell uint64) display.Sink
	// Stdin asks the person for a line.
	Stdin func(ctx context.Context, prompt string, password bool) (string, error)
	// Async hears of errors of goroutines whose cell has ended.
	Async func(cell uint64, err error)
	// Settings are the limits that %config shows and changes.
	Settings Settings
}

// Settings are limits that are kept outside the session.
type Settings interface {
	Current() link.Settings
	Change(link.Settings) error
}

// Cell is one execution.
type Cell struct {
	ID   uint64
	Name string // "cell 3", for messages
	File string // for a debugger
	Code string
}

// Outcome is how a cell ended.
type Outcome struct {
	Result  *display.Bundle // of its last expression
	Payload []link.Payload
	Err     error // [Describe] puts it into Jupyter's terms
}

// Interp runs cells. Its methods may be called concurrently, and cells may run
// beside one another.
type Interp struct {
	opts   Options
	golang *gocell.Session
	jobs   shell.Jobs

	mu      sync.Mutex // guards changes of library together with the Go scope
	library *forge.Library
	views   []string // shown of a compiled ForgeScript cell unless it says otherwise
}

// New returns an Interp with an empty session.
func New(opts Options) (*Interp, error) {
	golang, err := gocell.New(gocell.Options{
		Writer: opts.Writer,
		Stdin:  opts.Stdin,
		Async:  opts.Async,
		Sink:   opts.Sink,
	})
	if err != nil {
		return nil, err
	}
	return &Interp{
		opts:    opts,
		golang:  golang,
		library: forge.NewLibrary(),
		views:   slices.Clone(defaultViews),
	}, nil
}

// Close ends the background jobs.
func (in *Interp) Close() { in.jobs.Kill() }

// Run runs a cell to its end or to that of ctx, whose cause the outcome then
// reports together with what was stopped.
func (in *Interp) Run(ctx context.Context, c Cell) Outcome {
	t := &task{in: in, ctx: display.WithSink(ctx, in.opts.Sink(c.ID)), cell: c}
	return t.run(split(c.Code))
}

// functionType is how Go cells see a ForgeScript function.
const functionType = "forge.Function"

// Symbols lists what the session holds, by name.
func (in *Interp) Symbols() []link.Symbol {
	var list []link.Symbol
	for _, s := range in.golang.Symbols() {
		kind := s.Kind
		if s.Type == functionType && in.library.Function(s.Name) != nil {
			kind = "forgescript"
		}
		list = append(list, link.Symbol{Name: s.Name, Kind: kind, Type: s.Type})
	}
	return list
}

// task is one running cell.
type task struct {
	in   *Interp
	ctx  context.Context
	cell Cell
}

func (t *task) stdout() io.Writer { return t.in.opts.Writer(t.cell.ID, "stdout") }

// run runs directives in order, then code. The first failure ends the cell; the
// result is that of the last piece.
func (t *task) run(p parts) Outcome {
	var all Outcome
	for _, step := range t.steps(p) {
		out := step()
		all.Payload = append(all.Payload, out.Payload...)
		all.Result = out.Result
		if all.Err = out.Err; all.Err != nil {
			all.Result = nil
			break
		}
	}
	return all
}

func (t *task) steps(p parts) []func() Outcome {
	var steps []func() Outcome
	for _, d := range p.directives {
		steps = append(steps, func() Outcome { return t.directive(d) })
	}
	switch {
	case p.magic != nil:
		steps = append(steps, func() Outcome { return t.magic(*p.magic, p) })
	case strings.TrimSpace(p.body) != "":
		steps = append(steps, func() Outcome { return t.code(p) })
	}
	return steps
}

func (t *task) code(p parts) Outcome {
	if p.language() == ForgeScript {
		out := t.forgeScript(p, forgeOptions{})
		if out.Err != nil && t.ctx.Err() != nil {
			out.Err = &InterruptError{What: "a ForgeScript cell"}
		}
		return out
	}
	return t.goCode(p.body[p.line-1:], p.line)
}

// goCode runs Go source that starts on the given line of the cell.
func (t *task) goCode(source string, line int) Outcome {
	result, err := t.in.golang.Run(t.ctx, gocell.Cell{Name: t.cell.Name, ID: t.cell.ID, Source: source, Line: line, File: t.cell.File})
	for _, w := range result.Warnings {
		fmt.Fprintln(t.in.opts.Writer(t.cell.ID, "stderr"), w.Plain())
	}
	if err != nil {
		return Outcome{Err: t.stopped(note(err))}
	}
	if !result.HasValue {
		return Outcome{}
	}
	return Outcome{Result: &result.Bundle}
}

// stopped recognises a compiled function that gave up because the cell was
// interrupted: its panic is the interrupt.
func (t *task) stopped(err error) error {
	var panicked *gocell.PanicError
	if t.ctx.Err() == nil || !errors.As(err, &panicked) || !errors.Is(err, context.Cause(t.ctx)) {
		return err
	}
	return &gocell.InterruptError{What: "a running program", Trace: panicked.Trace}
}

func (t *task) directive(d directive) Outcome {
	switch d.kind {
	case shellLine:
		return t.shell(d)
	case helpLine:
		return t.help(d)
	}
	return t.magic(d, parts{})
}

// InterruptError is a cell that was stopped while it did something other than
// running Go code.
type InterruptError struct{ What string }

func (e *InterruptError) Error() string { return "interrupted: " + e.What }

// UsageError is a directive that cannot be run as it was written.
type UsageError struct{ display.Diagnostic }

// usage is an error about d.
func (t *task) usage(d directive, hint, format string, args ...any) error {
	return &UsageError{display.Diagnostic{
		Source: t.cell.Name, Line: d.line, Col: 1, EndCol: len([]rune(d.text)) + 1, Text: d.text,
		Message: fmt.Sprintf(format, args...), Hint: hint,
	}}
}

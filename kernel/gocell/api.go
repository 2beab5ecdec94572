package gocell

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"forgekernel/display"
)

// Options connects a session with its surroundings. Every field may be left
// zero.
type Options struct {
	// Writer returns where a goroutine that belongs to a cell prints; stream
	// is "stdout" or "stderr". The default is the process's own stream.
	Writer func(cell uint64, stream string) io.Writer
	// Stdin asks the person for one line, without its newline. Without it
	// reading standard input is an error of the reading call.
	Stdin func(ctx context.Context, prompt string, password bool) (string, error)
	// Async hears of a panic in a goroutine whose cell has already ended. It
	// is called from that goroutine.
	Async func(cell uint64, err error)
	// Sink receives what a cell displays; nil means the process-wide one.
	Sink func(cell uint64) display.Sink
}

// Cell is one piece of source to run.
type Cell struct {
	Name   string // how errors call it: "cell 3"
	ID     uint64 // who prints: handed to Options.Writer
	Source string
	Line   int    // number of the source's first line in the notebook cell; 0 means 1
	File   string // how a debugger calls the notebook cell
}

// Result is what a cell that ended well has to show.
type Result struct {
	HasValue bool           // the cell ends with an expression that has a value to show
	Values   []any          // its values
	Bundle   display.Bundle // the same, ready to be shown
	Warnings []display.Diagnostic
}

// CompileError refuses a cell; nothing of it ran and nothing changed.
type CompileError struct{ Diagnostics []display.Diagnostic }

func (e *CompileError) Error() string {
	var b strings.Builder
	for i, d := range e.Diagnostics {
		if i > 0 {
			b.WriteByte('\n')
		}
		if d.Line > 0 {
			fmt.Fprintf(&b, "%s:%d:%d: ", d.Source, d.Line, d.Col)
		}
		b.WriteString(d.Message)
	}
	return b.String()
}

// Frame is one call of user code on the way to a panic, innermost first.
type Frame struct {
	Cell string // name of the cell that holds the code
	Func string
	Line int // in the notebook cell
	Col  int // of the name of what was called, if a call has one
	// EndCol is exclusive, as in [display.Diagnostic].
	EndCol int
	Text   string // the source line
	// Omitted counts calls behind this one that are left out; OmittedOf names their
	// function if they seem to be calls of one.
	Omitted   int
	OmittedOf string
}

// PanicError is a panic that user code did not recover.
type PanicError struct {
	Value     any
	Trace     []Frame
	Goroutine bool   // it happened in a goroutine that the cell started
	Text      string // of the value, as Go prints it
	errors    []error
}

func (e *PanicError) Error() string {
	text := "panic: " + e.Text
	if e.Goroutine {
		text += " (in a goroutine)"
	}
	return text
}

// Is and As find an error of a compiled type that the panic's value is or wraps.
// Errors of types declared in cells are skipped: their methods can no longer run.
func (e *PanicError) Is(target error) bool {
	return reflect.TypeOf(target).Comparable() && slices.Contains(e.errors, target)
}

// As is described with Is.
func (e *PanicError) As(target any) bool {
	to := reflect.ValueOf(target).Elem()
	for _, err := range e.errors {
		if v := reflect.ValueOf(err); v.Type().AssignableTo(to.Type()) {
			to.Set(v)
			return true
		}
	}
	return false
}

// ExitError is a cell that called os.Exit, log.Fatal or runtime.Goexit. They
// end the cell; the session keeps its state.
type ExitError struct {
	Call string // "os.Exit"
	Code int
}

func (e *ExitError) Error() string {
	if e.Call == "runtime.Goexit" {
		return "runtime.Goexit ended the cell"
	}
	return fmt.Sprintf("%s ended the cell with status %d; the session and its variables live on", e.Call, e.Code)
}

// InterruptError is a cell that was stopped. What says what it was doing.
type InterruptError struct {
	What  string
	Trace []Frame
}

func (e *InterruptError) Error() string { return "interrupted: " + e.What }

// Symbol is one name that the session holds.
type Symbol struct {
	Name string
	Kind string // "var", "func", "type", "const" or "import"
	Type string
	// Value is that of a constant; those of variables are Globals.
	Value string
}

// Candidate is one way to complete a name.
type Candidate struct {
	Text      string
	Kind      string // function, variable, class, struct, interface, constant, module, keyword, field, method, key or label
	Signature string

	rank int
}

// Completion lists candidates that replace source bytes Start to End, the likeliest
// first.
type Completion struct {
	Candidates []Candidate
	Start, End int
	File       bool // the bytes before the cursor may be the name of a file
}

// Inspection describes a name.
type Inspection struct {
	Signature string
	Value     string // of a variable of the session, on one line
	Doc       string
	Methods   []string // of the type of a variable, or of a type: "Name(x float64) error"
	Source    string   // of a session symbol, when more detail is asked for
	Defined   string   // "cell 3", an import path, or "the language"
	Call      string   // signature of the function in whose call the name stands
}

// Goroutine is a goroutine that a cell started and that still runs.
type Goroutine struct {
	ID    uint64
	Cell  string
	Func  string
	Line  int
	State string
}

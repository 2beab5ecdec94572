package gocell

import (
	"context"
	"errors"
	"fmt"
)

// Session is a Go session. Run calls of one session do not overlap; every
// other method may be called at any time, also while a cell runs.
type Session struct{ opts Options }

// New returns an empty session.
func New(opts Options) (*Session, error) { return &Session{opts: opts}, nil }

var errSkeleton = errors.New("gocell: not built yet")

// Run checks and runs one cell. Its error is a *CompileError, *PanicError,
// *ExitError or *InterruptError; cancelling ctx interrupts the cell.
func (s *Session) Run(ctx context.Context, c Cell) (Result, error) { return Result{}, errSkeleton }

// Define makes a host value a variable of the session, or a function when it
// is one. Its methods are those of its Go type.
func (s *Session) Define(name string, value any, doc string) error { return errSkeleton }

// Symbols lists what the session holds, sorted by name.
func (s *Session) Symbols() []Symbol { return nil }

// Reset forgets everything and stops the goroutines of all cells.
func (s *Session) Reset() {}

// Goroutines lists the goroutines that cells have left running.
func (s *Session) Goroutines() []Goroutine { return nil }

// Complete lists completions at a byte offset of a cell's source.
func (s *Session) Complete(src string, offset int) Completion { return Completion{} }

// Inspect describes the name at a byte offset of a cell's source.
func (s *Session) Inspect(src string, offset, detail int) (Inspection, bool) {
	return Inspection{}, false
}

// Completeness says whether source could run as it stands: "complete",
// "incomplete" with the indentation of the next line, or "invalid".
func (s *Session) Completeness(src string) (status, indent string) { return "unknown", "" }

func panicText(v any) string { return fmt.Sprint(v) }

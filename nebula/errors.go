package nebula

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/nebula/cache"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/serve"
)

// RankError says on which rank a job failed, at which step and in which operation.
type RankError = engine.Error

// QueueFull says that a job has as many unfinished requests as it takes.
type QueueFull = sched.QueueFull

// TooLong says that a prompt leaves no room to generate anything.
type TooLong = sched.TooLong

// ErrClosed is the error of requests to a job that was closed.
var ErrClosed = errors.New("the job is closed")

// errUntraced is the error of a recording that nobody asked for.
var errUntraced = errors.New("the ranks record nothing")

// Error is a call that failed, as calls without an error result panic with it. It
// shows itself as an error box.
type Error struct {
	display.Diagnostic
	Function string // the name of the function called
	cause    error
}

// Unwrap is the error that the call failed with.
func (e *Error) Unwrap() error { return e.cause }

func newError(function string, err error) error {
	lines := strings.Split(err.Error(), "\n") // several replicas may have a reason each
	notes := append(lines[1:], lastWords(err)...)
	return &Error{Function: function, Diagnostic: display.Diagnostic{Message: lines[0], Notes: notes, Hint: hint(err)}, cause: err}
}

// lastLines is how much of what a rank printed before it ended is shown.
const lastLines = 8

// lastWords are the last lines of the rank whose end is the error, if there are more
// than the one that the error has.
func lastWords(err error) []string {
	var exit launch.Exit
	if !errors.As(err, &exit) {
		return nil
	}
	list := exit.Lines(lastLines)
	if len(list) < 2 {
		return nil
	}
	return append([]string{fmt.Sprintf("rank %d printed:", exit.Rank)}, list...)
}

// hint is what to do about an error.
func hint(err error) string {
	var (
		full   *sched.QueueFull
		long   *sched.TooLong
		blocks *cache.OutOfBlocks
		rank   *engine.Error
	)
	switch {
	case errors.Is(err, ErrClosed), errors.As(err, &rank):
		return "nebula.Launch starts the job again"
	case errors.Is(err, errUntraced):
		return "start the job with nebula.Trace(1 << 16)"
	case errors.As(err, &full):
		return "wait for some to end, or start the job with a larger nebula.Limit or more nebula.Replicas"
	case errors.As(err, &long):
		return "shorten the prompt, or start the job with a larger nebula.Context, or more nebula.Blocks"
	case errors.As(err, &blocks):
		return "start the job with more nebula.Blocks"
	}
	return ""
}

// reason is why something ended under a context: if that has ended, its cause is the
// reason, whatever came of it on the way.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// failed adds the name of a job to what is wrong with it. What its parts say of its end
// is that it was closed, if it was.
func (j *Job) failed(err error) error {
	if j.ended.Load() && (errors.Is(err, sched.ErrClosed) || errors.Is(err, engine.ErrClosed) || errors.Is(err, serve.ErrLeft)) {
		err = ErrClosed
	}
	if err == nil || j.o.name == "" {
		return err
	}
	return fmt.Errorf("job %s: %w", j.o.name, err)
}

// must panics with the error of a function that a cell calls.
func must[T any](function string, v T, err error) T {
	if err != nil {
		if cell := forge.Context(); cell.Err() != nil {
			err = context.Cause(cell) // an interrupt
		}
		panic(newError(function, err))
	}
	return v
}

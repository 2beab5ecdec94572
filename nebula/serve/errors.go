package serve

import (
	"context"
	"errors"

	"forgekernel/nebula/cache"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/sched"
)

// wireError is an error on its way: its words, and what of its type callers ask
// for. One of the pointers is set, or none.
type wireError struct {
	Text  string             `json:"text"`
	Is    []string           `json:"is,omitempty"` // names of the sentinels that it wraps
	Full  *sched.QueueFull   `json:"queue_full,omitempty"`
	Long  *sched.TooLong     `json:"too_long,omitempty"`
	Out   *cache.OutOfBlocks `json:"out_of_blocks,omitempty"`
	Under *underError        `json:"engine,omitempty"`
	Cause *causeError        `json:"cause,omitempty"`
}

// underError is a sched.EngineError.
type underError struct {
	Generated int        `json:"generated"`
	Err       *wireError `json:"err"`
}

// causeError is an engine.Error.
type causeError struct {
	Rank  int        `json:"rank"`
	Epoch uint32     `json:"epoch"`
	Step  uint64     `json:"step"`
	Op    string     `json:"op"`
	Err   *wireError `json:"err"`
}

// sentinels are the errors that callers compare with, by name.
var sentinels = map[string]error{
	"canceled":         context.Canceled,
	"deadline":         context.DeadlineExceeded,
	"scheduler closed": sched.ErrClosed,
	"engine closed":    engine.ErrClosed,
	"timeout":          collective.ErrTimeout,
	"dead":             collective.ErrDead,
	"diverged":         collective.ErrDiverged,
	"aborted":          collective.ErrAborted,
}

// maxDepth bounds how deep errors wrap one another.
const maxDepth = 4

func encodeError(err error) *wireError { return encodeDeep(err, maxDepth) }

func encodeDeep(err error, depth int) *wireError {
	if err == nil {
		return nil
	}
	w := &wireError{Text: err.Error()}
	var under *sched.EngineError
	var cause *engine.Error
	switch {
	case depth == 0:
	case errors.As(err, &w.Full), errors.As(err, &w.Long), errors.As(err, &w.Out):
		return w
	case errors.As(err, &under):
		w.Under = &underError{under.Generated, encodeDeep(under.Err, depth-1)}
		return w
	case errors.As(err, &cause):
		w.Cause = &causeError{cause.Rank, cause.Epoch, cause.Step, cause.Op, encodeDeep(cause.Err, depth-1)}
		return w
	}
	for name, s := range sentinels {
		if errors.Is(err, s) {
			w.Is = append(w.Is, name)
		}
	}
	return w
}

// decode is the error again; nil if there was none.
func (w *wireError) decode() error {
	switch {
	case w == nil:
		return nil
	case w.Full != nil:
		return w.Full
	case w.Long != nil:
		return w.Long
	case w.Out != nil:
		return w.Out
	case w.Under != nil:
		return &sched.EngineError{Generated: w.Under.Generated, Err: w.Under.Err.orText(w.Text)}
	case w.Cause != nil:
		c := w.Cause
		return &engine.Error{Rank: c.Rank, Epoch: c.Epoch, Step: c.Step, Op: c.Op, Err: c.Err.orText(w.Text)}
	}
	t := toldError{text: w.Text}
	for _, name := range w.Is {
		if s, ok := sentinels[name]; ok {
			t.is = append(t.is, s)
		}
	}
	return t
}

// orText is the error again, or the given words where a damaged message has none.
func (w *wireError) orText(text string) error {
	if w == nil {
		return toldError{text: text}
	}
	return w.decode()
}

// toldError is an error of the other end.
type toldError struct {
	text string
	is   []error
}

func (e toldError) Error() string   { return e.text }
func (e toldError) Unwrap() []error { return e.is }

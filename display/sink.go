package display

import "context"

// Output is one display on its way to a person.
type Output struct {
	Bundle Bundle
	ID     string // display id for later updates; empty when there will be none
	Update bool   // replace the earlier output with this ID instead of adding one
}

// Sink receives displays. Implementations are safe for concurrent use and keep
// the order of calls from one goroutine, also relative to what that goroutine
// prints.
type Sink interface {
	Show(Output) error
	// Clear removes the outputs of the running cell, now or, with wait, when
	// the next one arrives.
	Clear(wait bool) error
}

type sinkKey struct{}

// WithSink returns a context whose displays go to s.
func WithSink(ctx context.Context, s Sink) context.Context {
	return context.WithValue(ctx, sinkKey{}, s)
}

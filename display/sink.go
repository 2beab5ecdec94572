package display

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

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

var process = struct {
	sync.RWMutex
	sink Sink
}{sink: &textSink{w: os.Stdout}}

// SetSink makes s the sink of every display whose context names none, for the
// whole process. A nil s restores the sink that prints text/plain to stdout.
func SetSink(s Sink) {
	if s == nil {
		s = &textSink{w: os.Stdout}
	}
	process.Lock()
	defer process.Unlock()
	process.sink = s
}

// SinkFrom returns the sink of ctx, or the process-wide one.
func SinkFrom(ctx context.Context) Sink {
	if s, ok := ctx.Value(sinkKey{}).(Sink); ok {
		return s
	}
	process.RLock()
	defer process.RUnlock()
	return process.sink
}

// Show displays each value in turn. A failing sink is reported on stderr, so
// that Show can end a cell without adding a result to it.
func Show(v ...any) { report(ShowContext(context.Background(), v...)) }

// ShowContext displays each value in turn through the sink of ctx and returns
// the sink's first error.
func ShowContext(ctx context.Context, v ...any) error {
	sink := SinkFrom(ctx)
	for _, x := range v {
		if err := sink.Show(Output{Bundle: ToBundle(x)}); err != nil {
			return err
		}
	}
	return nil
}

// ShowID displays v under a display id that [Update] can name later.
func ShowID(id string, v any) {
	report(SinkFrom(context.Background()).Show(Output{Bundle: ToBundle(v), ID: id}))
}

// Update replaces every output shown under id with v.
func Update(id string, v any) {
	report(SinkFrom(context.Background()).Show(Output{Bundle: ToBundle(v), ID: id, Update: true}))
}

// Clear removes the outputs of the running cell, now or, with wait, when the
// next output arrives.
func Clear(wait bool) { report(SinkFrom(context.Background()).Clear(wait)) }

func report(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "display:", err)
	}
}

// textSink prints the text/plain form of every output, updates included: text
// that was written cannot be taken back.
type textSink struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *textSink) Show(o Output) error {
	text, ok := o.Bundle.Data[mimeText].(string)
	if !ok {
		return fmt.Errorf("output has no %s form", mimeText)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := io.WriteString(s.w, text)
	return err
}

func (s *textSink) Clear(bool) error { return nil }

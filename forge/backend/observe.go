package backend

import (
	"context"
	"time"

	"forgekernel/forge/ir"
)

// Observer is told of each node that has run, in order. A node of several kernels has
// as many calls. It must be quick.
type Observer func(n *ir.Node, start, end time.Time)

// observerKey is the key of an observer in a context.
type observerKey struct{}

// WithObserver returns a context under which programs that can tell their nodes apart
// tell an observer of each: those of backends portable and cuda, and of backend cpu if
// it compiles kernels apart.
func WithObserver(ctx context.Context, o Observer) context.Context {
	return context.WithValue(ctx, observerKey{}, o)
}

// ObserverOf is the observer of a context, nil if it has none.
func ObserverOf(ctx context.Context) Observer {
	o, _ := ctx.Value(observerKey{}).(Observer)
	return o
}

// Laps times nodes for the observer of a context. The zero value has none.
type Laps struct {
	observer Observer
	last     time.Time
}

// NewLaps begins with the first node of a run.
func NewLaps(ctx context.Context) Laps {
	o := ObserverOf(ctx)
	if o == nil {
		return Laps{}
	}
	return Laps{o, time.Now()}
}

// Done is the end of a node, and the beginning of the next.
func (l *Laps) Done(n *ir.Node) {
	if l.observer == nil {
		return
	}
	now := time.Now()
	l.observer(n, l.last, now)
	l.last = now
}

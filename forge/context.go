package forge

import (
	"context"
	"sync/atomic"
)

var current atomic.Pointer[func() context.Context]

// SetContext installs the source of the context that calls without an explicit
// one run under, and returns a function that puts the former back. A notebook
// session installs the context of the running cell, so that an interrupt
// reaches a running program and displays find their cell. A nil source means
// [context.Background].
func SetContext(source func() context.Context) (restore func()) {
	var next *func() context.Context
	if source != nil {
		next = &source
	}
	former := current.Swap(next)
	return func() { current.Store(former) }
}

// Context is what a call that names no context runs under: the running cell's in a
// notebook, which an interrupt cancels, else [context.Background].
func Context() context.Context { return callContext() }

// callContext is the context of a call that names none.
func callContext() context.Context {
	if source := current.Load(); source != nil {
		return (*source)()
	}
	return context.Background()
}

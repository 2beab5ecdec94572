package cpu

import (
	"context"
	"runtime"
	"sync/atomic"
)

// never is the flag of a run whose context cannot end.
var never atomic.Int32

// watch keeps a flag that native code reads and the end of a context raises. It
// stays registered with the context from one run to the next, since many runs have
// the same one and to register takes longer than a small program does.
type watch struct {
	done <-chan struct{} // which tells contexts apart as far as their end goes
	flag *flag
}

// flag is raised when a context has ended. It is no longer registered once
// nothing refers to it.
type flag struct{ raised *atomic.Int32 }

// of returns the flag for a context.
func (w *watch) of(ctx context.Context) *atomic.Int32 {
	done := ctx.Done()
	if done == nil {
		return &never
	}
	if done != w.done {
		raised := new(atomic.Int32)
		forget := context.AfterFunc(ctx, func() { raised.Store(1) })
		w.done, w.flag = done, &flag{raised}
		runtime.AddCleanup(w.flag, func(forget func() bool) { forget() }, forget)
	}
	return w.flag.raised
}

package eval

import (
	"context"
	"reflect"
	"sync"
	"time"
)

// In Go a panic that a goroutine does not recover ends the program. Here it ends the
// cell that started the goroutine, while that runs: the run is stopped as an
// interrupt stops it, and the panic is its error. So is what ends a program by
// itself, os.Exit.

// uncaught is what goroutines of a run died of.
type uncaught struct {
	mu      sync.Mutex
	over    bool          // the cell has ended
	failed  error         // a *Panic or an Exit, the first one
	pending int           // panics whose deferred calls run, in goroutines
	settled chan struct{} // closed once none is pending, when somebody waits for that
}

// fail ends the cell with the end of one of its goroutines. It reports false when the
// cell ends otherwise: it is over, or was interrupted.
func (r *run) fail(err error) bool {
	u := &r.uncaught
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.over || r.stop.Load() {
		return false
	}
	u.failed = err
	r.interrupt()
	return true
}

// pend notes that a goroutine unwinds because of a panic. Its deferred calls may let
// the cell come to its end, which then waits for what becomes of the panic.
func (th *thread) pend(p *panicking) {
	if th.id == 0 || p.pending || isStop(p.value) {
		return
	}
	p.pending = true
	u := &th.run.uncaught
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pending++
}

// unpend notes that a panic was recovered or reported, or another took its place.
func (th *thread) unpend(p *panicking) {
	if p == nil || !p.pending {
		return
	}
	p.pending = false
	u := &th.run.uncaught
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pending--
	if u.pending == 0 && u.settled != nil {
		close(u.settled)
		u.settled = nil
	}
}

// settle waits until no panic is pending, but not for deferred calls that wait
// themselves for what comes after the cell.
func (r *run) settle(ctx context.Context) {
	u := &r.uncaught
	u.mu.Lock()
	if u.pending == 0 {
		u.mu.Unlock()
		return
	}
	settled := make(chan struct{})
	u.settled = settled
	u.mu.Unlock()
	patience := time.NewTimer(runGrace)
	defer patience.Stop()
	select {
	case <-settled:
	case <-r.ctx.Done():
	case <-ctx.Done():
	case <-patience.C:
	}
}

// end is the end of the cell: that of the goroutine which stopped it, if one did.
func (r *run) end(f failure) (Progress, error) {
	u := &r.uncaught
	u.mu.Lock()
	u.over = true
	failed := u.failed
	u.mu.Unlock()
	r.over.Store(true)
	if failed == nil {
		return f.at, f.err
	}
	switch f.err.(type) {
	case nil:
		return everything, failed
	case *Stopped:
		return f.at, failed
	}
	r.report(failed) // the cell has failed by itself at the same time
	return f.at, f.err
}

// report tells of a goroutine's end that is nobody's error.
func (r *run) report(err error) {
	p, ok := err.(*Panic)
	if !ok {
		p = &Panic{Value: err, Text: err.Error(), Goroutine: true}
	}
	r.engine.opts.Async(r.cell, p)
}

// waitGroupGo is sync.WaitGroup.Go with a goroutine of the cell.
func waitGroupGo(th *thread, a []reflect.Value) []reflect.Value {
	wg, f := a[0].Interface().(*sync.WaitGroup), a[1]
	var start Location
	if th.depth > 0 {
		start, _ = th.frames[th.depth-1].location()
	}
	wg.Add(1)
	th.run.spawn(th.run.engine.targetOf(f), nil, start, wg.Done)
	return nil
}

// targetOf is what a func value without parameters calls.
func (e *Engine) targetOf(f reflect.Value) target {
	if !f.IsNil() {
		if clo := closureOf(word(f)); clo != nil {
			return target{clo: clo}
		}
		if tg, adapt := e.reflected(word(f)); adapt != nil {
			return target{name: tg.name, native: func(th *thread, _ []reflect.Value) []reflect.Value { return th.apply(tg, adapt(nil), nil) }}
		}
	}
	return target{host: f, name: "a compiled function"}
}

// spawn starts a goroutine of the run. done, if any, is called once it has ended and
// its panic is known.
func (r *run) spawn(t target, args []reflect.Value, start Location, done func()) {
	th := r.newThread()
	th.start = start
	r.engine.threads.add(th)
	r.engine.debug.enter(th)
	r.alive.Add(1)
	go th.goroutine(t, args, done)
}

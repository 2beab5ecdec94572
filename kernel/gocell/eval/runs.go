package eval

import (
	"slices"
	"sync"
	"sync/atomic"
)

// runList holds the runs of which something may still run: the cell itself, its
// goroutines, or a function of it that compiled code calls.
type runList struct {
	mu      sync.Mutex
	all     []*run
	stopped bool // for good
}

// enlist adds a run. Those of which nothing is left leave the list.
func (e *Engine) enlist(r *run) {
	e.runs.mu.Lock()
	defer e.runs.mu.Unlock()
	latest := e.current.Load()
	e.runs.all = append(slices.DeleteFunc(e.runs.all, func(r *run) bool { return r.idle() && r != latest }), r)
	if e.runs.stopped {
		r.interrupt()
	}
	r.refresh()
}

// eachRun calls f for every run of which something may still run.
func (e *Engine) eachRun(f func(*run)) {
	e.runs.mu.Lock()
	defer e.runs.mu.Unlock()
	for _, r := range append(e.runs.all, e.current.Load()) {
		f(r)
	}
}

func (r *run) idle() bool { return r.alive.Load() == 0 && r.nesting.Load() == 0 }

// Stop interrupts all code of the session, for good: functions that compiled
// code calls later end at once.
func (e *Engine) Stop() {
	e.runs.mu.Lock()
	e.runs.stopped = true
	e.runs.mu.Unlock()
	e.eachRun((*run).interrupt)
}

// latest is the run on whose behalf functions of cells that have ended are
// called. Once it was interrupted and is over, another takes its place: timers
// and servers go on.
func (e *Engine) latest() *run {
	r := e.current.Load()
	if !r.stop.Load() || !r.idle() {
		return r
	}
	next := e.newRun(r.cell, r.name, nil)
	e.enlist(next)
	if !e.current.CompareAndSwap(r, next) {
		return e.current.Load()
	}
	return next
}

// orLatest is the run on whose behalf a function of it is called: itself while
// anything of it runs, and not only what an interrupt has left behind.
func (r *run) orLatest() *run {
	if r.alive.Load() == 0 || r.stop.Load() && r.over.Load() && r != r.engine.current.Load() {
		return r.engine.latest()
	}
	return r
}

// Goroutine describes a goroutine that runs code of a cell.
type Goroutine struct {
	ID    uint64
	Cell  string
	Where Location // of the go statement
	State string
}

// Goroutines lists those that go statements started and that still run, and one
// for each cell of which nothing runs but what compiled code calls: a timer's
// function, say.
func (e *Engine) Goroutines() []Goroutine {
	var list []Goroutine
	e.threads.each(func(th *thread) {
		state := "running"
		if d := th.doing.Load(); d != nil {
			state = *d
		}
		list = append(list, Goroutine{th.id, th.run.name, th.start, state})
	})
	for _, r := range e.called() {
		list = append(list, Goroutine{ID: r.id, Cell: r.name, State: "called by compiled code"})
	}
	return list
}

func (e *Engine) called() []*run {
	e.runs.mu.Lock()
	defer e.runs.mu.Unlock()
	var list []*run
	for _, r := range e.runs.all {
		if r.alive.Load() == 0 && r.nesting.Load() > 0 {
			list = append(list, r)
		}
	}
	return list
}

// StopGoroutine interrupts a goroutine, and with it all others of its cell. It
// reports whether there is one of that number.
func (e *Engine) StopGoroutine(id uint64) (found bool) {
	stop := func(of uint64, r *run) {
		if of == id {
			found = true
			r.interrupt()
		}
	}
	e.threads.each(func(th *thread) { stop(th.id, th.run) })
	for _, r := range e.called() {
		stop(r.id, r)
	}
	return found
}

var threadIDs atomic.Uint64

package eval

import (
	"context"
	"fmt"
	"go/types"
	"math"
	"reflect"
	"time"
)

// An interrupted cell ends by itself, at its next poll, unless it is inside
// compiled code. After unwindGrace it is left behind there and ends when that
// returns. Code of the cell itself, and what it waits for by itself, has all the
// time that a busy machine may need.
const (
	unwindGrace = 40 * time.Millisecond
	runGrace    = 2 * time.Second
)

// Panic is a panic that user code did not recover.
type Panic struct {
	Value     any
	Text      string     // of the value, as Go prints it
	Errors    []error    // the value and what it wraps, when these are of compiled types
	Trace     []Location // innermost first
	Goroutine bool
	// Calls are those on the way to the panic, innermost first; the middle of a
	// deep recursion is left out.
	Calls []Activation
}

func (p *Panic) Error() string { return "panic: " + p.Text }

// Exit is a cell that ended itself.
type Exit struct {
	Call string
	Code int
}

func (e Exit) Error() string { return fmt.Sprintf("%s(%d)", e.Call, e.Code) }

// Stopped is a cell that was interrupted.
type Stopped struct {
	What  string
	Trace []Location
}

func (s *Stopped) Error() string { return "interrupted: " + s.What }

// Program is a translated unit.
type Program struct {
	engine *Engine
	main   *Func
	link   []linkage

	forwarded []*types.Func
}

type linkage struct {
	code *Code
	fn   *Func
}

// Link makes the unit's functions and methods the present ones.
func (p *Program) Link() {
	p.engine.mu.Lock()
	for _, m := range p.forwarded {
		delete(p.engine.failed, m)
	}
	p.engine.mu.Unlock()
	for _, l := range p.link {
		l.code.fail.Store(nil)
		l.code.fn.Store(l.fn)
	}
}

// Run executes the unit's main function. Its error is a *Panic, an Exit or a
// *Stopped; at is how far the main function had come when it failed.
func (p *Program) Run(ctx context.Context, name string, cell uint64, data any) (at Progress, err error) {
	if p.main == nil {
		return Progress{}, nil
	}
	r := p.engine.newRun(cell, name, data)
	r.caller = ctx
	r.alive.Add(1)
	p.engine.enlist(r)
	p.engine.current.Store(r)
	return p.run(ctx, r)
}

// Peek is Run for a debugger: it runs while everything else is halted.
func (p *Program) Peek(ctx context.Context, name string, cell uint64, data any) error {
	r := p.engine.newRun(cell, name, data)
	r.caller = ctx
	r.alive.Add(1)
	r.unseen = true
	p.engine.enlist(r)
	_, err := p.run(ctx, r)
	return err
}

// Progress is a place in a source that a function has come to: it is at what
// begins at the offset, or past that.
type Progress struct {
	Offset int
	Past   bool
}

// everything is where a function has come to when that cannot be known.
var everything = Progress{math.MaxInt, true}

func (p *Program) run(ctx context.Context, r *run) (at Progress, err error) {
	th := r.newThread()
	outcome := make(chan failure, 1)
	th.main = true
	go th.cell(p.main, outcome)
	select {
	case f := <-outcome:
		if f.err == nil {
			r.settle(ctx)
		}
		return r.end(f)
	case <-ctx.Done():
		r.interrupt()
	case <-r.ctx.Done(): // a goroutine has failed, or the session ends
	}
	patience := time.NewTimer(unwindGrace)
	defer patience.Stop()
	for _, last := range []bool{false, true} {
		select {
		case f := <-outcome:
			return r.end(f)
		case <-patience.C:
		}
		if len(outcome) > 0 { // the time is over because the machine stood still
			return r.end(<-outcome)
		}
		if th.doing.Load() != nil && (last || !th.hears.Load() && r.asks.Load() != th.on.Load()) { // its calls stay where they are
			return r.end(failure{th.frames[0].reached(), &Stopped{What: th.activity()}})
		}
		patience.Reset(runGrace)
	}
	return r.end(failure{everything, &Stopped{What: th.activity()}})
}

// reached is the place that a call has come to. A block may have none, as that
// of an empty loop; then the blocks before it are over.
func (fr *frame) reached() Progress {
	blocks := fr.fn.blocks
	seen := make([]bool, len(blocks))
	place := Progress{Offset: -1}
	var visit func(k, ip int, past bool)
	visit = func(k, ip int, past bool) {
		seen[k] = true
		if blocks[k].placed {
			if o := blocks[k].offset(ip); o > place.Offset {
				place = Progress{o, past}
			}
			return
		}
		for _, p := range blocks[k].preds {
			if !seen[p] {
				visit(p, len(blocks[p].code), true)
			}
		}
	}
	visit(max(fr.block, 0), fr.ip, false)
	return place
}

type failure struct {
	at  Progress
	err error
}

// cell runs a cell's main function on its own goroutine.
func (th *thread) cell(fn *Func, outcome chan<- failure) {
	normal := false
	var f failure
	th.run.engine.debug.enter(th)
	th.run.engine.debug.begin(th)
	defer func() {
		if !normal {
			f = failure{th.frames[0].reached(), th.failure(recover())}
		}
		th.run.engine.debug.leave(th)
		th.run.alive.Add(-1)
		outcome <- f
	}()
	fr := th.push(fn)
	fr.call()
	normal = true
	if th.run.stop.Load() { // compiled code swallowed the interrupt
		f = failure{everything, &Stopped{What: th.activity()}}
	}
}

// failure says how a goroutine ended that did not return.
func (th *thread) failure(r any) error {
	if r == nil {
		return Exit{Call: "runtime.Goexit"}
	}
	p := th.catch(r)
	switch v := p.value.(type) {
	case stopped:
		return &Stopped{said(th.stoppedIn), p.trace}
	case Exit:
		return v
	default:
		return th.run.engine.newPanic(p)
	}
}

// activity says what an interrupted goroutine is doing.
func (th *thread) activity() string { return said(th.doing.Load()) }

func said(doing *string) string {
	if doing == nil {
		return "running code"
	}
	return *doing
}

// goroutine is the body of a go statement. It calls done, if any, when all else is over.
func (th *thread) goroutine(t target, args []reflect.Value, done func()) {
	e := th.run.engine
	normal := false
	e.debug.begin(th)
	defer func() {
		if r := recover(); !normal && r != nil { // nil: runtime.Goexit ends a goroutine quietly
			th.died(r)
		}
		e.debug.leave(th)
		th.run.alive.Add(-1)
		e.threads.remove(th) // who finds it gone finds all of it gone
		if done != nil {
			done()
		}
	}()
	th.apply(t, args, nil)
	normal = true
}

// died says what a goroutine ended with that did not return.
func (th *thread) died(r any) {
	failed := th.failure(r)
	if again, ok := r.(rethrow); ok {
		defer th.unpend(again.panicking)
	}
	switch err := failed.(type) {
	case *Stopped:
		return
	case *Panic:
		err.Goroutine = true
	case Exit:
		if err.Call == "runtime.Goexit" {
			return
		}
	}
	if !th.run.fail(failed) {
		th.run.report(failed)
	}
}

package eval

import (
	"context"
	"fmt"
	"go/types"
	"reflect"
	"sync/atomic"
	"time"
)

// An interrupted cell ends by itself, at its next poll, unless it is inside
// compiled code. After unwindGrace it is left behind there and ends when that
// returns. Code of the cell itself has all the time that a busy machine may need.
const (
	unwindGrace = 40 * time.Millisecond
	runGrace    = 2 * time.Second
)

// Panic is a panic that user code did not recover.
type Panic struct {
	Value     any
	Trace     []Location // innermost first
	Goroutine bool
	// Calls are those on the way to the panic, innermost first; the middle of a
	// deep recursion is left out.
	Calls []Activation
}

func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

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
// *Stopped. at is the offset in the main function that a failure ended at.
func (p *Program) Run(ctx context.Context, name string, cell uint64, data any) (at int, err error) {
	if p.main == nil {
		return 0, nil
	}
	r := p.engine.newRun(cell, name, data)
	p.engine.current.Store(r)
	return p.run(ctx, r)
}

// Peek is Run for a debugger: it runs while everything else is halted.
func (p *Program) Peek(ctx context.Context, name string, cell uint64, data any) error {
	r := p.engine.newRun(cell, name, data)
	r.unseen = true
	_, err := p.run(ctx, r)
	return err
}

func (p *Program) run(ctx context.Context, r *run) (at int, err error) {
	defer r.ended.Store(true)
	th := r.newThread()
	outcome := make(chan failure, 1)
	th.main = true
	go th.cell(p.main, outcome)
	select {
	case f := <-outcome:
		return f.at, f.err
	case <-ctx.Done():
	}
	r.interrupt()
	patience := time.NewTimer(unwindGrace)
	defer patience.Stop()
	for range 2 {
		select {
		case f := <-outcome:
			return f.at, f.err
		case <-patience.C:
		}
		if th.doing.Load() != nil {
			break
		}
		patience.Reset(runGrace)
	}
	return 0, &Stopped{What: th.activity()}
}

type failure struct {
	at  int
	err error
}

// cell runs a cell's main function on its own goroutine.
func (th *thread) cell(fn *Func, outcome chan<- failure) {
	normal := false
	var f failure
	th.run.engine.debug.enter(th)
	defer func() {
		if !normal {
			f = th.failure(recover())
		}
		th.run.engine.debug.leave(th)
		outcome <- f
	}()
	fr := th.push(fn)
	fr.call()
	normal = true
	if th.run.stop.Load() { // compiled code swallowed the interrupt
		f.err = &Stopped{What: th.activity()}
	}
}

// failure says how a goroutine ended that did not return.
func (th *thread) failure(r any) failure {
	if r == nil {
		return failure{err: Exit{Call: "runtime.Goexit"}}
	}
	p := th.catch(r)
	f := failure{}
	if n := len(p.trace); n > 0 {
		f.at = p.trace[n-1].Offset
	}
	switch v := p.value.(type) {
	case stopped:
		f.err = &Stopped{th.activity(), p.trace}
	case Exit:
		f.err = v
	default:
		f.err = &Panic{Value: v, Trace: p.trace, Calls: p.calls}
	}
	return f
}

// activity says what an interrupted goroutine was doing.
func (th *thread) activity() string {
	if d := th.doing.Load(); d != nil {
		return *d
	}
	return "running code"
}

// goroutine is the body of a go statement.
func (th *thread) goroutine(t target, args []reflect.Value) {
	e := th.run.engine
	normal := false
	defer func() {
		e.threads.remove(th)
		e.debug.leave(th)
		if normal {
			return
		}
		r := recover()
		if r == nil {
			return // runtime.Goexit ends a goroutine quietly
		}
		switch err := th.failure(r).err.(type) {
		case *Panic:
			err.Goroutine = true
			e.opts.Async(th.run.cell, err)
		case Exit:
			if err.Call == "runtime.Goexit" {
				return
			}
			e.opts.Async(th.run.cell, &Panic{Value: err, Goroutine: true})
		}
	}()
	th.apply(t, args, nil)
	normal = true
}

// Goroutine describes a goroutine that a go statement started.
type Goroutine struct {
	ID    uint64
	Cell  string
	Where Location
	State string
}

// Goroutines lists those that still run.
func (e *Engine) Goroutines() []Goroutine {
	var list []Goroutine
	e.threads.each(func(th *thread) {
		state := "running"
		if d := th.doing.Load(); d != nil {
			state = *d
		}
		list = append(list, Goroutine{th.id, th.run.name, th.start, state})
	})
	return list
}

// StopGoroutine interrupts a goroutine, and with it all others of its cell. It
// reports whether there is one of that number.
func (e *Engine) StopGoroutine(id uint64) (found bool) {
	e.threads.each(func(th *thread) {
		if th.id == id {
			found = true
			th.run.interrupt()
		}
	})
	return found
}

// Stop interrupts every goroutine of the session.
func (e *Engine) Stop() {
	e.threads.each(func(th *thread) { th.run.interrupt() })
}

var threadIDs atomic.Uint64

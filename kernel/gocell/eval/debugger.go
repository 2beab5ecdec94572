package eval

import (
	"bytes"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// Debugger halts the goroutines of user code and lets them go on. While it is
// not attached it costs nothing: loops and calls look at one flag anyway, by
// which interrupts come, and attaching raises that flag; code then goes on in a
// slower way that looks at every statement (see trace). When one goroutine
// halts, the others do at their next statement.
type Debugger struct {
	attached    atomic.Bool
	breakpoints atomic.Pointer[map[string][]int] // lines by Source.File
	pausing     atomic.Bool
	onPanic     atomic.Bool
	onUncaught  atomic.Bool
	halting     atomic.Bool // d.halted, to look at without the lock

	mu      sync.Mutex
	notify  func(Halt)
	decide  func(thread uint64) bool // see OnBreakpoint; may be nil
	halted  *tracee                  // the goroutine that halted first
	resume  chan struct{}
	tracees map[uint64]*tracee // by the runtime's goroutine id
	ids     uint64
	threads map[*thread]struct{} // those of cells and go statements
}

// Halt says why a goroutine halted.
type Halt struct {
	Thread uint64
	Reason string // "breakpoint", "step", "pause" or "exception", or Resumed
	Text   string // of the panic
}

// Resumed is the reason that tells of everything going on, because the goroutine
// that halted was interrupted.
const Resumed = "resumed"

// Step is how far a goroutine goes on.
type Step int

// Steps, from the finest on.
const (
	StepIn   Step = iota // to the next statement
	StepOver             // to the next statement of this call or a caller's
	StepOut              // to the caller
)

// tracee is a goroutine of user code as the debugger sees it. Compiled code that
// calls back begins another thread on it.
type tracee struct {
	id      uint64
	name    string
	threads []*thread // innermost last
	step    atomic.Pointer[stepping]
	parked  bool
}

type stepping struct {
	kind  Step
	depth int
}

// NewDebugger returns a debugger that is not attached.
func NewDebugger() *Debugger {
	d := &Debugger{tracees: map[uint64]*tracee{}, threads: map[*thread]struct{}{}}
	d.breakpoints.Store(&map[string][]int{})
	return d
}

// Attach begins debugging; notify hears of each halt, on its goroutine.
func (d *Debugger) Attach(notify func(Halt)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notify = notify
	d.attached.Store(true)
	for th := range d.threads {
		if !th.run.unseen {
			th.run.attention.Store(true)
		}
	}
}

// Detach forgets breakpoints and lets everything go on.
func (d *Debugger) Detach() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.attached.Store(false)
	d.breakpoints.Store(&map[string][]int{})
	d.pausing.Store(false)
	d.onPanic.Store(false)
	d.onUncaught.Store(false)
	d.release()
	for _, t := range d.tracees {
		t.step.Store(nil)
	}
	for th := range d.threads {
		th.run.attention.Store(false)
		if th.run.stop.Load() { // it may have been interrupted at this moment
			th.run.attention.Store(true)
		}
	}
}

// Halted reports whether a goroutine has halted.
func (d *Debugger) Halted() bool { return d.halting.Load() }

// Attached reports whether somebody debugs.
func (d *Debugger) Attached() bool { return d.attached.Load() }

// SetBreakpoints replaces those of a file. A line holds one when a statement
// begins on it.
func (d *Debugger) SetBreakpoints(file string, lines []int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[string][]int{}
	for f, l := range *d.breakpoints.Load() {
		if f != file {
			all[f] = l
		}
	}
	if len(lines) > 0 {
		all[file] = slices.Clone(lines)
	}
	d.breakpoints.Store(&all)
}

// HaltOnPanic says whether a panic halts before it unwinds.
func (d *Debugger) HaltOnPanic(on bool) { d.onPanic.Store(on) }

// HaltOnUncaught says whether a panic halts before it unwinds when no deferred
// call of user code is there that can recover it.
func (d *Debugger) HaltOnUncaught(on bool) { d.onUncaught.Store(on) }

// OnBreakpoint sets what decides whether a goroutine that came to a breakpoint
// stays halted. It is called on that goroutine, with everything halted.
func (d *Debugger) OnBreakpoint(decide func(thread uint64) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.decide = decide
}

// Pause halts what runs at its next statement.
func (d *Debugger) Pause() { d.pausing.Store(true) }

// Continue lets all goroutines go on.
func (d *Debugger) Continue() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.release()
}

// Step lets all goroutines go on and halts when the given one has done a step.
// A goroutine that is not halted stands for the one that halted first. It
// reports whether anything was halted.
func (d *Debugger) Step(thread uint64, kind Step) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.parked(thread)
	if t == nil {
		t = d.halted
	}
	if t == nil {
		return false
	}
	t.step.Store(&stepping{kind, t.depth()})
	d.release()
	return true
}

func (d *Debugger) parked(thread uint64) *tracee {
	for _, t := range d.tracees {
		if t.id == thread && t.parked {
			return t
		}
	}
	return nil
}

// release lets the parked goroutines go on; d.mu is held.
func (d *Debugger) release() {
	if d.halted == nil {
		return
	}
	d.halted = nil
	d.halting.Store(false)
	close(d.resume)
}

// ThreadInfo is a goroutine of user code.
type ThreadInfo struct {
	ID     uint64
	Name   string
	Halted bool
}

// Threads lists the goroutines that have been seen since the debugger was
// attached.
func (d *Debugger) Threads() []ThreadInfo {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []ThreadInfo
	for _, t := range d.tracees {
		list = append(list, ThreadInfo{t.id, t.name, t.parked})
	}
	slices.SortFunc(list, func(a, b ThreadInfo) int { return int(a.ID) - int(b.ID) })
	return list
}

// Stack lists the calls of a halted goroutine, innermost first. They are valid
// until something goes on. False means that it is not halted.
func (d *Debugger) Stack(thread uint64) ([]Activation, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.parked(thread)
	if t == nil {
		return nil, false
	}
	var list []Activation
	for _, th := range slices.Backward(t.threads) {
		list = append(list, th.activations()...)
	}
	return list, true
}

// Quiet reports whether no goroutine of user code is about to change a variable:
// each is halted, or waits for something, or is inside compiled code.
func (d *Debugger) Quiet() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for th := range d.threads {
		if t := th.tracee; th.isBusy() && (t == nil || !t.parked) {
			return false
		}
	}
	for _, t := range d.tracees { // goroutines of compiled code that call back
		if n := len(t.threads); !t.parked && n > 0 && t.threads[n-1].isBusy() {
			return false
		}
	}
	return true
}

// Hold calls f while every goroutine of cells is halted and none can go on or begin;
// where one is not halted, though it only waits, it does nothing and reports false.
// f calls no method of the debugger.
func (d *Debugger) Hold(f func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for th := range d.threads {
		if t := th.tracee; !th.run.unseen && (t == nil || !t.parked) {
			return false
		}
	}
	f()
	return true
}

func (th *thread) isBusy() bool { return th.doing.Load() == nil && !th.run.unseen }

// enter notes a goroutine that runs user code from its beginning on, leave its
// end.
func (d *Debugger) enter(th *thread) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.threads[th] = struct{}{}
	if d.attached.Load() && !th.run.unseen {
		th.run.attention.Store(true)
	}
}

func (d *Debugger) leave(th *thread) {
	th.depart()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.threads, th)
}

// adopt makes a thread part of its goroutine's tracee. It runs on that goroutine.
func (d *Debugger) adopt(th *thread) *tracee {
	id := goroutineID()
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tracees[id]
	if t == nil {
		d.ids++
		t = &tracee{id: d.ids, name: th.title()}
		d.tracees[id] = t
	}
	t.threads = append(t.threads, th)
	th.tracee, th.goroutineID = t, id
	return t
}

func (th *thread) title() string {
	switch {
	case th.main:
		return th.run.name
	case th.id == 0: // compiled code started it
		return "a goroutine of " + th.run.name
	}
	return "goroutine " + strconv.FormatUint(th.id, 10) + " of " + th.run.name
}

// depart ends a thread's part in its tracee.
func (th *thread) depart() {
	t := th.tracee
	if t == nil {
		return
	}
	d := th.run.engine.debug
	d.mu.Lock()
	defer d.mu.Unlock()
	t.threads = slices.DeleteFunc(t.threads, func(x *thread) bool { return x == th })
	if len(t.threads) == 0 && d.tracees[th.goroutineID] == t {
		delete(d.tracees, th.goroutineID)
	}
	th.tracee = nil
}

// goroutineID is the runtime's number of the calling goroutine. Only a debugger
// asks, for it is slow.
func goroutineID() uint64 {
	buf := make([]byte, 64)
	fields := bytes.Fields(buf[:runtime.Stack(buf, false)]) // goroutine 7 [running]: …
	id, _ := strconv.ParseUint(string(fields[1]), 10, 64)
	return id
}

// depth is the number of calls in progress. The goroutine is halted, or asks
// for itself.
func (t *tracee) depth() int {
	n := 0
	for _, th := range t.threads {
		n += th.depth
	}
	return n
}

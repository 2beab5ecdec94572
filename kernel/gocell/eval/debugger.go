package eval

import (
	"context"
	"maps"
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
	breakpoints atomic.Pointer[lineSets] // by Source.File
	pausing     atomic.Bool
	onPanic     atomic.Bool
	onUncaught  atomic.Bool
	halting     atomic.Bool // d.halted, to look at without the lock
	engine      atomic.Pointer[Engine]

	gate       sync.RWMutex // see Hold
	holding    atomic.Bool
	evaluators sync.Map // the runs that Peek began, by goroutine

	mu      sync.Mutex
	notify  func(Halt)
	decide  func(ctx context.Context, thread uint64) bool // see OnBreakpoint; may be nil
	halted  *tracee                                       // the goroutine that halted first
	settled bool                                          // it stays so: a breakpoint's condition holds
	resume  chan struct{}
	tracees map[uintptr]*tracee // by goroutine
	ids     uint64
	threads map[*thread]struct{} // those of cells and go statements
}

type lineSets map[string]map[int]struct{}

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
	StepIn Step = iota // to the next statement
	// StepOver goes to the next statement of this call or a caller's. The bodies of
	// its loops over functions are part of a call, and what it defers is not run
	// over: that comes when the call has nothing else to do.
	StepOver
	StepOut // to the caller
)

// tracee is a goroutine of user code as the debugger sees it. Compiled code that
// calls back begins another thread on it.
type tracee struct {
	id      uint64
	on      uintptr // see goroutine
	name    string
	threads []*thread // innermost last
	step    atomic.Pointer[stepping]
	parked  bool
	halts   int // how often it was parked
}

type stepping struct {
	kind  Step
	depth int
}

// NewDebugger returns a debugger that is not attached.
func NewDebugger() *Debugger {
	d := &Debugger{tracees: map[uintptr]*tracee{}, threads: map[*thread]struct{}{}}
	d.breakpoints.Store(&lineSets{})
	return d
}

// Attach begins debugging; notify hears of each halt, on its goroutine.
func (d *Debugger) Attach(notify func(Halt)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notify = notify
	d.attached.Store(true)
	d.refresh()
}

// Detach forgets breakpoints and lets everything go on.
func (d *Debugger) Detach() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.attached.Store(false)
	d.breakpoints.Store(&lineSets{})
	d.pausing.Store(false)
	d.onPanic.Store(false)
	d.onUncaught.Store(false)
	d.release()
	for _, t := range d.tracees {
		t.step.Store(nil)
	}
	d.refresh()
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
	all := maps.Clone(*d.breakpoints.Load())
	delete(all, file)
	for _, line := range lines {
		if all[file] == nil {
			all[file] = map[int]struct{}{}
		}
		all[file][line] = struct{}{}
	}
	d.breakpoints.Store(&all)
}

// HaltOnPanic says whether a panic halts before it unwinds.
func (d *Debugger) HaltOnPanic(on bool) { d.onPanic.Store(on) }

// HaltOnUncaught says whether a panic halts before it unwinds when no deferred
// call of user code is there that can recover it.
func (d *Debugger) HaltOnUncaught(on bool) { d.onUncaught.Store(on) }

// OnBreakpoint sets what decides whether a goroutine that came to a breakpoint
// stays halted. It is called on that goroutine; its context ends when the goroutine
// is interrupted.
func (d *Debugger) OnBreakpoint(decide func(ctx context.Context, thread uint64) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.decide = decide
}

// Pause halts what runs at its next statement, if nothing has halted yet. A
// goroutine whose breakpoint's condition is being computed runs.
func (d *Debugger) Pause() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pausing.Store(!d.settled)
}

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
	step := &stepping{kind, t.depth()}
	if kind != StepIn {
		step.depth = t.level()
	}
	t.step.Store(step)
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
	d.halted, d.settled = nil, false
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

// Stands reports whether a call is where it was when it was read. While the debugger
// holds everything, it stays there.
func (d *Debugger) Stands(a Activation) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return a.of == nil || a.of.parked && a.of.halts == a.halts
}

// enter notes a goroutine that runs user code from its beginning on, leave its
// end.
func (d *Debugger) enter(th *thread) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.threads[th] = struct{}{}
}

// begin is what enter leaves to the thread's own goroutine.
func (d *Debugger) begin(th *thread) {
	th.on.Store(goroutine())
	if th.run.unseen {
		d.evaluators.Store(th.on.Load(), th.run)
	}
}

func (d *Debugger) leave(th *thread) {
	if th.run.unseen {
		d.evaluators.Delete(th.on.Load())
	}
	th.depart()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.threads, th)
}

// adopt makes a thread part of its goroutine's tracee. It runs on that goroutine.
func (d *Debugger) adopt(th *thread) *tracee {
	on := th.on.Load()
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tracees[on]
	if t == nil {
		d.ids++
		t = &tracee{id: d.ids, on: on, name: th.title()}
		d.tracees[on] = t
	}
	t.threads = append(t.threads, th)
	th.tracee = t
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
	th.on.Store(0)
	t := th.tracee
	if t == nil {
		return
	}
	d := th.run.engine.debug
	d.mu.Lock()
	defer d.mu.Unlock()
	t.threads = slices.DeleteFunc(t.threads, func(x *thread) bool { return x == th })
	if len(t.threads) == 0 && d.tracees[t.on] == t {
		delete(d.tracees, t.on)
	}
	th.tracee = nil
}

// level is the depth of the call that a person takes the innermost one for: the
// body of a loop over a function belongs to the call that the loop is in.
func (t *tracee) level() int {
	depth := t.depth()
	level, of := depth, (*Func)(nil)
	for _, th := range slices.Backward(t.threads) {
		for _, fr := range slices.Backward(th.frames[:th.depth]) {
			if of == nil || fr.fn == of {
				if level, of = depth, fr.fn.loopIn; of == nil {
					return level
				}
			}
			depth--
		}
	}
	return level
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

package eval

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of one goroutine of user code.
const (
	// MaxDepth bounds nested calls, so that endless recursion is an error of
	// the cell and not the end of the process.
	MaxDepth = 100_000
	// MaxNesting bounds calls from compiled code back into user code within one
	// another, for the same reason: a String method that prints itself, say.
	MaxNesting = 5_000
	// deferGrace is how long deferred calls may take after an interrupt: they unlock
	// what is locked, on a busy machine too. Those that run all the while, which
	// busyPolls shows, have busyGrace; those that have hardly run are not stopped.
	deferGrace = 500 * time.Millisecond
	busyGrace  = 40 * time.Millisecond
	busyPolls  = 10_000
	fewPolls   = 10
)

// run is one execution of a cell, shared by its goroutines.
type run struct {
	engine *Engine
	cell   uint64
	name   string
	stop   atomic.Bool
	over   atomic.Bool    // the cell has ended, or was left behind
	asks   atomic.Uintptr // the goroutine that asks for input, or has asked when it was interrupted
	// attention is what polls look at: the run is to stop, or is traced.
	attention atomic.Bool
	unseen    bool            // it runs for the debugger, which does not look at it
	ctx       context.Context // cancelled when stop is set
	cancel    context.CancelFunc
	caller    context.Context // whose end is to stop the cell
	data      any
	nesting   atomic.Int32 // calls from compiled code in progress
	alive     atomic.Int32 // goroutines in progress, the cell's own among them
	id        uint64       // as one of the numbers of goroutines

	mu        sync.Mutex
	lastPanic *panicking // of a callback that compiled code called

	uncaught uncaught
}

func (e *Engine) newRun(cell uint64, name string, data any) *run {
	r := &run{engine: e, cell: cell, name: name, data: data, id: threadIDs.Add(1)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

func (r *run) interrupt() {
	r.stop.Store(true)
	r.attention.Store(true)
	r.cancel()
}

// thread is one goroutine of user code.
type thread struct {
	run    *run
	id     uint64 // of a go statement's
	main   bool   // of a cell
	frames []*frame
	depth  int // frames in use

	doing     atomic.Pointer[string] // the blocking operation it is in
	hears     atomic.Bool            // of an interrupt in that operation
	start     Location               // of the go statement
	deadline  time.Time              // set once it unwinds because of an interrupt
	stoppedIn *string                // what it was doing then

	words words        // of the call of a compiled function that begins
	kept  [maxKept]any // what its arguments hold, beside the banks

	called atomic.Pointer[run] // of the latest call from compiled code
	on     atomic.Uintptr      // see goroutine; 0 while it is lent to no call

	tracee *tracee // of the debugger
	polls  int     // since the deadline was set
}

func (r *run) newThread() *thread { return &thread{run: r} }

// stopped is the panic by which an interrupt unwinds a goroutine. It is
// invisible to recover in user code.
type stopped struct{}

// poll ends the goroutine when its cell was interrupted. Deferred calls may
// go on until the deadline.
func (th *thread) poll() {
	th.pass()
	if th.run.stop.Load() && th.isOverdue() {
		panic(stopped{})
	}
}

// isOverdue reports whether an interrupted goroutine has had the time of its
// deferred calls.
func (th *thread) isOverdue() bool {
	th.polls++
	left := time.Until(th.deadline)
	return th.deadline.IsZero() || left <= 0 && th.polls > fewPolls || left <= deferGrace-busyGrace && th.polls > busyPolls
}

// blocking notes what the goroutine waits in, for those who ask meanwhile, until
// it resumes.
func (th *thread) blocking(what *string) { th.doing.Store(what) }

// push begins a call. Each frame keeps its banks for the next call at its depth.
func (th *thread) push(fn *Func) *frame {
	if th.depth == len(th.frames) {
		th.grow()
	}
	fr := th.frames[th.depth]
	th.depth++
	// A recursion finds its own function and banks here: pointers that are not written
	// anew need no barrier of the collector.
	if fr.fn != fn {
		fr.fn = fn
	}
	fr.block, fr.ip, fr.traced = 0, 0, false
	if th.run.attention.Load() {
		fr.block = fr.attend(0)
	}
	if fr.deferOf != nil {
		fr.deferOf = nil
	}
	if n := fn.sizes[num]; n != len(fr.n) {
		fr.n = resized(fr.n, n)
	}
	if n := fn.sizes[ptr]; n != len(fr.p) {
		fr.p = resized(fr.p, n)
	}
	if fn.constants { // few, which a loop copies sooner than copy
		n, p := fn.firstConstant[num], fn.firstConstant[ptr]
		for i, x := range fn.initN {
			fr.n[n+i] = x
		}
		for i, x := range fn.initP {
			fr.p[p+i] = x
		}
	}
	if fn.wide {
		fr.widen(fn)
	}
	return fr
}

// widen prepares the banks that only some functions use.
func (fr *frame) widen(fn *Func) {
	fr.s = resized(fr.s, fn.sizes[str])
	fr.l = resized(fr.l, fn.sizes[lst])
	fr.v = resized(fr.v, fn.sizes[ref])
	if len(fn.initS) > 0 {
		copy(fr.s[fn.firstConstant[str]:], fn.initS)
	}
	if fn.nils > 0 {
		clear(fr.l[fn.firstConstant[lst]:][:fn.nils])
	}
	if len(fn.initV) > 0 {
		copy(fr.v[fn.firstConstant[ref]:], fn.initV)
	}
}

// resized is a bank of n places.
func resized[T any](bank []T, n int) []T {
	if n > cap(bank) {
		return make([]T, n, roomy(n))
	}
	return bank[:n]
}

// roomy is the capacity of a bank that needs n places: functions of about one
// size take turns at one depth.
func roomy(n int) int { return max(8, n+n/2) }

// grow makes frames for deeper calls, several at once.
func (th *thread) grow() {
	if th.depth >= MaxDepth {
		panic(stackOverflow{})
	}
	more := make([]frame, min(max(4, th.depth/2), 256, MaxDepth-th.depth))
	for i := range more {
		more[i].th, more[i].depth = th, th.depth+i
		th.frames = append(th.frames, &more[i])
	}
}

// pop ends a call; its results must have been taken.
func (th *thread) pop(fr *frame) { th.depth = fr.depth }

// stackOverflow is the panic of endless recursion.
type stackOverflow struct{}

func (stackOverflow) Error() string {
	return fmt.Sprintf("stack overflow: more than %d nested calls, or %d through compiled code", MaxDepth, MaxNesting)
}
func (stackOverflow) RuntimeError() {}

var _ runtime.Error = stackOverflow{}

// exec runs a frame to its return.
func (fr *frame) exec() {
	blocks := fr.fn.blocks
	b := fr.block
	for b >= 0 {
		blk := &blocks[b]
		fr.block = b
		for i, in := range blk.code {
			fr.ip = i
			in(fr)
		}
		fr.ip = len(blk.code)
		b = blk.next(fr)
	}
	if b != ended {
		fr.trace(divert(b))
	}
}

// ended is what the last block of a call returns in place of the next one.
const ended = -1

// call runs a frame whose parameters are set, deferred calls included.
func (fr *frame) call() {
	if fr.fn.hasDefer {
		fr.callDeferring()
	} else {
		fr.exec()
	}
}

package eval

import (
	"context"
	"strings"
	"sync"
	"time"
	"weak"
)

// Who looks at values, or computes with them, must have everything else stand
// still: a map that is read while it is written to ends the process. Goroutines
// of user code are held at their polls: at the latest when they come to the end
// of a loop's body or call a function, when a wait ends, and when compiled code
// calls them.

// holdTime is how long Hold waits for user code to come to its polls, and tryTime how
// long TryHold does.
const (
	holdTime = 100 * time.Millisecond
	tryTime  = 5 * time.Millisecond
)

// World says what may change while it is held.
type World struct {
	// Still is false when user code runs on that came to no poll.
	Still bool
	// Compiled is the compiled function that a goroutine is in, when one may change
	// variables; else it is empty.
	Compiled string
}

// Maps reports whether maps may be gone through.
func (w World) Maps() bool { return w.Still && w.Compiled == "" }

// Hold calls f while user code is held, but for what f itself has evaluated. It
// is not called within f, nor by code of a cell.
func (d *Debugger) Hold(ctx context.Context, f func(World)) {
	d.gate.Lock()
	defer d.letGo()
	d.stop()
	f(d.untilStill(ctx, holdTime))
}

// untilStill waits until all may be looked at, if that is soon.
func (d *Debugger) untilStill(ctx context.Context, most time.Duration) World {
	w := d.world()
	for end := time.Now().Add(most); !w.Maps() && time.Now().Before(end) && ctx.Err() == nil; w = d.world() {
		time.Sleep(50 * time.Microsecond)
	}
	return w
}

// TryHold is Hold for those who may not wait: where code runs on that may change
// variables, or something else is looked at, it does nothing and reports false.
func (d *Debugger) TryHold(f func()) bool {
	if !d.gate.TryLock() {
		return false
	}
	defer d.letGo()
	d.stop()
	if !d.untilStill(context.Background(), tryTime).Maps() {
		return false
	}
	f()
	return true
}

func (d *Debugger) stop() {
	d.holding.Store(true)
	d.refresh()
}

func (d *Debugger) letGo() {
	d.holding.Store(false)
	d.refresh()
	d.gate.Unlock()
}

// refresh says to the polls of all runs whether they are to look.
func (d *Debugger) refresh() {
	if e := d.engine.Load(); e != nil {
		e.eachRun((*run).refresh)
	}
}

func (r *run) refresh() {
	d := r.engine.debug
	r.attention.Store(r.stop.Load() || !r.unseen && (d.attached.Load() || d.holding.Load()))
	if r.stop.Load() { // it may have been interrupted at this moment
		r.attention.Store(true)
	}
}

var heldBack = "a look of the debugger"

// hold waits while everything is held.
func (th *thread) hold() {
	d := th.run.engine.debug
	for d.holding.Load() && !th.run.unseen {
		th.doing.Store(&heldBack)
		d.awaitGate()
		th.doing.Store(nil)
	}
}

// awaitGate waits until nobody holds the gate.
func (d *Debugger) awaitGate() {
	d.gate.RLock()
	defer d.gate.RUnlock()
}

// resume ends what blocking began.
func (th *thread) resume() {
	th.doing.Store(nil)
	if th.run.attention.Load() {
		th.hold()
	}
}

// returned ends the call of a compiled function, which is what an interrupt is said
// to have stopped.
func (th *thread) returned() {
	th.poll()
	th.resume()
}

// evaluating is the run of what Peek evaluates on the calling goroutine, if it does.
func (d *Debugger) evaluating() *run {
	r, _ := d.evaluators.Load(goroutine())
	of, _ := r.(*run)
	return of
}

// world looks at what each goroutine does.
func (d *Debugger) world() World {
	d.mu.Lock()
	defer d.mu.Unlock()
	var running []*thread
	still := map[uintptr]bool{} // goroutines, by what compiled code called last
	add := func(th *thread) {
		if t := th.tracee; t != nil && t.parked || th.doing.Load() == &heldBack {
			still[th.on.Load()] = true
		} else {
			running = append(running, th)
		}
	}
	for th := range d.threads {
		if !th.run.unseen {
			add(th)
		}
	}
	callers.each(func(th *thread) {
		if r := th.called.Load(); th.on.Load() != 0 && r.engine.debug == d && !r.unseen {
			add(th)
		}
	})
	w := World{Still: true}
	for _, th := range running {
		switch doing := th.doing.Load(); {
		case doing == nil:
			w.Still = false
		case !still[th.on.Load()] && !waits(*doing):
			w.Compiled = *doing
		}
	}
	return w
}

// waits reports whether an activity changes no variable until it ends: waiting, or a
// function of a package that calls back what may, or touches only what is its own.
func waits(doing string) bool {
	name := strings.TrimLeft(doing, "(*")
	slash := strings.LastIndexByte(name, '/')
	dot := strings.IndexByte(name[slash+1:], '.')
	return dot < 0 || waiting[name[:slash+1+dot]]
}

var waiting = map[string]bool{
	"bufio": true, "context": true, "fmt": true, "iter": true, "log": true, "log/slog": true, "net": true, "net/http": true,
	"os": true, "os/exec": true, "os/signal": true, "sync": true, "syscall": true, "time": true,
}

// threads keeps those of calls from compiled code, which may come by the
// million: from a sort, say.
var threads sync.Pool

func (r *run) borrowThread() *thread {
	th, ok := threads.Get().(*thread)
	if !ok {
		th = new(thread)
		callers.add(th)
	}
	th.run, th.deadline = r, time.Time{}
	if th.called.Load() != r { // storing a pointer takes longer than all else here
		th.called.Store(r)
	}
	th.on.Store(goroutine())
	return th
}

// callerList knows the threads of calls from compiled code, which come and go too
// often to be entered each time: they are kept for the next call.
type callerList struct {
	mu   sync.Mutex
	all  []weak.Pointer[thread]
	room int // of all, before it is searched for those that are no more
}

var callers callerList

func (l *callerList) add(th *thread) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all = append(l.all, weak.Make(th)); len(l.all) > l.room {
		live := l.all[:0]
		for _, w := range l.all {
			if w.Value() != nil {
				live = append(live, w)
			}
		}
		l.all, l.room = live, max(64, 2*len(live))
	}
}

func (l *callerList) each(f func(*thread)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.all {
		if th := w.Value(); th != nil {
			f(th)
		}
	}
}

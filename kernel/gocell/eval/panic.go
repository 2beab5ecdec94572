package eval

import (
	"fmt"
	"reflect"
	"slices"
	"time"
)

// panicking is a panic on its way out, with the calls it came from.
type panicking struct {
	value     any
	trace     []Location
	recovered bool
	calls     []Activation // as they were, innermost first

	placed, onUser bool // see onUserGoroutine
	pending        bool // see pend
}

// rethrow carries a panic from frame to frame, so that its trace is not lost.
type rethrow struct{ *panicking }

// deferred is a call that waits for its function to end.
type deferred struct {
	target target
	args   []reflect.Value
}

// Location is one call in user code.
type Location struct {
	Source *Source
	Func   string
	Offset int // in bytes, of the source's text
	// Omitted counts calls that were left out of a trace behind this one.
	Omitted int
}

// A trace shows this many calls at each of its ends.
const maxTrace = 20

// locate returns the calls of a goroutine, innermost first.
func (th *thread) locate() []Location {
	inner, outer := th.depth, 0
	if th.depth > 2*maxTrace {
		inner, outer = maxTrace, th.depth-maxTrace
	}
	var list []Location
	add := func(from, to int) {
		for i := from; i < to; i++ {
			if l, ok := th.frames[th.depth-1-i].location(); ok {
				list = append(list, l)
			}
		}
	}
	add(0, inner)
	if outer > 0 {
		if len(list) > 0 {
			list[len(list)-1].Omitted = outer - inner
		}
		add(outer, th.depth)
	}
	return list
}

func (fr *frame) location() (Location, bool) {
	if fr.fn.source == nil {
		return Location{}, false
	}
	return Location{Source: fr.fn.source, Func: fr.fn.name, Offset: fr.fn.blocks[fr.block].offset(fr.ip)}, true
}

// catch turns what recover returned into a panic with its trace.
func (th *thread) catch(r any) *panicking {
	if again, ok := r.(rethrow); ok {
		return again.panicking
	}
	r = th.unsigned(r)
	p := &panicking{value: r, trace: th.locate()}
	if isFatal(r) {
		th.run.engine.passing.take()
	}
	if isStop(r) {
		th.stoppedIn = th.doing.Load()
	} else {
		p.calls = th.remember()
		if th.run.engine.debug.panicked(th, r) {
			p.value = stopped{}
		}
	}
	th.doing.Store(nil) // the call that waited has ended with this panic
	th.hears.Store(false)
	th.run.mu.Lock()
	defer th.run.mu.Unlock()
	if inner := th.run.lastPanic; inner != nil && same(inner.value, r) {
		p.trace = joinTraces(inner.trace, p.trace)
		p.calls = joinCalls(inner.calls, p.calls)
		p.placed, p.onUser = inner.placed, inner.onUser
	}
	th.run.lastPanic = nil
	return p
}

// joinTraces puts the calls of a callback before those that led to it, and
// leaves out the middle of what is too long.
func joinTraces(inner, outer []Location) []Location {
	list := append(append([]Location(nil), inner...), outer...)
	return Shorten(list, maxTrace, maxTrace)
}

// joinCalls is joinTraces for the calls themselves.
func joinCalls(inner, outer []Activation) []Activation {
	list := slices.Concat(inner, outer)
	if len(list) <= 2*maxTrace {
		return list
	}
	tail := list[len(list)-maxTrace:]
	for _, a := range list[maxTrace : len(list)-maxTrace] {
		list[maxTrace-1].Omitted += 1 + a.Omitted
	}
	return append(list[:maxTrace:maxTrace], tail...)
}

// Shorten leaves out the middle of a trace that is longer than two pieces.
func Shorten(list []Location, inner, outer int) []Location {
	if len(list) <= inner+outer {
		return list
	}
	last := list[inner-1]
	for _, l := range list[inner : len(list)-outer] {
		last.Omitted += 1 + l.Omitted
	}
	return append(append(append([]Location(nil), list[:inner-1]...), last), list[len(list)-outer:]...)
}

// same compares panic values by identity; they need not be comparable.
func same(a, b any) bool {
	return *(*eface)(pointer(&a)) == *(*eface)(pointer(&b))
}

// callDeferring runs a function that defers. Its deferred calls run when it
// returns, panics, is interrupted, or ends its goroutine.
func (fr *frame) callDeferring() {
	fr.defers, fr.panicked = fr.defers[:0], nil
	fr.guard(fr.exec)
	if fr.panicked == nil {
		if len(fr.defers) == 0 {
			return
		}
		runDefers(fr) // all of them are from the bodies of loops over functions
	} else if fr.runDefers(); !fr.panicked.recovered {
		panic(rethrow{fr.panicked})
	}
	fr.th.unpend(fr.panicked)
	fr.panicked = nil
	fr.readResults()
}

// readResults reads the results from their variables, which deferred calls may
// have changed.
func (fr *frame) readResults() {
	fr.block = fr.fn.recoverBlock
	if fr.block < 0 {
		fr.ret, fr.result = nil, 0
		return
	}
	fr.exec()
}

// guard runs f and keeps its panic in fr.panicked.
func (fr *frame) guard(f func()) {
	normal := false
	defer func() {
		if normal {
			return
		}
		r := recover()
		th := fr.th
		if r == nil { // runtime.Goexit: there is nothing to return to
			fr.runDefers()
			return
		}
		fr.panicked = th.catch(r)
		th.pend(fr.panicked)
		if isStop(fr.panicked.value) && th.deadline.IsZero() {
			th.deadline, th.polls = time.Now().Add(deferGrace), 0
		}
		th.trim(fr)
	}()
	f()
	normal = true
}

// trim gives up the frames above fr.
func (th *thread) trim(fr *frame) {
	th.depth = min(th.depth, fr.depth+1)
}

// runDefers runs the deferred calls, last first. A panic in one of them takes
// the place of the one before.
func (fr *frame) runDefers() {
	for len(fr.defers) > 0 {
		d := fr.defers[len(fr.defers)-1]
		fr.defers = fr.defers[:len(fr.defers)-1]
		before := fr.panicked
		fr.guard(func() { fr.th.apply(d.target, d.args, fr) })
		after := fr.panicked
		if after == before || before == nil {
			continue
		}
		if isStop(before.value) { // an interrupt is not replaced
			fr.panicked, before = before, after
		}
		fr.th.unpend(before)
	}
}

func isStop(v any) bool {
	_, ok := v.(stopped)
	return ok
}

// recovers implements the built-in recover for a frame, which may be deferred by
// way of wrappers.
func (fr *frame) recovers() reflect.Value {
	d := fr.deferOf
	for i := fr.depth - 1; d == nil && i >= 0 && fr.th.frames[i].fn.wrapper; i-- {
		d = fr.th.frames[i].deferOf
	}
	if d == nil || d.panicked == nil || d.panicked.recovered || isFatal(d.panicked.value) {
		return reflect.Value{}
	}
	d.panicked.recovered = true
	return reflect.ValueOf(d.panicked.value)
}

// isFatal reports whether user code cannot recover from a panic.
func isFatal(v any) bool {
	switch v.(type) {
	case stopped, Exit, stackOverflow:
		return true
	}
	return false
}

// panicText is a panic's value as Go prints it, except that Go has but the address
// of values that %#v shows whole. What the value's methods do is
// done on the goroutine that panics, where an interrupt reaches it.
func panicText(v any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("(%T)", v)
		}
	}()
	switch v := v.(type) {
	case error:
		return v.Error()
	case fmt.Stringer:
		return v.String()
	case string:
		return v
	}
	rv := reflect.ValueOf(v)
	switch k := rv.Kind(); {
	case k == reflect.String:
		return fmt.Sprintf(`%s("%s")`, rv.Type(), rv.String())
	case k > reflect.Complex128:
		return fmt.Sprintf("%#v", v)
	case rv.Type().PkgPath() == "":
		return basicText(rv)
	case k == reflect.Complex64 || k == reflect.Complex128:
		return rv.Type().String() + basicText(rv) // has brackets
	}
	return fmt.Sprintf("%s(%s)", rv.Type(), basicText(rv))
}

// newPanic is the end of code that panicked.
func (e *Engine) newPanic(p *panicking) *Panic {
	return &Panic{Value: p.value, Text: panicText(p.value), Errors: e.compiledErrors(nil, p.value), Trace: p.trace, Calls: p.calls}
}

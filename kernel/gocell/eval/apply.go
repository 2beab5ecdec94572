package eval

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
)

// apply calls any target with boxed arguments, a nil interface among them
// being the zero Value. deferOf is the frame whose deferred call this is.
func (th *thread) apply(t target, args []reflect.Value, deferOf *frame) []reflect.Value {
	switch {
	case t.deref != "": // here, since a nil pointer panics when a deferred call happens
		if args[0].IsNil() {
			panic(nilReceiver(args[0].Type().Elem(), t.deref))
		}
		args[0] = snapshot(args[0].Type().Elem(), args[0].UnsafePointer())
		t.deref = ""
		return th.apply(t, args, deferOf)
	case t.code != nil:
		return th.applyCode(t.code, args, deferOf)
	case t.clo != nil:
		if t.clo.target.fn != nil {
			return th.applyFunc(t.clo.target.fn, t.clo, args, deferOf)
		}
		return th.apply(t.clo.target, args, deferOf)
	case t.native != nil:
		th.blocking(&t.name)
		results := t.native(th, args)
		th.resume()
		th.pass()
		return results
	case t.fn != nil:
		return th.applyFunc(t.fn, nil, args, deferOf)
	}
	return th.compiled(t, args)
}

func (th *thread) applyCode(c *Code, args []reflect.Value, deferOf *frame) []reflect.Value {
	return th.applyFunc(c.current(), nil, args, deferOf)
}

// current is the code of a function that may be given new code.
func (c *Code) current() *Func {
	if fn := c.fn.Load(); fn != nil {
		return fn
	}
	if err := c.fail.Load(); err != nil {
		panic(*err)
	}
	panic(goError(fmt.Sprintf("%s has no code: its cell did not compile", c.Name)))
}

func (t target) current() *Func {
	if t.code != nil {
		return t.code.current()
	}
	return t.fn
}

func (th *thread) applyFunc(fn *Func, clo *closure, args []reflect.Value, deferOf *frame) []reflect.Value {
	fr := th.push(fn)
	fr.deferOf = deferOf
	for i, pl := range fn.params {
		if pl.class == ref && args[i].IsValid() {
			fr.assign(pl, args[i])
		} else {
			fr.set(pl, args[i])
		}
	}
	if clo != nil {
		fr.bind(clo)
	}
	fr.call()
	results := make([]reflect.Value, len(fn.results))
	for i := range results {
		switch {
		case fn.numeric:
			results[i] = boxNumber(fn.results[0], fr.result)
		case len(fr.ret) == len(results):
			results[i] = fr.get(fr.ret[i])
		case fn.results[i].Kind() != reflect.Interface: // recovered without named results
			results[i] = reflect.Zero(fn.results[i])
		}
	}
	th.pop(fr)
	return results
}

// compiled calls compiled code.
func (th *thread) compiled(t target, args []reflect.Value) []reflect.Value {
	if t.host.IsNil() {
		nilDereference()
	}
	ft := t.host.Type()
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		in[i] = static(ft.In(i), a)
		if in[i].IsValid() {
			in[i] = th.standard(ft.In(i), in[i])
		}
	}
	th.blocking(&t.name)
	var out []reflect.Value
	if t.variadic {
		out = t.host.CallSlice(in)
	} else {
		out = t.host.Call(in)
	}
	th.returned()
	return out
}

// entry is a closure as compiled code calls it, on a goroutine of its own
// choice: on behalf of the cell that made the closure while that or a goroutine
// of it runs, else of the latest cell.
func (c *closure) entry(args []reflect.Value) []reflect.Value {
	r, th := c.arrive()
	results, failed := th.guarded(c, args)
	r.nesting.Add(-1)
	if failed != nil {
		return c.fail(r, failed)
	}
	for i, t := range outs(c) {
		results[i] = static(t, results[i])
	}
	threads.Put(th)
	return results
}

// arrive begins a call from compiled code.
func (c *closure) arrive() (*run, *thread) {
	r := c.run
	if r == nil {
		r = c.engine.current.Load()
	}
	r = r.orLatest()
	if r.nesting.Add(1) > MaxNesting && nested() >= MaxNesting {
		r.nesting.Add(-1)
		r.engine.passing.note(stackOverflow{})
		panic(stackOverflow{})
	}
	if r.attention.Load() {
		if p := c.engine.debug.evaluating(); p != nil {
			r.nesting.Add(-1)
			r = p
			r.nesting.Add(1)
		}
	}
	return r, r.borrowThread()
}

// nested counts the calls from compiled code that are in progress on this goroutine.
// It is slow, and of use when the goroutines of a run have many such calls together:
// those of time.AfterFunc are one each.
func nested() (n int) {
	pcs := make([]uintptr, 64)
	for runtime.Callers(0, pcs) == len(pcs) {
		pcs = make([]uintptr, 4*len(pcs))
	}
	for frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)]); ; {
		frame, more := frames.Next()
		if frame.Function == tryName || frame.Function == guardedName {
			n++
		}
		if !more {
			return n
		}
	}
}

// What each call from compiled code goes through.
var (
	tryName     = nameOf((*thread).try)
	guardedName = nameOf((*thread).guarded)
)

func nameOf(f any) string { return runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name() }

// fail lets a panic go on through the compiled code that called, unless nobody
// would recover it there.
func (c *closure) fail(r *run, failed *panicking) []reflect.Value {
	if !failed.onUserGoroutine() {
		return c.abandon(r, failed)
	}
	r.mu.Lock()
	r.lastPanic = failed
	r.mu.Unlock()
	if isFatal(failed.value) && !isStop(failed.value) { // polls repeat those
		r.engine.passing.note(failed.value)
	}
	panic(failed.value)
}

// abandon ends a callback on a goroutine that compiled code started, a timer's
// or a server's: nobody there would recover. The panic is reported; the callback
// returns zeros, and an error where it can.
func (c *closure) abandon(r *run, failed *panicking) []reflect.Value {
	if !isStop(failed.value) {
		p := r.engine.newPanic(failed)
		p.Goroutine = true
		r.engine.opts.Async(r.cell, p)
	}
	var results []reflect.Value
	for _, t := range outs(c) {
		if t == errorType {
			results = append(results, reflect.ValueOf(&errAbandoned).Elem())
		} else {
			results = append(results, reflect.Zero(t))
		}
	}
	return results
}

var (
	errorType    = reflect.TypeFor[error]()
	errAbandoned = errors.New("the cell's function ended with a panic or was interrupted")
)

// onUserGoroutine reports whether the goroutine that panics was started for
// user code. The stack is searched once, by the innermost callback.
func (p *panicking) onUserGoroutine() bool {
	if !p.placed {
		p.onUser, p.placed = searchStack()
	}
	return p.onUser
}

// searchStack tells whether user code would recover a panic of this goroutine. It
// is not final of a coroutine, from which the panic goes on to another goroutine.
func searchStack() (user, final bool) {
	for size := 256; ; size *= 2 {
		pcs := make([]uintptr, size)
		n := runtime.Callers(1, pcs)
		if n == size {
			continue // the bottom of the stack is what counts
		}
		frames := runtime.CallersFrames(pcs[max(0, n-20):n])
		for {
			f, more := frames.Next()
			switch f.Function {
			case mainFrame, goFrame:
				return true, true
			case pullFrame:
				return true, false
			}
			if !more {
				return false, true
			}
		}
	}
}

// The functions at the bottom of the goroutines of user code.
const (
	mainFrame = "forgekernel/kernel/gocell/eval.(*thread).cell"
	goFrame   = "forgekernel/kernel/gocell/eval.(*thread).goroutine"
	pullFrame = "forgekernel/kernel/gocell/eval.(*Engine).pulled"
)

// guarded runs a closure and returns its panic. The stack is unwound before the
// panic goes on, which keeps deep recursions from costing the square of their
// depth.
func (th *thread) guarded(c *closure, args []reflect.Value) (results []reflect.Value, failed *panicking) {
	defer func() {
		if p := recover(); p != nil {
			failed = th.catch(p)
		}
		th.depart()
	}()
	return th.apply(target{clo: c}, args, nil), nil
}

// outs lists the types that compiled code expects of the results.
func outs(c *closure) []reflect.Type {
	if c.typ == nil {
		return c.target.outs()
	}
	list := make([]reflect.Type, c.typ.NumOut())
	for i := range list {
		list[i] = c.typ.Out(i)
	}
	return list
}

// outs is known once the code of a method is linked.
func (t target) outs() []reflect.Type {
	switch {
	case t.fn != nil:
		return t.fn.results
	case t.code != nil && t.code.fn.Load() != nil:
		return t.code.fn.Load().results
	case t.clo != nil:
		return t.clo.target.outs()
	}
	return nil
}

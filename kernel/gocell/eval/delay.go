package eval

import (
	"reflect"

	"golang.org/x/tools/go/ssa"
)

// splitTarget evaluates what a go or defer statement calls, and its arguments.
func (b *builder) splitTarget(common *ssa.CallCommon) func(fr *frame) (target, []reflect.Value) {
	args := b.vals(common.Args)
	if common.IsInvoke() {
		x, s := b.val(common.Value), &site{engine: b.e, method: common.Method}
		return func(fr *frame) (target, []reflect.Value) {
			tg := s.lookup(fr.v[x.i])
			return tg, append([]reflect.Value{fr.v[x.i]}, fr.gather(args)...)
		}
	}
	switch fn := common.Value.(type) {
	case *ssa.Builtin:
		if fn.Name() == "recover" {
			return deferredRecover
		}
		n := b.builtinNative(fn, args, common)
		return func(fr *frame) (target, []reflect.Value) {
			return target{native: n, name: fn.Name()}, fr.gather(args)
		}
	case *ssa.Function:
		tg := b.resolve(fn)
		return func(fr *frame) (target, []reflect.Value) { return tg, fr.gather(args) }
	}
	f, variadic, e := b.val(common.Value), common.Signature().Variadic(), b.e
	return func(fr *frame) (target, []reflect.Value) {
		if clo := closureOf(fr.p[f.i]); clo != nil {
			return target{clo: clo}, fr.gather(args)
		}
		if tg, adapt := e.reflected(fr.p[f.i]); adapt != nil {
			return tg, adapt(fr.gather(args))
		}
		return target{host: box(f.typ, fr.p[f.i]), name: "a compiled function", variadic: variadic}, fr.gather(args)
	}
}

// deferredRecover is "defer recover()": as if the function itself called it, but
// of no effect while that panics.
func deferredRecover(fr *frame) (target, []reflect.Value) {
	return target{name: "recover", native: func(*thread, []reflect.Value) []reflect.Value {
		if p := fr.panicked; p == nil || p.recovered {
			fr.recovers()
		}
		return nil
	}}, nil
}

func (b *builder) goStmt(in *ssa.Go) {
	split := b.splitTarget(in.Common())
	b.emit(func(fr *frame) {
		tg, args := split(fr)
		start, _ := fr.location()
		fr.th.run.spawn(tg, args, start, nil)
	})
}

func (b *builder) deferStmt(in *ssa.Defer) {
	b.fn.hasDefer = true
	split := b.splitTarget(in.Common())
	if in.DeferStack == nil {
		b.emit(func(fr *frame) {
			tg, args := split(fr)
			fr.defers = append(fr.defers, deferred{tg, args})
		})
		return
	}
	stack := b.val(in.DeferStack)
	b.emit(func(fr *frame) {
		tg, args := split(fr)
		outer := (*frame)(fr.p[stack.i])
		outer.defers = append(outer.defers, deferred{tg, args})
	})
}

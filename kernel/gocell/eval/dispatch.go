package eval

import (
	"fmt"
	"go/types"
	"reflect"
	"sync/atomic"

	"golang.org/x/tools/go/ssa"

	"forgekernel/kernel/gocell/rtype"
)

// invoke emits a call of an interface method.
func (b *builder) invoke(common *ssa.CallCommon, args, dst []place) {
	x := b.val(common.Value)
	s := &site{engine: b.e, method: common.Method, args: append([]place{x}, args...), dst: dst}
	result, numeric := numericResult(dst)
	// The moves of the arguments depend on where the receiver goes.
	var moves [classes][]move
	for c := range moves {
		moves[c] = paramMoves(append([]place{{class: class(c)}}, args...))[1:]
	}
	b.emit(func(fr *frame) {
		recv := fr.v[x.i]
		if !recv.IsValid() {
			nilDereference()
		}
		d := s.find(recv)
		if d.host != nil {
			d.host.do(fr, d.fn, d.name)
			return
		}
		if d.code != nil {
			fn := d.code.current()
			callee := fr.th.push(fn)
			self := &fn.params[0]
			switch {
			case self.class == ptr:
				callee.p[self.i] = word(recv)
			case self.class == ref && typeWord(self.typ) == d.typ:
				callee.v[self.i] = recv
			default:
				callee.assign(*self, recv)
			}
			for _, mv := range moves[self.class] {
				mv.do(callee, fr)
			}
			if fn.hasDefer {
				callee.callDeferring()
			} else {
				callee.exec()
			}
			if numeric {
				fr.n[result] = callee.result
			} else {
				fr.take(callee, dst)
			}
			fr.th.pop(callee)
			return
		}
		tg := d.target
		list := make([]reflect.Value, len(args)+1)
		list[0] = recv
		for i, a := range args {
			list[i+1] = fr.get(a)
		}
		fr.finish(dst, fr.th.apply(tg, list, nil))
	})
}

func (s *site) lookup(v reflect.Value) target {
	if !v.IsValid() {
		nilDereference()
	}
	return s.find(v).target
}

// dispatch is what a call through an interface found for a dynamic type.
type dispatch struct {
	typ    pointer
	target target
	code   *Code     // when the target takes unboxed arguments
	host   *hostCall // when it is a compiled method that is called so
	fn     pointer   // that method
	name   *string   // by which a goroutine waits in it
	after  int64     // the engine's alterations when it was found
}

// site is one call through an interface. It remembers what it found for the
// latest dynamic types, since the latest alteration.
type site struct {
	engine *Engine
	method *types.Func
	args   []place // with the receiver first; nil when the call is delayed
	dst    []place
	known  atomic.Pointer[[]*dispatch]
}

const maxKnown = 8 // dynamic types of a site

func (s *site) find(v reflect.Value) *dispatch {
	t := (*value)(pointer(&v)).typ
	known := s.known.Load()
	if known == nil || (*known)[0].after != s.engine.alterations.Load() {
		return s.learn(v.Type(), nil)
	}
	for _, d := range *known {
		if d.typ == t {
			return d
		}
	}
	return s.learn(v.Type(), *known)
}

func (s *site) learn(t reflect.Type, known []*dispatch) *dispatch {
	d := s.dispatch(t)
	list := append([]*dispatch{d}, known[:min(len(known), maxKnown-1)]...)
	s.known.Store(&list)
	return d
}

func (s *site) dispatch(t reflect.Type) *dispatch {
	d := &dispatch{typ: typeWord(t), after: s.engine.alterations.Load()}
	s.engine.fits(t, s.method)
	if im, deref := s.engine.lookupMethod(t, s.method.Id()); im != nil {
		d.target = target{clo: im}
		if deref {
			d.target.deref = s.method.Name()
		} else if tg := im.target; tg.code != nil {
			d.code = tg.code
		} else if tg.fn != nil {
			d.code = &Code{Name: tg.fn.name}
			d.code.fn.Store(tg.fn)
		}
		return d
	}
	hm, ok := t.MethodByName(s.method.Name())
	if !ok {
		panic(goError("internal error: " + t.String() + " has no method " + s.method.Name()))
	}
	if n, ok := natives[methodName(t, s.method.Name())]; ok {
		d.target = target{native: n, name: s.method.Name()}
		return d
	}
	if s.method.Name() == "Value" && t.Implements(contextType) {
		d.target = target{native: contextValue, name: "Value"}
		return d
	}
	d.target = target{host: hm.Func, name: s.method.Name(), variadic: s.method.Signature().Variadic()}
	if s.args != nil {
		d.host, d.fn = hostCallOf(hm.Type, s.args, s.dst), word(hm.Func)
		d.name = waitName(packageOf(t), hm.Type, &d.target.name)
	}
	return d
}

// fits makes sure that a method is the one that an interface asks for: a value
// may be in an interface since before its method got another signature.
func (e *Engine) fits(t reflect.Type, m *types.Func) {
	if e.alterations.Load() == 0 {
		return
	}
	recv, ok := e.types.Made(t)
	if !ok && t.Kind() == reflect.Pointer {
		if recv, ok = e.types.Made(t.Elem()); ok {
			recv = types.NewPointer(recv)
		}
	}
	if !ok {
		return
	}
	want, is := rtype.WithoutReceiver(m), "gone"
	if now, have := e.methodOf(recv, m); now != nil {
		e.mu.Lock()
		altered := e.altered[now]
		e.mu.Unlock()
		if !altered || types.Identical(have, want) {
			return
		}
		is = have.String()
	}
	panic(typeError(fmt.Sprintf("method %s of %s was declared again and is %s now, where %s is called", m.Name(), t, is, want)))
}

// methodOf finds the method that a type has for one of an interface, and its
// signature, which another cell may be changing.
func (e *Engine) methodOf(recv types.Type, m *types.Func) (*types.Func, *types.Signature) {
	e.shapes.RLock()
	defer e.shapes.RUnlock()
	sel := types.NewMethodSet(recv).Lookup(m.Pkg(), m.Name())
	if sel == nil {
		return nil, nil
	}
	now := sel.Obj().(*types.Func)
	return now, rtype.WithoutReceiver(now)
}

// methodName is hostName for a method of a compiled type.
func methodName(t reflect.Type, method string) string {
	if t.Kind() == reflect.Pointer {
		return t.Elem().PkgPath() + ".(*" + t.Elem().Name() + ")." + method
	}
	return t.PkgPath() + ".(" + t.Name() + ")." + method
}

func packageOf(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath()
}

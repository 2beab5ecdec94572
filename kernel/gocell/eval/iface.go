package eval

import (
	"go/types"
	"reflect"

	"forgekernel/kernel/gocell/rtype"
	"golang.org/x/tools/go/ssa"
)

// methodKey names a method of a made type T or of *T.
type methodKey struct {
	typ     types.Type
	pointer bool
	id      string // types.Func.Id: the package matters when the name is not exported
}

// pendingMethod is a method of a made type whose code is not chosen yet.
type pendingMethod struct {
	clo *closure
	sel *types.Selection
}

// reflectMethod makes a method of a type as reflection calls it. Types are made
// only while a unit is compiled; the code is chosen before that ends.
func (e *Engine) reflectMethod(recv types.Type, sel *types.Selection) func([]reflect.Value) []reflect.Value {
	key := methodKey{id: sel.Obj().Id()}
	if p, ok := recv.(*types.Pointer); ok {
		key.pointer = true
		recv = p.Elem()
	}
	key.typ = recv
	clo := &closure{engine: e}
	before := e.sets[key]
	e.compile.undo = append(e.compile.undo, func() { e.sets[key] = before })
	e.sets[key] = clo
	e.compile.pending = append(e.compile.pending, pendingMethod{clo, sel})
	return clo.entry
}

// methodTarget chooses the code of a method: the cell of a declared one, a
// wrapper for a promoted one, an instance for one of a generic type.
func (c *compiler) methodTarget(sel *types.Selection) (tg target) {
	fn := sel.Obj().(*types.Func)
	_, recvPointer := fn.Signature().Recv().Type().(*types.Pointer)
	_, selPointer := sel.Recv().(*types.Pointer)
	if len(sel.Index()) == 1 && !isGeneric(fn) && fn.Origin() == fn && recvPointer == selPointer && c.isOwn(fn.Pkg()) {
		return target{code: c.e.methodCode(fn)}
	}
	defer func() { // reflection alone sees it: a call fails, not the cell
		switch r := recover().(type) {
		case nil:
		case *Unsupported:
			tg = target{code: failing(r.Reason)}
		default:
			panic(r)
		}
	}()
	return (&builder{compiler: c}).resolve(c.prog.MethodValue(sel))
}

// lookupMethod finds interpreted code for a method of a dynamic type.
func (e *Engine) lookupMethod(t reflect.Type, id string) (m *closure, deref bool) {
	key := methodKey{id: id}
	made, ok := e.types.Made(t)
	if !ok && t.Kind() == reflect.Pointer {
		if made, ok = e.types.Made(t.Elem()); ok {
			key.pointer = true
		}
	}
	if !ok {
		return nil, false
	}
	key.typ = made
	e.mu.Lock()
	defer e.mu.Unlock()
	if m := e.sets[key]; m != nil {
		return m, false
	}
	if key.pointer {
		key.pointer = false
		if m := e.sets[key]; m != nil {
			return m, true
		}
	}
	return nil, false
}

func (b *builder) typeAssert(in *ssa.TypeAssert) {
	x := b.val(in.X)
	want := b.typ(in.AssertedType, b.pos)
	if isNilCheck(in) {
		b.emit(func(fr *frame) {
			if !fr.v[x.i].IsValid() {
				nilDereference()
			}
		})
		return
	}
	test := b.typeTest(in.AssertedType, want)
	from := b.places[in.X].typ
	e, under := b.e, in.AssertedType.Underlying()
	missing := func(v reflect.Value) string { return e.missing(v.Type(), under.(*types.Interface), want) }
	present := func(v reflect.Value) reflect.Value { return v }
	if want.Kind() == reflect.Interface {
		present = func(v reflect.Value) reflect.Value {
			if e.renewed.Load() {
				return e.present(v)
			}
			return v
		}
	}
	if !in.CommaOk {
		dst := b.places[in]
		b.emit(func(fr *frame) {
			v := fr.v[x.i]
			if !test(v) {
				panic(assertionError(from, want, v, missing))
			}
			fr.assign(dst, present(v))
		})
		return
	}
	dst, ok := b.tuples[in][0], b.tuples[in][1]
	b.emit(func(fr *frame) {
		v := fr.v[x.i]
		if test(v) {
			fr.assign(dst, present(v))
			fr.n[ok.i] = 1
			return
		}
		fr.zero(dst)
		fr.n[ok.i] = 0
	})
}

// isNilCheck reports whether in is the assertion that the translator writes for the method
// value of an interface, which must not be nil: nothing ever uses its result,
// while those of the source have references for debuggers.
func isNilCheck(in *ssa.TypeAssert) bool {
	return !in.CommaOk && len(*in.Referrers()) == 0 && types.Identical(in.X.Type(), in.AssertedType)
}

// assign stores a dynamic value, of any generation of the place's type.
func (fr *frame) assign(dst place, v reflect.Value) {
	if dst.class == ref && !dst.isInterface() && (*value)(pointer(&v)).typ != typeWord(dst.typ) {
		v = retag(dst.typ, v)
	}
	fr.set(dst, v)
}

func (fr *frame) zero(dst place) {
	switch dst.class {
	case num:
		fr.n[dst.i] = 0
	case ptr:
		fr.p[dst.i] = nil
	case str:
		fr.s[dst.i] = ""
	case lst:
		fr.l[dst.i] = header{}
	default:
		fr.v[dst.i] = reflect.Value{}
		if !dst.isInterface() {
			fr.v[dst.i] = fresh(dst.typ)
		}
	}
}

// typeTest returns whether a dynamic value satisfies an assertion.
func (b *builder) typeTest(t types.Type, want reflect.Type) func(reflect.Value) bool {
	e := b.e
	if iface, ok := t.Underlying().(*types.Interface); ok {
		return func(v reflect.Value) bool { return v.IsValid() && e.implements(v.Type(), iface, want) }
	}
	word := typeWord(want)
	return func(v reflect.Value) bool {
		if x := (*value)(pointer(&v)); x.typ == word || x.typ == nil {
			return x.typ == word
		}
		return rtype.Related(v.Type(), want)
	}
}

// implements tests a dynamic type against an interface: by the checker when it
// is a declared type, whatever generation reflection shows, else by reflection.
func (e *Engine) implements(t reflect.Type, iface *types.Interface, want reflect.Type) bool {
	if typ, ok := e.declared(t); ok {
		return e.satisfies(typ, iface)
	}
	return t.Implements(want)
}

// declared returns the checker's view of a type of cells that has methods.
func (e *Engine) declared(t reflect.Type) (types.Type, bool) {
	if made, ok := e.types.Made(t); ok {
		return made, true
	}
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		if made, ok := e.types.Made(t.Elem()); ok {
			return types.NewPointer(made), true
		}
	}
	return nil, false
}

// missing names the first method that keeps a dynamic type from an interface.
func (e *Engine) missing(t reflect.Type, iface *types.Interface, want reflect.Type) string {
	if typ, ok := e.declared(t); ok {
		e.shapes.RLock()
		defer e.shapes.RUnlock()
		if m, _ := types.MissingMethod(typ, iface, true); m != nil {
			return m.Name()
		}
	}
	for m := range want.Methods() {
		if have, ok := t.MethodByName(m.Name); !ok || !sameAfterReceiver(have.Type, m.Type) {
			return m.Name
		}
	}
	return "of the right type"
}

// sameAfterReceiver compares a method that takes its receiver with one of an
// interface.
func sameAfterReceiver(method, of reflect.Type) bool {
	if method.NumIn() != of.NumIn()+1 || method.NumOut() != of.NumOut() || method.IsVariadic() != of.IsVariadic() {
		return false
	}
	for i := range of.NumIn() {
		if method.In(i+1) != of.In(i) {
			return false
		}
	}
	for i := range of.NumOut() {
		if method.Out(i) != of.Out(i) {
			return false
		}
	}
	return true
}

func (e *Engine) satisfies(t types.Type, iface *types.Interface) bool {
	e.shapes.RLock()
	defer e.shapes.RUnlock()
	return types.Implements(t, iface)
}

// present gives a value the present generation of its type, which may have got
// methods that the interface it goes into asks for.
func (e *Engine) present(v reflect.Value) reflect.Value {
	if now := e.types.Present(v.Type()); now != v.Type() {
		return retag(now, v)
	}
	return v
}

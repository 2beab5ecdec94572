package eval

import (
	"go/types"
	"reflect"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

func (b *builder) alloc(in *ssa.Alloc) {
	dst := b.places[in]
	t := b.typ(in.Type().Underlying().(*types.Pointer).Elem(), b.pos)
	if b.writeOnce[in] {
		if !b.isStoredNext(in) {
			b.emit(func(fr *frame) { fr.p[dst.i] = nil }) // until the value is known
		}
		return
	}
	b.emit(func(fr *frame) { fr.p[dst.i] = alloc(t) })
}

// nilDereference panics as Go does.
func nilDereference() { _ = *(*int)(nil) }

// loader returns how a value of a place's type is read from memory.
func (b *builder) loader(dst place) func(fr *frame, p pointer) {
	d, t := dst.i, dst.typ
	switch dst.class {
	case num:
		read := loadNumber(t.Kind())
		return func(fr *frame, p pointer) { fr.n[d] = read(p) }
	case ptr:
		return func(fr *frame, p pointer) { fr.p[d] = *(*pointer)(p) }
	case str:
		return func(fr *frame, p pointer) { fr.s[d] = *(*string)(p) }
	case lst:
		return func(fr *frame, p pointer) { fr.l[d] = *(*header)(p) }
	}
	if dst.isInterface() {
		e := b.e
		return func(fr *frame, p pointer) {
			v := at(t, p).Elem()
			if e.renewed.Load() && v.IsValid() {
				v = e.present(v)
			}
			fr.v[d] = v
		}
	}
	return func(fr *frame, p pointer) { fr.v[d] = snapshot(t, p) }
}

// snapshot copies a value out of memory.
func snapshot(t reflect.Type, p pointer) reflect.Value {
	q := alloc(t)
	reflectMove(typeWord(t), q, p)
	return held(t, q)
}

// storer returns how the value of a place is written to memory of a type.
func storer(src place, t reflect.Type) func(fr *frame, p pointer) {
	i := src.i
	switch src.class {
	case num:
		write := storeNumber(t.Kind())
		return func(fr *frame, p pointer) { write(p, fr.n[i]) }
	case ptr:
		return func(fr *frame, p pointer) { *(*pointer)(p) = fr.p[i] }
	case str:
		return func(fr *frame, p pointer) { *(*string)(p) = fr.s[i] }
	case lst:
		return func(fr *frame, p pointer) { *(*header)(p) = fr.l[i] }
	}
	word := typeWord(t)
	if t.Kind() == reflect.Interface && t.NumMethod() == 0 {
		return func(fr *frame, p pointer) { *(*any)(p) = anyOf(fr.v[i]) }
	}
	return func(fr *frame, p pointer) {
		v := fr.v[i]
		if x := (*value)(pointer(&v)); x.typ == word && x.flag&flagIndirect != 0 {
			reflectMove(word, p, x.word)
			return
		}
		put(t, p, v)
	}
}

// put writes a value of class ref to memory of type t.
func put(t reflect.Type, p pointer, v reflect.Value) {
	dst := at(t, p)
	if !v.IsValid() {
		dst.SetZero()
		return
	}
	dst.Set(static(t, v))
}

func (b *builder) load(in *ssa.UnOp) {
	dst := b.places[in]
	d, read, wide := dst.i, b.loader(dst), dst.class == num && dst.typ.Size() == 8
	if b.isFolded(in.X) {
		if i, offset, ok := b.fieldOf(in.X); ok && wide {
			b.emit(func(fr *frame) {
				p := fr.p[i]
				if p == nil {
					nilDereference()
				}
				fr.n[d] = *(*uint64)(unsafe.Add(p, offset))
			})
			return
		}
		address := b.address(in.X)
		if wide {
			b.emit(func(fr *frame) { fr.n[d] = *(*uint64)(address(fr)) })
		} else {
			b.emit(func(fr *frame) { read(fr, address(fr)) })
		}
		return
	}
	i := b.val(in.X).i
	if dst.class == ref && b.isFinished(in) {
		t := dst.typ
		b.emit(func(fr *frame) { fr.v[d] = held(t, fr.p[i]) })
		return
	}
	b.emit(func(fr *frame) {
		p := fr.p[i]
		if p == nil {
			nilDereference()
		}
		if wide {
			fr.n[d] = *(*uint64)(p)
		} else {
			read(fr, p)
		}
	})
}

func (b *builder) store(in *ssa.Store) {
	if isBlankField(in.Addr) {
		return
	}
	t := b.typ(in.Addr.Type().Underlying().(*types.Pointer).Elem(), b.pos)
	if variable, ok := in.Addr.(*ssa.Alloc); ok && b.writeOnce[variable] {
		i, addr := b.val(in.Val).i, b.val(variable).i
		b.emit(func(fr *frame) { fr.p[addr] = dataOf(static(t, fr.v[i])) })
		return
	}
	if op := b.updates[in]; op != nil {
		b.emitUpdate(in, op)
		return
	}
	write, folded := b.storerOf(in, t), b.isFolded(in.Addr)
	if wide := isWideNumber(t) && !b.isStoredNumber(in, 1); wide && folded {
		i, address := b.val(in.Val).i, b.address(in.Addr)
		b.emit(func(fr *frame) { *(*uint64)(address(fr)) = fr.n[i] })
	} else if folded {
		address := b.address(in.Addr)
		b.emit(func(fr *frame) { write(fr, address(fr)) })
	} else if wide {
		i, addr := b.val(in.Val).i, b.val(in.Addr).i
		b.emit(func(fr *frame) {
			p := fr.p[addr]
			if p == nil {
				nilDereference()
			}
			*(*uint64)(p) = fr.n[i]
		})
	} else if addr := b.val(in.Addr).i; isWideNumber(t) {
		c := number(b.constValue(in.Val.(*ssa.Const), t))
		b.emit(func(fr *frame) {
			p := fr.p[addr]
			if p == nil {
				nilDereference()
			}
			*(*uint64)(p) = c
		})
	} else {
		b.emit(func(fr *frame) {
			p := fr.p[addr]
			if p == nil {
				nilDereference()
			}
			write(fr, p)
		})
	}
}

func (b *builder) fieldAddr(in *ssa.FieldAddr) {
	src, dst := b.val(in.X), b.places[in]
	f, e := src.typ.Elem().Field(in.Field), b.e
	method := b.isMethodField(in)
	b.emit(func(fr *frame) {
		p := fr.p[src.i]
		if p == nil {
			nilDereference()
		}
		if method {
			e.callable((*reflect.Method)(p))
		}
		fr.p[dst.i] = unsafe.Add(p, f.Offset)
	})
}

// isBlankField reports the address of a field named _, which only a literal
// without keys writes to, and whose value it drops.
func isBlankField(addr ssa.Value) bool {
	f, ok := addr.(*ssa.FieldAddr)
	if !ok {
		return false
	}
	s, ok := f.X.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Struct)
	return ok && s.Field(f.Field).Name() == "_"
}

func (b *builder) field(in *ssa.Field) {
	src, dst := b.val(in.X), b.places[in]
	f, read := src.typ.Field(in.Field), b.loader(dst)
	if isMethodFunc(src.typ, f) {
		e := b.e
		b.emit(func(fr *frame) {
			m := fr.v[src.i].Interface().(reflect.Method)
			e.callable(&m)
			fr.v[dst.i] = reflect.ValueOf(m.Func)
		})
		return
	}
	b.emit(func(fr *frame) { read(fr, unsafe.Add(dataOf(fr.v[src.i]), f.Offset)) })
}

func (b *builder) isMethodField(in *ssa.FieldAddr) bool {
	t := b.typ(in.X.Type(), b.pos).Elem()
	return isMethodFunc(t, t.Field(in.Field))
}

// isMethodFunc reports the one field that is not what it should be when
// reflection reads it from a type made at run time.
func isMethodFunc(t reflect.Type, f reflect.StructField) bool {
	return t == reflect.TypeFor[reflect.Method]() && f.Name == "Func"
}

// callable gives a method of a made type a function that can be called: what
// reflection found there is no code.
func (e *Engine) callable(m *reflect.Method) {
	if !m.Func.IsValid() { // of an interface type
		return
	}
	recv := m.Type.In(0)
	if _, ok := e.types.Made(recv); !ok {
		if recv.Kind() != reflect.Pointer {
			return
		}
		if _, ok := e.types.Made(recv.Elem()); !ok {
			return
		}
	}
	name, variadic := m.Name, m.Type.IsVariadic()
	if clo, deref := e.lookupMethod(recv, name); clo != nil {
		tg := target{clo: clo}
		if deref {
			tg.deref = name
		}
		m.Func = reflect.MakeFunc(m.Type, (&closure{engine: e, target: tg, typ: m.Type}).entry)
		return
	}
	m.Func = reflect.MakeFunc(m.Type, func(a []reflect.Value) []reflect.Value {
		if bound := a[0].MethodByName(name); variadic {
			return bound.CallSlice(a[1:])
		} else {
			return bound.Call(a[1:])
		}
	})
}

// checkIndex panics as Go does when an index is out of range. The index is
// sign-extended unless it is unsigned.
func checkIndex(i uint64, n int) {
	if i >= uint64(n) {
		_ = make([]struct{}, n)[int64(i)]
	}
}

func (b *builder) indexAddr(in *ssa.IndexAddr) {
	element, d := b.element(in), b.places[in].i
	b.emit(func(fr *frame) { fr.p[d] = element(fr) })
}

// index reads an element of an array value or a byte of a string.
func (b *builder) index(in *ssa.Index) {
	x, index, dst := b.val(in.X), b.val(in.Index), b.places[in]
	if x.typ.Kind() == reflect.String {
		b.emit(func(fr *frame) {
			s, i := fr.s[x.i], fr.n[index.i]
			checkIndex(i, len(s))
			fr.n[dst.i] = uint64(s[i])
		})
		return
	}
	n, size, read := x.typ.Len(), x.typ.Elem().Size(), b.loader(dst)
	b.emit(func(fr *frame) {
		i := fr.n[index.i]
		checkIndex(i, n)
		read(fr, unsafe.Add(dataOf(fr.v[x.i]), uintptr(i)*size))
	})
}

// slice translates x[lo:hi:max]. The bounds are checked by slicing something
// of the same length and capacity that has no elements.
func (b *builder) slice(in *ssa.Slice) {
	x, dst := b.val(in.X), b.places[in]
	lo, hi, limit := b.bound(in.Low), b.bound(in.High), b.bound(in.Max)
	if x.typ.Kind() == reflect.String {
		b.emit(func(fr *frame) {
			s := fr.s[x.i]
			fr.s[dst.i] = s[lo(fr, 0):hi(fr, len(s))]
		})
		return
	}
	three := in.Max != nil
	alloc, _ := in.X.(*ssa.Alloc)
	made := alloc != nil && alloc.Comment == "makeslice" // make with a constant capacity
	array := 0
	if x.class == ptr {
		array = x.typ.Elem().Len()
	}
	size := uintptr(0)
	if dst.class == lst {
		size = dst.typ.Elem().Size()
	}
	b.emit(func(fr *frame) {
		h := header{len: array, cap: array}
		if x.class == ptr {
			if h.data = fr.p[x.i]; h.data == nil {
				nilDereference()
			}
		} else {
			h = fr.l[x.i]
		}
		n, c := h.len, h.cap
		from, to, end := lo(fr, 0), hi(fr, n), limit(fr, c)
		if made && (to < 0 || to > c) {
			_ = make([]struct{}, to, c)
		}
		last := to
		if three {
			last = end
		}
		if x.class == ptr && !made && uint(last) > uint(n) {
			panic(arrayBoundsError(last, n, three))
		}
		dummy := make([]struct{}, n, c)
		if three {
			_ = dummy[from:to:end]
		} else {
			_ = dummy[from:to]
		}
		if end > from { // else there is nothing to point at
			h.data = unsafe.Add(h.data, uintptr(from)*size)
		}
		fr.l[dst.i] = header{h.data, to - from, end - from}
	})
}

// bound returns the value of a bound, which is another one when it is left out.
func (b *builder) bound(v ssa.Value) func(fr *frame, otherwise int) int {
	if v == nil {
		return func(_ *frame, otherwise int) int { return otherwise }
	}
	i := b.val(v).i
	return func(fr *frame, _ int) int { return int(fr.n[i]) }
}

func (b *builder) sliceToArrayPointer(in *ssa.SliceToArrayPointer) {
	x, dst := b.val(in.X), b.places[in]
	n := dst.typ.Elem().Len()
	b.emit(func(fr *frame) {
		h := fr.l[x.i]
		if h.len < n {
			panic(arrayLengthError(h.len, n))
		}
		fr.p[dst.i] = h.data
	})
}

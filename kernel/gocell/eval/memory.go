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
	}
	switch {
	case t == stringType:
		return func(fr *frame, p pointer) { fr.v[d] = reflect.ValueOf(*(*string)(p)) }
	case dst.isInterface():
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
	v := fresh(t)
	v.Set(at(t, p))
	return v
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
	}
	return func(fr *frame, p pointer) { put(t, p, fr.v[i]) }
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
		address := b.address(in.X.(*ssa.IndexAddr))
		if wide {
			b.emit(func(fr *frame) { fr.n[d] = *(*uint64)(address(fr)) })
		} else {
			b.emit(func(fr *frame) { read(fr, address(fr)) })
		}
		return
	}
	i := b.val(in.X).i
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
	src := b.val(in.Val)
	i, write, wide := src.i, storer(src, t), src.class == num && t.Size() == 8
	if b.isFolded(in.Addr) {
		address := b.address(in.Addr.(*ssa.IndexAddr))
		if wide {
			b.emit(func(fr *frame) { *(*uint64)(address(fr)) = fr.n[i] })
		} else {
			b.emit(func(fr *frame) { write(fr, address(fr)) })
		}
		return
	}
	addr := b.val(in.Addr).i
	b.emit(func(fr *frame) {
		p := fr.p[addr]
		if p == nil {
			nilDereference()
		}
		if wide {
			*(*uint64)(p) = fr.n[i]
		} else {
			write(fr, p)
		}
	})
}

func (b *builder) fieldAddr(in *ssa.FieldAddr) {
	src, dst := b.val(in.X), b.places[in]
	f, e := src.typ.Elem().Field(in.Field), b.e
	method := isMethodFunc(src.typ.Elem(), f)
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
			s, i := fr.v[x.i].String(), fr.n[index.i]
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
	bound := func(v ssa.Value) func(*frame, int) int {
		if v == nil {
			return func(_ *frame, otherwise int) int { return otherwise }
		}
		i := b.val(v).i
		return func(fr *frame, _ int) int { return int(fr.n[i]) }
	}
	lo, hi, limit := bound(in.Low), bound(in.High), bound(in.Max)
	three := in.Max != nil
	alloc, _ := in.X.(*ssa.Alloc)
	made := alloc != nil && alloc.Comment == "makeslice" // make with a constant capacity
	if x.typ.Kind() == reflect.String {
		b.emit(func(fr *frame) {
			s := fr.v[x.i].String()
			fr.v[dst.i] = stringValue(dst.typ, s[lo(fr, 0):hi(fr, len(s))])
		})
		return
	}
	b.emit(func(fr *frame) {
		var v reflect.Value
		if x.class == ptr {
			if fr.p[x.i] == nil {
				nilDereference()
			}
			v = at(x.typ.Elem(), fr.p[x.i])
		} else {
			v = fr.v[x.i]
		}
		n, c := v.Len(), v.Cap()
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
		fr.v[dst.i] = retyped(dst.typ, v.Slice3(from, to, end))
	})
}

// retyped gives a slice the named type of the value it was cut from.
func retyped(t reflect.Type, v reflect.Value) reflect.Value {
	if v.Type() == t {
		return v
	}
	return retag(t, v)
}

func (b *builder) sliceToArrayPointer(in *ssa.SliceToArrayPointer) {
	x, dst := b.val(in.X), b.places[in]
	n := dst.typ.Elem().Len()
	b.emit(func(fr *frame) {
		v := fr.v[x.i]
		if v.Len() < n {
			panic(arrayLengthError(v.Len(), n))
		}
		fr.p[dst.i] = v.UnsafePointer()
	})
}

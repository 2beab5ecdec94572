package eval

import (
	"reflect"
	"unsafe"
)

// The evaluator knows more about the memory layout of Go values than reflect tells.
// What it knows of values of reflect and interfaces is in this file; the facts about
// slices, maps and others are where they are used. They are checked when the program
// starts, so that another release of Go fails at once instead of wrongly.

type pointer = unsafe.Pointer

// eface is the layout of an empty interface.
type eface struct{ typ, word unsafe.Pointer }

// typeWord returns the pointer by which the runtime knows a type.
func typeWord(t reflect.Type) unsafe.Pointer { return (*eface)(unsafe.Pointer(&t)).word }

// box makes a value of a pointer-shaped type from its one word.
func box(t reflect.Type, p unsafe.Pointer) reflect.Value {
	e := eface{typeWord(t), p}
	return reflect.ValueOf(*(*any)(unsafe.Pointer(&e)))
}

// word returns the one word of a value of a pointer-shaped type.
func word(v reflect.Value) unsafe.Pointer {
	switch x := (*value)(unsafe.Pointer(&v)); x.flag & (flagIndirect | flagMethod) {
	case 0:
		return x.word
	case flagIndirect:
		return *(*unsafe.Pointer)(x.word)
	}
	x := v.Interface()
	return (*eface)(unsafe.Pointer(&x)).word
}

// dataOf returns the address of a value that is not pointer-shaped. The memory
// must not be written to.
func dataOf(v reflect.Value) unsafe.Pointer {
	if isIndirect(v) {
		return (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1]
	}
	p := fresh(v.Type()) // a struct or array of one pointer
	p.Set(v)
	return dataOf(p)
}

// value is the layout of a reflect.Value.
type value struct {
	typ, word unsafe.Pointer
	flag      uintptr
}

// Bits of a value's flag, beside its kind.
const (
	flagIndirect    = 1 << 7 // word is the address
	flagAddressable = 1 << 8
	flagMethod      = 1 << 9 // word is the receiver
)

// isIndirect reports whether reflection holds a value by its address.
func isIndirect(v reflect.Value) bool { return (*value)(unsafe.Pointer(&v)).flag&flagIndirect != 0 }

// at is the variable of a type at an address. It and alloc do what NewAt and New
// of package reflect do, which for types made at run time ask for the type of
// pointers to them, under a lock of the whole process.
func at(t reflect.Type, p unsafe.Pointer) (v reflect.Value) {
	*(*value)(unsafe.Pointer(&v)) = value{typeWord(t), p, uintptr(t.Kind()) | flagIndirect | flagAddressable}
	return v
}

// fresh is a new variable of a type, which is zero.
func fresh(t reflect.Type) reflect.Value { return at(t, alloc(t)) }

// held is the value of a type at an address where nobody writes any more.
func held(t reflect.Type, p unsafe.Pointer) (v reflect.Value) {
	*(*value)(unsafe.Pointer(&v)) = value{typeWord(t), p, uintptr(t.Kind()) | flagIndirect}
	return v
}

// alloc returns zeroed memory for a type.
func alloc(t reflect.Type) unsafe.Pointer {
	checkRoom(1, t)
	return reflectNew(typeWord(t))
}

// reflectNew is one of the functions that reflect keeps for packages that reach
// them like this.
//
//go:linkname reflectNew reflect.unsafe_New
func reflectNew(unsafe.Pointer) unsafe.Pointer

func init() {
	type pair struct{ a, b int }
	x := reflect.ValueOf(pair{1, 2})
	one := reflect.ValueOf(struct{ p *int }{new(int)})
	p := new(pair)
	at(x.Type(), unsafe.Pointer(p)).Set(x)
	y, z := at(x.Type(), unsafe.Pointer(p)), reflect.NewAt(x.Type(), unsafe.Pointer(p)).Elem()
	same := *(*value)(unsafe.Pointer(&y)) == *(*value)(unsafe.Pointer(&z))
	if !same || p.b != 2 || !isIndirect(x) || isIndirect(one) || (*pair)(dataOf(x)).b != 2 || !fresh(x.Type()).IsZero() {
		panic("eval: this Go release lays out reflect values in another way")
	}
}

// retag gives a value another type of the same layout.
func retag(t reflect.Type, v reflect.Value) reflect.Value {
	if pointerShaped(t.Kind()) {
		return box(t, word(v))
	}
	return at(t, dataOf(v))
}

func pointerShaped(k reflect.Kind) bool {
	switch k {
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return true
	}
	return false
}

// A func value made by reflect.MakeFunc begins with the code of one stub and
// holds, somewhere, the Go func behind it. For ours that is the method value
// (*closure).entry, whose second word is the closure.
var (
	stubCode   uintptr // first word of what MakeFunc makes
	implOffset uintptr // where it keeps the Go func
	entryCode  uintptr // first word of that func
)

func init() {
	probe := &closure{}
	entry := probe.entry
	inner := *(*unsafe.Pointer)(unsafe.Pointer(&entry))
	outer := word(reflect.MakeFunc(reflect.TypeFor[func()](), entry))
	stubCode, entryCode = *(*uintptr)(outer), *(*uintptr)(inner)
	const words = 6 // size of what MakeFunc makes
	for i := uintptr(1); i < words; i++ {
		if *(*unsafe.Pointer)(unsafe.Add(outer, i*unsafe.Sizeof(i))) == inner {
			implOffset = i * unsafe.Sizeof(i)
		}
	}
	if implOffset == 0 || closureOf(outer) != probe {
		panic("eval: this Go release lays out func values in another way")
	}
}

// closureOf returns the interpreted closure behind a func value, or nil when
// it is compiled code.
func closureOf(fn unsafe.Pointer) *closure {
	if fn == nil {
		return nil
	}
	if code := *(*uintptr)(fn); code != stubCode {
		if offset := entranceOffset(code); offset != 0 {
			return *(**closure)(unsafe.Add(fn, offset))
		}
		return nil
	}
	inner := *(*unsafe.Pointer)(unsafe.Add(fn, implOffset))
	if *(*uintptr)(inner) != entryCode {
		return nil
	}
	return *(**closure)(unsafe.Add(inner, unsafe.Sizeof(entryCode)))
}

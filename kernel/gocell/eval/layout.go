package eval

import (
	"reflect"
	"unsafe"
)

// This file holds what the evaluator knows about the memory layout of Go
// values beyond what reflect tells. Each fact is checked when the program
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
	x := v.Interface()
	return (*eface)(unsafe.Pointer(&x)).word
}

// dataOf returns the address of a value that is not pointer-shaped. The memory
// must not be written to.
func dataOf(v reflect.Value) unsafe.Pointer {
	if isIndirect(v) {
		return (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1]
	}
	p := reflect.New(v.Type()) // a struct or array of one pointer
	p.Elem().Set(v)
	return p.UnsafePointer()
}

// isIndirect reports that reflection holds a value by its address.
func isIndirect(v reflect.Value) bool { return (*[3]uintptr)(unsafe.Pointer(&v))[2]&flagIndirect != 0 }

const flagIndirect = 1 << 7

func init() {
	type pair struct{ a, b int }
	x := reflect.ValueOf(pair{1, 2})
	one := reflect.ValueOf(struct{ p *int }{new(int)})
	if !isIndirect(x) || isIndirect(one) || !isIndirect(reflect.New(x.Type()).Elem()) || (*pair)(dataOf(x)).b != 2 {
		panic("eval: this Go release lays out reflect values in another way")
	}
}

// retag gives a value another type of the same layout.
func retag(t reflect.Type, v reflect.Value) reflect.Value {
	if pointerShaped(t.Kind()) {
		return box(t, word(v))
	}
	return reflect.NewAt(t, dataOf(v)).Elem()
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
		if offset, ok := offsets[code]; ok {
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

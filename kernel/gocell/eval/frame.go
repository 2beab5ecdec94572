package eval

import (
	"reflect"
	"unsafe"

	"forgekernel/kernel/gocell/rtype"
)

// class says in which bank of a frame a value lives: numbers and booleans as
// 64 bits, pointer-shaped values as their pointer, strings and slices as what
// they are, everything else as a reflect.Value that nobody changes after it was
// made. The value of an interface is its dynamic value; the zero reflect.Value
// is a nil interface.
//
// In the bank of numbers integers are sign- or zero-extended, floats are the
// bits of the float64 of the same value, and true is 1.
type class uint8

const (
	num class = iota
	ptr
	str
	lst
	ref
	classes // how many there are
)

func classOf(t reflect.Type) class {
	k := t.Kind()
	switch {
	case k >= reflect.Bool && k <= reflect.Float64:
		return num
	case pointerShaped(k):
		return ptr
	case k == reflect.String:
		return str
	case k == reflect.Slice:
		return lst
	}
	return ref
}

// place is where a frame keeps a value of a type.
type place struct {
	class class
	i     int
	typ   reflect.Type
}

func (pl place) isInterface() bool { return pl.typ.Kind() == reflect.Interface }

// frame is one call of a function.
type frame struct {
	th    *thread
	fn    *Func
	depth int // index in th.frames

	n []uint64
	p []unsafe.Pointer
	s []string
	l []header
	v []reflect.Value

	block, ip int     // what it is executing
	ret       []place // where the results are, once it has returned
	result    uint64  // instead, of a function whose one result is a number

	traced bool    // it runs in trace
	line   []*stop // those of the line that trace is at, as far as it has come
	halted *stop   // where it waits for the debugger

	defers   []deferred
	panicked *panicking // set while deferred calls run because of a panic
	deferOf  *frame     // the frame whose deferred call this is
}

// get returns a value as reflection sees it; a nil interface is the zero Value.
func (fr *frame) get(pl place) reflect.Value {
	switch pl.class {
	case num:
		return boxNumber(pl.typ, fr.n[pl.i])
	case ptr:
		return box(pl.typ, fr.p[pl.i])
	case str:
		return stringValue(pl.typ, fr.s[pl.i])
	case lst:
		return sliceValue(pl.typ, fr.l[pl.i])
	}
	return fr.v[pl.i]
}

// set stores a value of the place's type, or any implementation of it.
func (fr *frame) set(pl place, v reflect.Value) {
	switch pl.class {
	case num:
		fr.n[pl.i] = number(v)
	case ptr:
		fr.p[pl.i] = word(v)
	case str:
		fr.s[pl.i] = v.String()
	case lst:
		fr.l[pl.i] = *headerOf(&v)
	default:
		fr.v[pl.i] = dynamic(v)
	}
}

// dynamic strips a value of its interface.
func dynamic(v reflect.Value) reflect.Value {
	if v.IsValid() && v.Kind() == reflect.Interface {
		return v.Elem()
	}
	return v
}

// static dresses a value for compiled code that wants type t.
func static(t reflect.Type, v reflect.Value) reflect.Value {
	if !v.IsValid() {
		return reflect.Zero(t)
	}
	if v.Type() == t {
		return v
	}
	if t.Kind() != reflect.Interface {
		return retag(t, v)
	}
	if t.NumMethod() > 0 { // of which the value may have older ones
		if g := rtype.Fitting(v.Type(), t); g != v.Type() {
			return retag(g, v)
		}
	}
	return v
}

// move copies a value between places of one class.
type move struct {
	class    class
	from, to int
}

func (m move) do(dst, src *frame) {
	switch m.class {
	case num:
		dst.n[m.to] = src.n[m.from]
	case ptr:
		dst.p[m.to] = src.p[m.from]
	case str:
		dst.s[m.to] = src.s[m.from]
	case lst:
		dst.l[m.to] = src.l[m.from]
	default:
		dst.v[m.to] = src.v[m.from]
	}
}

package eval

import (
	"math"
	"reflect"
	"sync/atomic"
	"unsafe"
)

// Reflection takes 300 ns for a call of a compiled function, most of it for
// boxing. Go passes what a call takes and gives in registers: the words of its
// arguments in order, integers and pointers in registers of one file, floats in
// those of another. A function finds its words where it expects them whatever
// else its caller has put into further registers, so one type of function,
// which takes as many words as the calls here may have, does for the arguments
// of all: a func value of any signature that fits is called as if it had that
// type. The results need a type each, see hostresult.go.
//
// Why the collector may run at any moment of this: the words of arguments are
// typed as integers, which keeps nothing alive, but every one of them was read
// from a bank of the frame that waits for the call, or from thread.kept, and
// these hold it until the function has it in variables of its own types. What
// the banks point to is on the heap, which does not move, and not on a stack,
// which does. Typing them as pointers would be worse: a register that holds no
// pointer would be taken for one. Results are typed as what they are from the
// moment that the function returns, since nothing else holds them. Spilled
// arguments go where their caller has left room, a word for each register, which
// is why a type whose padding makes it larger than its words is not passed so.

const (
	maxKept    = 8 // arguments of which the first ones may be interfaces
	intWords   = 9 // registers for integers and pointers that all releases for amd64 have; arm64 has more
	floatWords = 4 // of 15 or more
)

// words are the arguments of a call.
type words struct {
	ints   [intWords]uintptr
	floats [floatWords]float64
}

// enter calls a func value whose result is an R.
func enter[R any](fn pointer, w *words) R {
	i, f := &w.ints, &w.floats
	return (*(*func(a, b, c, d, e, f, g, h, i uintptr, r, s, t, u float64) R)(pointer(&fn)))(
		i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7], i[8], f[0], f[1], f[2], f[3])
}

// hostCall calls compiled functions of one type with arguments from certain
// places and gives the results to others.
type hostCall struct {
	args   []argument
	finish finisher
}

// An argument puts the words of one argument into their registers.
type argument func(fr *frame, w *words)

// hostCallOf returns how to call functions of a type, nil when that takes
// reflection.
func hostCallOf(t reflect.Type, args, dst []place) *hostCall {
	finish := finisherOf(t, dst)
	if finish == nil || t.NumIn() != len(args) {
		return nil
	}
	c := &hostCall{finish: finish}
	var next registers
	for i, pl := range args {
		a := next.argument(t.In(i), pl, i)
		if a == nil || next.ints > intWords || next.floats > floatWords {
			return nil
		}
		c.args = append(c.args, a)
	}
	return c
}

// do calls. name says what the goroutine waits in meanwhile; nil, that it does not.
func (c *hostCall) do(fr *frame, fn pointer, name *string) {
	th := fr.th
	for _, a := range c.args {
		a(fr, &th.words)
	}
	if name == nil {
		c.finish(fr, fn, &th.words)
		return
	}
	th.blocking(name)
	c.finish(fr, fn, &th.words)
	th.returned()
}

// waitName is what a goroutine is said to wait in when it calls a function of a
// package: nothing when the package computes what is done at once. A function
// that may call back runs code of which that is not known.
func waitName(path string, t reflect.Type, name *string) *string {
	if !neverBlocks[path] {
		return name
	}
	for p := range t.Ins() {
		if k := p.Kind(); k == reflect.Func || k == reflect.Interface || k == reflect.Slice && p.Elem().Kind() == reflect.Interface {
			return name
		}
	}
	return nil
}

// neverBlocks are the packages that compute what is done at once.
var neverBlocks = map[string]bool{
	"bytes": true, "errors": true, "html": true, "math": true, "math/bits": true, "math/cmplx": true, "math/rand": true, "math/rand/v2": true,
	"path": true, "strconv": true, "strings": true, "sync/atomic": true, "time": true, "unicode": true, "unicode/utf16": true, "unicode/utf8": true,
}

// registers counts those in use.
type registers struct{ ints, floats int }

// takeInts takes registers for n words.
func (r *registers) takeInts(n int) (first int) {
	first = r.ints
	r.ints += n
	return min(first, intWords-n) // too many are refused later
}

func (r *registers) takeFloat() int {
	r.floats++
	return min(r.floats, floatWords) - 1
}

// argument returns what passes the value of a place as an argument of a type, nil
// when it is not passed in registers.
func (r *registers) argument(t reflect.Type, pl place, nth int) argument {
	i := pl.i
	switch {
	case t.Kind() == reflect.Interface:
		return r.interfaceArgument(t, pl, nth)
	case pl.class == ref:
		return r.memoryArgument(t, i)
	case pl.class == ptr:
		at := r.takeInts(1)
		return func(fr *frame, w *words) { w.ints[at] = uintptr(fr.p[i]) }
	case pl.class == str:
		at := r.takeInts(2)
		return func(fr *frame, w *words) {
			s := fr.s[i]
			w.ints[at], w.ints[at+1] = uintptr(pointer(unsafe.StringData(s))), uintptr(len(s))
		}
	case pl.class == lst:
		at := r.takeInts(3)
		return func(fr *frame, w *words) {
			h := &fr.l[i]
			w.ints[at], w.ints[at+1], w.ints[at+2] = uintptr(h.data), uintptr(h.len), uintptr(h.cap)
		}
	case t.Kind() == reflect.Float64:
		at := r.takeFloat()
		return func(fr *frame, w *words) { w.floats[at] = math.Float64frombits(fr.n[i]) }
	case t.Kind() == reflect.Float32:
		at := r.takeFloat()
		return func(fr *frame, w *words) { w.floats[at] = narrowFloat(float32(math.Float64frombits(fr.n[i]))) }
	}
	at := r.takeInts(1)
	return func(fr *frame, w *words) { w.ints[at] = uintptr(fr.n[i]) }
}

// narrowFloat is a float32 as it lies in a register.
func narrowFloat(f float32) float64 { return math.Float64frombits(uint64(math.Float32bits(f))) }

// interfaceArgument passes an interface, whose first word is a type or, of an
// interface with methods, a table of methods for a type.
func (r *registers) interfaceArgument(t reflect.Type, pl place, nth int) argument {
	if pl.class != ref || nth >= maxKept {
		return nil
	}
	at, i := r.takeInts(2), pl.i
	tables := &methodTables{iface: t}
	empty := t.NumMethod() == 0
	return func(fr *frame, w *words) {
		v := fr.v[i]
		if !v.IsValid() {
			w.ints[at], w.ints[at+1] = 0, 0
			return
		}
		if (*value)(pointer(&v)).typ == fileTypeWord {
			v = fr.th.standard(t, v)
		}
		x := anyOf(v)
		fr.th.kept[nth] = x
		e := (*eface)(pointer(&x))
		first := e.typ
		if !empty {
			first = tables.find(e.typ, v)
		}
		w.ints[at], w.ints[at+1] = uintptr(first), uintptr(e.word)
	}
}

// methodTables keeps the latest table of methods for one interface.
type methodTables struct {
	iface reflect.Type
	last  atomic.Pointer[methodTable]
}

type methodTable struct{ typ, table pointer }

func (m *methodTables) find(typ pointer, v reflect.Value) pointer {
	if last := m.last.Load(); last != nil && last.typ == typ {
		return last.table
	}
	x := fresh(m.iface)
	x.Set(v)
	found := &methodTable{typ, (*eface)(x.Addr().UnsafePointer()).typ}
	m.last.Store(found)
	return found.table
}

// memoryArgument passes a value of a type that lies in memory, word by word.
func (r *registers) memoryArgument(t reflect.Type, i int) argument {
	if pointerShaped(t.Kind()) {
		at := r.takeInts(1)
		return func(fr *frame, w *words) { w.ints[at] = uintptr(word(fr.v[i])) }
	}
	parts, ok := r.parts(nil, t, 0)
	if !ok || uintptr(len(parts))*8 < t.Size() {
		return nil
	}
	return func(fr *frame, w *words) {
		p := dataOf(fr.v[i])
		for _, part := range parts {
			part(w, p)
		}
	}
}

// A part loads one word of a value in memory.
type part func(w *words, p pointer)

// parts lists the words of a type at an offset.
func (r *registers) parts(list []part, t reflect.Type, offset uintptr) ([]part, bool) {
	switch k := t.Kind(); k {
	case reflect.Struct:
		ok := true
		for i := 0; i < t.NumField() && ok; i++ {
			f := t.Field(i)
			list, ok = r.parts(list, f.Type, offset+f.Offset)
		}
		return list, ok
	case reflect.Float64:
		at := r.takeFloat()
		return append(list, func(w *words, p pointer) { w.floats[at] = *(*float64)(unsafe.Add(p, offset)) }), true
	case reflect.Complex128:
		for _, o := range []uintptr{offset, offset + 8} {
			at := r.takeFloat()
			list = append(list, func(w *words, p pointer) { w.floats[at] = *(*float64)(unsafe.Add(p, o)) })
		}
		return list, true
	case reflect.String, reflect.Slice, reflect.Interface:
		for range t.Size() / 8 {
			list = append(list, r.word(offset))
			offset += 8
		}
		return list, true
	case reflect.Array, reflect.Complex64, reflect.Float32:
		return nil, false
	default:
		if pointerShaped(k) {
			return append(list, r.word(offset)), true
		}
		at, read := r.takeInts(1), loadNumber(k)
		return append(list, func(w *words, p pointer) { w.ints[at] = uintptr(read(unsafe.Add(p, offset))) }), true
	}
}

func (r *registers) word(offset uintptr) part {
	at := r.takeInts(1)
	return func(w *words, p pointer) { w.ints[at] = uintptr(*(*uint64)(unsafe.Add(p, offset))) }
}

// anyOf is the interface that holds a value which nobody changes.
func anyOf(v reflect.Value) any {
	x := (*value)(pointer(&v))
	if k := v.Kind(); x.flag&flagIndirect != 0 && (k <= reflect.Complex128 || k == reflect.String || k == reflect.Slice) {
		e := eface{x.typ, x.word}
		return *(*any)(pointer(&e))
	}
	return interfaceOf(v)
}

package eval

import (
	"math"
	"reflect"
	"unsafe"
)

// A finisher calls a compiled function whose arguments are in place and stores
// its results. There is one for every combination of results that is common;
// others are left to reflection. Several results are returned as a struct of them
// would be.
type finisher func(fr *frame, fn pointer, w *words)

// The kinds of results: how they are returned and in which bank they go.
type (
	numberResult  uint64
	floatResult   float64
	narrowResult  float32
	stringResult  string
	sliceResult   header
	pointerResult struct{ p pointer }
	ifaceResult   struct{ typ, word pointer }
	complexResult complex128
	// Structs by the layout of their words: that of time.Time and that of
	// reflect.Value.
	timeResult struct {
		a, b uint64
		p    pointer
	}
	valueResult struct {
		p, q pointer
		a    uint64
	}
)

// A result has a key, which resultKeyOf gives for types that are returned like
// it, and stores itself.
type result[A any] interface {
	key() string
	taker(dst place, t reflect.Type) func(fr *frame, a A)
}

// finishers makes finishers by the letters of their results, see result.
var finishers = map[string]func(dst []place, outs []reflect.Type) finisher{
	"": func([]place, []reflect.Type) finisher {
		return func(_ *frame, fn pointer, w *words) { enter[struct{}](fn, w) }
	},
}

func init() {
	single[numberResult]()
	single[floatResult]()
	single[narrowResult]()
	single[stringResult]()
	single[sliceResult]()
	single[pointerResult]()
	single[ifaceResult]()
	single[complexResult]()
	single[timeResult]()
	single[valueResult]()
	withStatus[numberResult]()
	withStatus[floatResult]()
	withStatus[stringResult]()
	withStatus[sliceResult]()
	withStatus[pointerResult]()
	withStatus[ifaceResult]()
	double[floatResult, floatResult]()
	double[stringResult, stringResult]()
	double[sliceResult, sliceResult]()
	double[pointerResult, pointerResult]()
	double[ifaceResult, pointerResult]()
	double[timeResult, ifaceResult]()
	double[valueResult, numberResult]()
	triple[stringResult, stringResult, numberResult]()
	triple[stringResult, stringResult, ifaceResult]()
	triple[sliceResult, sliceResult, numberResult]()
	triple[sliceResult, numberResult, ifaceResult]()
	triple[numberResult, numberResult, numberResult]()
	triple[numberResult, numberResult, ifaceResult]()
	triple[numberResult, pointerResult, ifaceResult]()
	triple[numberResult, sliceResult, ifaceResult]()
}

// withStatus registers a result with an error or a number, such as a boolean.
func withStatus[A result[A]]() {
	double[A, ifaceResult]()
	double[A, numberResult]()
}

func single[A result[A]]() {
	finishers[(*new(A)).key()] = func(dst []place, outs []reflect.Type) finisher {
		put := (*new(A)).taker(dst[0], outs[0])
		return func(fr *frame, fn pointer, w *words) { put(fr, enter[A](fn, w)) }
	}
}

func double[A result[A], B result[B]]() {
	type results struct {
		a A
		b B
	}
	finishers[(*new(A)).key()+(*new(B)).key()] = func(dst []place, outs []reflect.Type) finisher {
		first, second := (*new(A)).taker(dst[0], outs[0]), (*new(B)).taker(dst[1], outs[1])
		return func(fr *frame, fn pointer, w *words) {
			r := enter[results](fn, w)
			first(fr, r.a)
			second(fr, r.b)
		}
	}
}

func triple[A result[A], B result[B], C result[C]]() {
	type results struct {
		a A
		b B
		c C
	}
	finishers[(*new(A)).key()+(*new(B)).key()+(*new(C)).key()] = func(dst []place, outs []reflect.Type) finisher {
		first, second, third := (*new(A)).taker(dst[0], outs[0]), (*new(B)).taker(dst[1], outs[1]), (*new(C)).taker(dst[2], outs[2])
		return func(fr *frame, fn pointer, w *words) {
			r := enter[results](fn, w)
			first(fr, r.a)
			second(fr, r.b)
			third(fr, r.c)
		}
	}
}

func resultKeyOf(t reflect.Type) string {
	k := t.Kind()
	switch classOf(t) {
	case ptr:
		return "p"
	case str:
		return "s"
	case lst:
		return "l"
	case ref:
		switch k {
		case reflect.Interface:
			return "e"
		case reflect.Complex128:
			return "c"
		case reflect.Struct:
			return structKey(t)
		}
		return "?"
	}
	switch k {
	case reflect.Float64:
		return "f"
	case reflect.Float32:
		return "g"
	}
	return "n"
}

// structKey spells the words of a struct, each of a field of its own.
func structKey(t reflect.Type) string {
	key := "{"
	for i := range t.NumField() {
		if f := t.Field(i).Type; f.Size() != 8 {
			return "?"
		} else {
			key += resultKeyOf(f)
		}
	}
	return key + "}"
}

// finisherOf returns the finisher of functions of a type, nil if there is none.
func finisherOf(t reflect.Type, dst []place) finisher {
	key := ""
	outs := make([]reflect.Type, t.NumOut())
	for i := range outs {
		outs[i] = t.Out(i)
		key += resultKeyOf(outs[i])
	}
	made := finishers[key]
	if made == nil || len(outs) != len(dst) {
		return nil
	}
	return made(dst, outs)
}

func (numberResult) key() string  { return "n" }
func (floatResult) key() string   { return "f" }
func (narrowResult) key() string  { return "g" }
func (stringResult) key() string  { return "s" }
func (sliceResult) key() string   { return "l" }
func (pointerResult) key() string { return "p" }
func (ifaceResult) key() string   { return "e" }
func (complexResult) key() string { return "c" }
func (timeResult) key() string    { return "{nnp}" }
func (valueResult) key() string   { return "{ppn}" }

// Only the lower bits of a small integer are defined.
func (numberResult) taker(dst place, t reflect.Type) func(*frame, numberResult) {
	d, narrow := dst.i, truncate(t.Kind())
	switch {
	case t.Kind() == reflect.Bool:
		return func(fr *frame, a numberResult) { fr.n[d] = uint64(uint8(a)) }
	case t.Size() == 8:
		return func(fr *frame, a numberResult) { fr.n[d] = uint64(a) }
	}
	return func(fr *frame, a numberResult) { fr.n[d] = narrow(uint64(a)) }
}

func (floatResult) taker(dst place, _ reflect.Type) func(*frame, floatResult) {
	d := dst.i
	return func(fr *frame, a floatResult) { fr.n[d] = math.Float64bits(float64(a)) }
}

func (narrowResult) taker(dst place, _ reflect.Type) func(*frame, narrowResult) {
	d := dst.i
	return func(fr *frame, a narrowResult) { fr.n[d] = math.Float64bits(float64(a)) }
}

func (stringResult) taker(dst place, _ reflect.Type) func(*frame, stringResult) {
	d := dst.i
	return func(fr *frame, a stringResult) { fr.s[d] = string(a) }
}

func (sliceResult) taker(dst place, _ reflect.Type) func(*frame, sliceResult) {
	d := dst.i
	return func(fr *frame, a sliceResult) { fr.l[d] = header(a) }
}

func (pointerResult) taker(dst place, _ reflect.Type) func(*frame, pointerResult) {
	d := dst.i
	return func(fr *frame, a pointerResult) { fr.p[d] = a.p }
}

func (ifaceResult) taker(dst place, t reflect.Type) func(*frame, ifaceResult) {
	d := dst.i
	if t.NumMethod() == 0 {
		return func(fr *frame, a ifaceResult) { fr.v[d] = reflect.ValueOf(*(*any)(pointer(&a))) }
	}
	return func(fr *frame, a ifaceResult) { fr.v[d] = dynamicOf(a) }
}

func (complexResult) taker(dst place, t reflect.Type) func(*frame, complexResult) {
	return func(fr *frame, a complexResult) { fr.v[dst.i] = held(t, pointer(&a)) }
}

func (timeResult) taker(dst place, t reflect.Type) func(*frame, timeResult) {
	return func(fr *frame, a timeResult) { fr.v[dst.i] = held(t, pointer(&a)) }
}

func (valueResult) taker(dst place, t reflect.Type) func(*frame, valueResult) {
	return func(fr *frame, a valueResult) { fr.v[dst.i] = held(t, pointer(&a)) }
}

// dynamicOf is what an interface with methods holds: the table that its first
// word points to has the type in its second.
func dynamicOf(a ifaceResult) reflect.Value {
	if a.typ == nil {
		return reflect.Value{}
	}
	e := eface{*(*pointer)(unsafe.Add(a.typ, 8)), a.word}
	return reflect.ValueOf(*(*any)(pointer(&e)))
}

// Another release or processor may pass arguments in another way: it fails at
// once.
func init() {
	type mixed struct {
		a int8
		b string
		c float64
	}
	probe := func(n int8, x float64, s string, err error, m mixed, y float32) (string, error) {
		if n != -3 || x != 0.5 || s != "s" || m != (mixed{-7, "t", 2.5}) || y != 1.5 {
			return "", nil
		}
		return s + m.b, err
	}
	failure := goError("probe")
	fr := &frame{
		th: &thread{run: &run{}},
		n:  []uint64{^uint64(2), math.Float64bits(0.5), math.Float64bits(1.5)},
		s:  []string{"s", ""},
		v:  []reflect.Value{reflect.ValueOf(failure), reflect.ValueOf(mixed{-7, "t", 2.5}), {}},
	}
	t := reflect.TypeOf(probe)
	at := [...]int{0, 1, 0, 0, 1, 2}
	var args []place
	for i := range t.NumIn() {
		args = append(args, place{classOf(t.In(i)), at[i], t.In(i)})
	}
	c := hostCallOf(t, args, []place{{str, 1, t.Out(0)}, {ref, 2, t.Out(1)}})
	if c != nil {
		c.do(fr, word(reflect.ValueOf(probe)), nil)
	}
	if fr.s[1] != "st" || interfaceOf(fr.v[2]) != any(failure) {
		panic("eval: this Go release passes arguments in another way")
	}
}

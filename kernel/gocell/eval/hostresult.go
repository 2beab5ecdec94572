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

// finishers makes finishers by the letters of their results, see resultKey.
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
func withStatus[A any]() {
	double[A, ifaceResult]()
	double[A, numberResult]()
}

func single[A any]() {
	finishers[resultKey[A]()] = func(dst []place, outs []reflect.Type) finisher {
		put := taker[A](dst[0], outs[0])
		return func(fr *frame, fn pointer, w *words) { put(fr, enter[A](fn, w)) }
	}
}

func double[A, B any]() {
	type results struct {
		a A
		b B
	}
	finishers[resultKey[A]()+resultKey[B]()] = func(dst []place, outs []reflect.Type) finisher {
		first, second := taker[A](dst[0], outs[0]), taker[B](dst[1], outs[1])
		return func(fr *frame, fn pointer, w *words) {
			r := enter[results](fn, w)
			first(fr, r.a)
			second(fr, r.b)
		}
	}
}

func triple[A, B, C any]() {
	type results struct {
		a A
		b B
		c C
	}
	finishers[resultKey[A]()+resultKey[B]()+resultKey[C]()] = func(dst []place, outs []reflect.Type) finisher {
		first, second, third := taker[A](dst[0], outs[0]), taker[B](dst[1], outs[1]), taker[C](dst[2], outs[2])
		return func(fr *frame, fn pointer, w *words) {
			r := enter[results](fn, w)
			first(fr, r.a)
			second(fr, r.b)
			third(fr, r.c)
		}
	}
}

func resultKey[A any]() string {
	switch any(*new(A)).(type) {
	case numberResult:
		return "n"
	case floatResult:
		return "f"
	case narrowResult:
		return "g"
	case stringResult:
		return "s"
	case sliceResult:
		return "l"
	case pointerResult:
		return "p"
	case complexResult:
		return "c"
	case timeResult:
		return "{nnp}"
	case valueResult:
		return "{ppn}"
	}
	return "e"
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

// taker stores a result. Only the lower bits of a small integer are defined.
func taker[A any](dst place, t reflect.Type) func(fr *frame, a A) {
	d := dst.i
	var f any
	switch any(*new(A)).(type) {
	case numberResult:
		if narrow := truncate(t.Kind()); t.Kind() == reflect.Bool {
			f = func(fr *frame, a numberResult) { fr.n[d] = uint64(uint8(a)) }
		} else if t.Size() == 8 {
			f = func(fr *frame, a numberResult) { fr.n[d] = uint64(a) }
		} else {
			f = func(fr *frame, a numberResult) { fr.n[d] = narrow(uint64(a)) }
		}
	case floatResult:
		f = func(fr *frame, a floatResult) { fr.n[d] = math.Float64bits(float64(a)) }
	case narrowResult:
		f = func(fr *frame, a narrowResult) { fr.n[d] = math.Float64bits(float64(a)) }
	case complexResult:
		f = func(fr *frame, a complexResult) { fr.v[d] = held(t, pointer(&a)) }
	case timeResult:
		f = func(fr *frame, a timeResult) { fr.v[d] = held(t, pointer(&a)) }
	case valueResult:
		f = func(fr *frame, a valueResult) { fr.v[d] = held(t, pointer(&a)) }
	case stringResult:
		f = func(fr *frame, a stringResult) { fr.s[d] = string(a) }
	case sliceResult:
		f = func(fr *frame, a sliceResult) { fr.l[d] = header(a) }
	case pointerResult:
		f = func(fr *frame, a pointerResult) { fr.p[d] = a.p }
	case ifaceResult:
		if t.NumMethod() == 0 {
			f = func(fr *frame, a ifaceResult) { fr.v[d] = reflect.ValueOf(*(*any)(pointer(&a))) }
		} else {
			f = func(fr *frame, a ifaceResult) { fr.v[d] = dynamicOf(a) }
		}
	}
	return f.(func(fr *frame, a A))
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

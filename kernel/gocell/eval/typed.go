package eval

import (
	"math"
	"reflect"
	"unsafe"
)

// Compiled code calls back by the million: a sort its comparison, an iterator
// its loop body. reflect.MakeFunc would box every argument and result. Func
// values of common signatures are therefore closures that the compiler made,
// which write their arguments straight into a frame. They are chosen by the
// kinds of parameters and results, since those decide how a call passes them.

// entrance makes func values of one signature.
type entrance struct {
	make   func(*closure) pointer
	code   uintptr // what its func values begin with
	offset uintptr // where they keep their closure
}

var (
	entrances = map[string]*entrance{} // by signature, see entranceFor
)

func init() {
	register("", "", func(c *closure) func() { return func() { call0[none](c) } })
	entrancesTo[bool]()
	entrancesTo[int]()
	entrancesTo[string]()
	entrancesTo[float64]()
	entrancesTo[int32]()
	entrancesTo[pointer]()
	entrancesTo[any]()
	entrancesFrom[int]()
	entrancesFrom[string]()
	entrancesFrom[float64]()
	entrancesFrom[int32]()
	entrancesFrom[uint8]()
	entrancesFrom[pointer]()
	entrancesFrom[any]()
	pairs[int, string]()
	pairs[int, float64]()
	pairs[int, int32]()
	pairs[int, uint8]()
	pairs[int, pointer]()
	pairs[int, any]()
	pairs[string, int]()
	pairs[string, float64]()
	pairs[string, pointer]()
	pairs[string, any]()
}

func entrancesTo[R any]() {
	register("", key[R](), func(c *closure) func() R { return func() R { return call0[R](c) } })
}

// entrancesFrom registers functions of one parameter or two of the same kind.
func entrancesFrom[A any]() {
	register(key[A](), "", func(c *closure) func(A) { return func(a A) { call1[A, none](c, a) } })
	mapping[A, bool]()
	mapping[A, int]()
	mapping[A, string]()
	mapping[A, float64]()
	mapping[A, int32]()
	mapping[A, pointer]()
	mapping[A, any]()
	pairs[A, A]()
	combining[A, A, int]()
	combining[A, A, A]()
}

func mapping[A, R any]() {
	register(key[A](), key[R](), func(c *closure) func(A) R { return func(a A) R { return call1[A, R](c, a) } })
}

func pairs[A, B any]() {
	register(key[A]()+key[B](), "", func(c *closure) func(A, B) { return func(a A, b B) { call2[A, B, none](c, a, b) } })
	combining[A, B, bool]()
}

func combining[A, B, R any]() {
	register(key[A]()+key[B](), key[R](), func(c *closure) func(A, B) R {
		return func(a A, b B) R { return call2[A, B, R](c, a, b) }
	})
}

// none stands for a result that a function does not have.
type none struct{}

// register notes how to make func values of type F.
func register[F any](params, results string, make func(*closure) F) {
	note(params+">"+results, func(c *closure) pointer {
		f := make(c)
		return *(*pointer)(pointer(&f))
	})
}

// note keeps an entrance, and how its func values are recognised.
func note(signature string, make func(*closure) pointer) {
	e := &entrance{make: make}
	probe := &closure{}
	fn := e.make(probe)
	const words = 4
	for i := uintptr(1); i < words && e.offset == 0; i++ {
		if *(*pointer)(unsafe.Add(fn, i*unsafe.Sizeof(i))) == pointer(probe) {
			e.offset = i * unsafe.Sizeof(i)
		}
	}
	if e.offset == 0 {
		panic("eval: this Go release lays out closures in another way")
	}
	e.code = *(*uintptr)(fn)
	entrances[signature] = e
	noteOffset(e.code, e.offset)
}

// closureOf is closureOf for values of a func type whose entrance e is, if it has one.
func (e *entrance) closureOf(fn pointer) *closure {
	if e != nil && *(*uintptr)(fn) == e.code {
		return *(**closure)(unsafe.Add(fn, e.offset))
	}
	return closureOf(fn)
}

// offsets says where func values keep their closures, by the code they begin
// with; a code is found at its hash or behind it.
var offsets [1024]struct{ code, offset uintptr }

func noteOffset(code, offset uintptr) {
	i := code >> 5 % uintptr(len(offsets))
	for offsets[i].code != 0 && offsets[i].code != code {
		i = (i + 1) % uintptr(len(offsets))
	}
	offsets[i].code, offsets[i].offset = code, offset
}

// entranceOffset is zero for code of other func values.
func entranceOffset(code uintptr) uintptr {
	for i := code >> 5 % uintptr(len(offsets)); offsets[i].code != 0; i = (i + 1) % uintptr(len(offsets)) {
		if offsets[i].code == code {
			return offsets[i].offset
		}
	}
	return 0
}

// key is how a kind is passed: a letter, ? for kinds without an entrance.
func key[T any]() string { return kindKey(reflect.TypeFor[T]()) }

func kindKey(t reflect.Type) string {
	switch k := t.Kind(); {
	case pointerShaped(k):
		return "p"
	case k == reflect.Interface && t.NumMethod() == 0:
		return "a"
	case k == reflect.Int || k == reflect.Int64:
		return "i"
	}
	if k, ok := kindKeys[t.Kind()]; ok {
		return k
	}
	return "?"
}

var kindKeys = map[reflect.Kind]string{
	reflect.Bool: "b", reflect.String: "s", reflect.Float64: "f", reflect.Int32: "r", reflect.Uint8: "c",
}

// entranceFor returns what makes func values of a type, or nil.
func entranceFor(t reflect.Type) *entrance {
	if t.IsVariadic() || t.NumIn() > 2 || t.NumOut() > 1 {
		return nil
	}
	signature := ""
	for p := range t.Ins() {
		signature += kindKey(p)
	}
	signature += ">"
	for r := range t.Outs() {
		signature += kindKey(r)
	}
	return entrances[signature]
}

// makeFunc makes the func value of a closure. e is the entrance of its type.
func makeFunc(t reflect.Type, e *entrance, c *closure) pointer {
	if e != nil && (c.target.fn != nil || c.target.code != nil) {
		return e.make(c)
	}
	return word(reflect.MakeFunc(t, c.entry))
}

func call0[R any](c *closure) R {
	r, th := c.arrive()
	fr, failed := th.try(c, nil)
	return leave[R](c, r, fr, failed)
}

func call1[A, R any](c *closure, a A) R {
	r, th := c.arrive()
	fr, failed := th.try(c, func(fr *frame) { pass(fr, 0, a) })
	return leave[R](c, r, fr, failed)
}

func call2[A, B, R any](c *closure, a A, b B) R {
	r, th := c.arrive()
	fr, failed := th.try(c, func(fr *frame) {
		pass(fr, 0, a)
		pass(fr, 1, b)
	})
	return leave[R](c, r, fr, failed)
}

// try calls a closure whose arguments set passes, and returns its panic.
func (th *thread) try(c *closure, set func(*frame)) (fr *frame, failed *panicking) {
	defer func() {
		if p := recover(); p != nil {
			failed = th.catch(p)
		}
		th.depart()
	}()
	fr = th.push(c.target.current())
	if set != nil {
		set(fr)
	}
	fr.bind(c)
	fr.call()
	return fr, nil
}

// leave ends a call from compiled code.
func leave[R any](c *closure, r *run, fr *frame, failed *panicking) (result R) {
	r.nesting.Add(-1)
	if failed != nil {
		return instead[R](c, r, failed)
	}
	switch {
	case fr.fn.numeric:
		receiveNumber(fr.result, &result)
	case len(fr.ret) == 1:
		receive(fr, fr.ret[0], &result)
	}
	fr.th.pop(fr)
	threads.Put(fr.th)
	return result
}

// instead is what a function returns whose panic nobody would recover.
func instead[R any](c *closure, r *run, failed *panicking) R {
	c.fail(r, failed) // no R is an error, so it returns zeros, too
	var zero R
	return zero
}

// pass writes an argument into its place.
func pass[T any](fr *frame, i int, value T) {
	pl := fr.fn.params[i]
	if pl.isInterface() {
		passInterface(fr, pl, value)
		return
	}
	switch v := any(&value).(type) { // a pointer, since a value would be boxed
	case *int:
		fr.n[pl.i] = uint64(*v)
	case *int32:
		fr.n[pl.i] = uint64(*v)
	case *uint8:
		fr.n[pl.i] = uint64(*v)
	case *float64:
		fr.n[pl.i] = math.Float64bits(*v)
	case *string:
		fr.s[pl.i] = *v
	case *pointer:
		fr.p[pl.i] = *v
	}
}

func passInterface[T any](fr *frame, pl place, value T) { fr.v[pl.i] = reflect.ValueOf(value) }

// receiveNumber gives a number to its result.
func receiveNumber[T any](bits uint64, result *T) {
	switch p := any(result).(type) {
	case *bool:
		*p = bits != 0
	case *int:
		*p = int(bits)
	case *int32:
		*p = int32(bits)
	case *uint8:
		*p = uint8(bits)
	case *float64:
		*p = math.Float64frombits(bits)
	}
}

// receive reads another result from its place.
func receive[T any](fr *frame, pl place, result *T) {
	switch p := any(result).(type) {
	case *string:
		*p = fr.s[pl.i]
	case *pointer:
		*p = fr.p[pl.i]
	case *any:
		*p = interfaceOf(fr.v[pl.i])
	}
}

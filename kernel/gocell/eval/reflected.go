package eval

import (
	"reflect"
	"unsafe"
)

// A deferred function may recover when it is the one that is deferred, also
// through what reflection makes of functions: the value of a method, and the result
// of MakeFunc. The code of cells in these is deferred itself, or recover would not
// know what it returns to.

// methodValue is the layout of a func value that reflection makes of a method.
type methodValue struct {
	code    uintptr
	_       pointer
	_       uintptr
	_       uint64
	index   int
	receive reflect.Value
}

var methodValueCode uintptr // first word of one

type probeMethods struct{ n int }

func (probeMethods) First()  {}
func (probeMethods) Second() {}

func init() {
	f := reflect.ValueOf(reflect.ValueOf(probeMethods{7}).Method(1).Interface())
	m := (*methodValue)(word(f))
	methodValueCode = m.code
	if probe, ok := m.receive.Interface().(probeMethods); !ok || probe.n != 7 || m.index != 1 {
		panic("eval: this Go release lays out values of methods in another way")
	}
}

// reflected finds the interpreted code that reflection made a func value of, and
// how that is called with the arguments of the value.
func (e *Engine) reflected(fn pointer) (tg target, adapt func(args []reflect.Value) []reflect.Value) {
	if fn == nil {
		return target{}, nil
	}
	switch *(*uintptr)(fn) {
	case methodValueCode:
		m := (*methodValue)(fn)
		recv := dynamic(m.receive)
		name := recv.Type().Method(m.index).Name
		clo, deref := e.lookupMethod(recv.Type(), name)
		if clo == nil {
			return target{}, nil
		}
		if tg = (target{clo: clo}); deref {
			tg.deref = name
		}
		return tg, func(args []reflect.Value) []reflect.Value { return append([]reflect.Value{recv}, args...) }
	case stubCode:
		if clo := closureOf(*(*pointer)(unsafe.Add(fn, implOffset))); clo != nil {
			return target{clo: clo}, func(args []reflect.Value) []reflect.Value { return valuesOf(args) }
		}
	}
	return target{}, nil
}

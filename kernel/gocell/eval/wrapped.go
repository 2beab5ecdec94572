package eval

import (
	"errors"
	"reflect"

	"forgekernel/kernel/gocell/rtype"
)

// What errors wrap is looked through by methods, which may be code of cells. For
// a cell, errors.Is and errors.As know the generations of a type apart from other
// types; for the kernel, the errors of a panic are looked through without a call
// of such code, which need not end.

var errorNatives = map[string]native{
	"errors.Is": func(th *thread, a []reflect.Value) []reflect.Value {
		e, target := th.run.engine, dynamic(a[1])
		if !e.renewed.Load() || !target.IsValid() {
			return valuesOf(errors.Is(errorOf(a[0]), errorOf(a[1])))
		}
		return valuesOf(e.isError(errorOf(a[0]), target))
	},
	"errors.As": func(th *thread, a []reflect.Value) []reflect.Value {
		return valuesOf(th.run.engine.asError(errorOf(a[0]), interfaceOf(dynamic(a[1]))))
	},
}

func errorOf(v reflect.Value) error {
	err, _ := interfaceOf(dynamic(v)).(error)
	return err
}

// isError is errors.Is for a target that is not nil.
func (e *Engine) isError(err error, target reflect.Value) bool {
	return e.findError(err, func(v reflect.Value) bool {
		if target.Comparable() && equal(v, target) {
			return true
		}
		x, ok := v.Interface().(interface{ Is(error) bool })
		return ok && x.Is(target.Interface().(error))
	})
}

// asError is errors.As.
func (e *Engine) asError(err error, target any) bool {
	to := reflect.ValueOf(target)
	if !e.renewed.Load() || err == nil || to.Kind() != reflect.Pointer || to.IsNil() {
		return errors.As(err, target)
	}
	want := to.Type().Elem()
	if want.Kind() != reflect.Interface && !want.Implements(errorType) {
		return errors.As(err, target) // which says what is wrong with it
	}
	return e.findError(err, func(v reflect.Value) bool {
		switch {
		case v.Type().AssignableTo(want):
			to.Elem().Set(v)
			return true
		case rtype.Related(v.Type(), want):
			to.Elem().Set(retag(want, v))
			return true
		}
		x, ok := v.Interface().(interface{ As(any) bool })
		return ok && x.As(target)
	})
}

// findError looks for one of the errors that an error wraps, itself the first,
// each in the present generation of its type.
func (e *Engine) findError(err error, found func(reflect.Value) bool) bool {
	for err != nil {
		v := e.present(reflect.ValueOf(err))
		if found(v) {
			return true
		}
		switch x := v.Interface().(type) {
		case interface{ Unwrap() error }:
			err = x.Unwrap()
		case interface{ Unwrap() []error }:
			for _, err := range x.Unwrap() {
				if e.findError(err, found) {
					return true
				}
			}
			return false
		default:
			return false
		}
	}
	return false
}

const maxWrapped = 100 // errors of one panic

// compiledErrors appends an error and what it wraps, as far as that is of
// compiled types.
func (e *Engine) compiledErrors(list []error, v any) []error {
	err, ok := v.(error)
	if !ok || len(list) == maxWrapped || !e.isCompiled(reflect.TypeOf(err)) {
		return list
	}
	list = append(list, err)
	switch x := err.(type) {
	case interface{ Unwrap() error }:
		list = e.compiledErrors(list, x.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range x.Unwrap() {
			list = e.compiledErrors(list, err)
		}
	}
	return list
}

// isCompiled reports whether t is a declared type of a compiled package, or a pointer to one:
// a type without a name may have methods of what it embeds.
func (e *Engine) isCompiled(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	_, made := e.types.Made(t)
	return !made && t.Name() != ""
}

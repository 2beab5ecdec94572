package eval

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// goError is a run-time error of the evaluator with the text that Go gives.
type goError string

func (e goError) Error() string { return "runtime error: " + string(e) }
func (goError) RuntimeError()   {}

// typeError is a failed type assertion.
type typeError string

func (e typeError) Error() string { return string(e) }
func (typeError) RuntimeError()   {}

var (
	_ runtime.Error = goError("")
	_ runtime.Error = typeError("")
)

// assertionError says why a dynamic value is not what it is asserted to be;
// missing names a method that it lacks.
func assertionError(from, want reflect.Type, v reflect.Value, missing func(reflect.Value) string) error {
	iface := "interface"
	if from.Name() != "" || from.NumMethod() == 0 {
		iface = from.String()
	}
	switch {
	case !v.IsValid() && want.Kind() == reflect.Interface:
		return typeError(fmt.Sprintf("interface conversion: interface is nil, not %s", want))
	case !v.IsValid():
		return typeError(fmt.Sprintf("interface conversion: %s is nil, not %s", iface, want))
	case want.Kind() == reflect.Interface:
		return typeError(fmt.Sprintf("interface conversion: %s is not %s: missing method %s", v.Type(), want, missing(v)))
	}
	text := fmt.Sprintf("interface conversion: %s is %s, not %s", iface, v.Type(), want)
	if v.Type().String() == want.String() {
		text += " (types from different scopes)"
	}
	return typeError(text)
}

// nilReceiver is the panic of a method of values that is called with a pointer
// to none.
func nilReceiver(t reflect.Type, method string) error {
	name, _, generic := strings.Cut(t.Name(), "[")
	if generic {
		name += "[...]"
	}
	return plainError(fmt.Sprintf("value method %s.%s.%s called using nil *%s pointer", t.PkgPath(), name, method, name))
}

func arrayLengthError(have, want int) error {
	return goError(fmt.Sprintf("cannot convert slice with length %d to array or pointer to array with length %d", have, want))
}

// failing returns code whose calls panic.
func failing(reason string) *Code {
	c := &Code{}
	c.Fail(goError(reason))
	return c
}

package eval

import (
	"fmt"
	"reflect"
	"runtime"
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

func assertionError(from, want reflect.Type, v reflect.Value) error {
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
		return typeError(fmt.Sprintf("interface conversion: %s is not %s: missing method %s", v.Type(), want, missing(v.Type(), want)))
	}
	text := fmt.Sprintf("interface conversion: %s is %s, not %s", iface, v.Type(), want)
	if v.Type().String() == want.String() {
		text += " (types from different scopes)"
	}
	return typeError(text)
}

func missing(t, iface reflect.Type) string {
	for i := range iface.NumMethod() {
		m := iface.Method(i)
		if have, ok := t.MethodByName(m.Name); !ok || have.Type.NumIn() != m.Type.NumIn()+1 {
			return m.Name
		}
	}
	return "of the right type"
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

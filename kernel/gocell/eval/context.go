package eval

import (
	"context"
	"reflect"

	"forgekernel/kernel/gocell/rtype"
)

var contextType = reflect.TypeFor[context.Context]()

// contextValue is Value of a compiled context. That compares keys by their reflect
// types; for cells it finds a key in any generation of its type.
func contextValue(_ *thread, a []reflect.Value) []reflect.Value {
	ctx, key := a[0].Interface().(context.Context), dynamic(a[1])
	v := ctx.Value(interfaceOf(key))
	if v != nil || !key.IsValid() || !rtype.Grown() {
		return valuesOf(v)
	}
	for _, g := range rtype.Generations(key.Type()) {
		if v = ctx.Value(retag(g, key).Interface()); v != nil {
			break
		}
	}
	return valuesOf(v)
}

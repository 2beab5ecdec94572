package eval

import (
	"reflect"
	"sync"
	"unsafe"

	"forgekernel/kernel/gocell/rtype"
)

// A type that gets a method in a later cell has another reflect type from then
// on, its next generation, and so has what is built from it. Values made before
// keep theirs, where an interface holds them: to code of cells they are equal to
// those of other generations, and the same keys of maps.

// equal compares two values of class ref as Go does, with its panics.
func equal(x, y reflect.Value) bool {
	if !x.IsValid() || !y.IsValid() {
		return x.IsValid() == y.IsValid()
	}
	if !rtype.Grown() {
		return x.Interface() == y.Interface()
	}
	if rtype.Related(x.Type(), y.Type()) {
		y = retag(x.Type(), y)
	}
	if x.Type() == y.Type() && holdsInterfaces(x.Type()) {
		return equalParts(x.Type(), dataOf(x), dataOf(y))
	}
	return x.Interface() == y.Interface()
}

// equalParts compares two variables of one type part by part.
func equalParts(t reflect.Type, x, y pointer) bool {
	switch {
	case t.Kind() == reflect.Interface:
		return equal(at(t, x).Elem(), at(t, y).Elem())
	case !holdsInterfaces(t):
		return at(t, x).Interface() == at(t, y).Interface()
	}
	for part, offset := range partsOf(t) {
		if !equalParts(part, unsafe.Add(x, offset), unsafe.Add(y, offset)) {
			return false
		}
	}
	return true
}

// partsOf lists the parts of an array or struct that a comparison looks at, with
// where they begin.
func partsOf(t reflect.Type) func(yield func(reflect.Type, uintptr) bool) {
	return func(yield func(reflect.Type, uintptr) bool) {
		if t.Kind() == reflect.Array {
			for i := range t.Len() {
				if !yield(t.Elem(), uintptr(i)*t.Elem().Size()) {
					return
				}
			}
			return
		}
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" && !yield(f.Type, f.Offset) {
				return
			}
		}
	}
}

// interfaceHolders remembers the answers of holdsInterfaces, by type.
var interfaceHolders sync.Map

// holdsInterfaces reports whether t is an array or struct with interfaces in it.
func holdsInterfaces(t reflect.Type) (holds bool) {
	if k := t.Kind(); k != reflect.Array && k != reflect.Struct {
		return false
	}
	if known, ok := interfaceHolders.Load(t); ok {
		return known.(bool)
	}
	for part := range partsOf(t) {
		if holds = part.Kind() == reflect.Interface || holdsInterfaces(part); holds || t.Kind() == reflect.Array {
			break
		}
	}
	interfaceHolders.Store(t, holds)
	return holds
}

// holdsGrown reports whether a variable has a value in an interface whose type has
// several generations.
func holdsGrown(t reflect.Type, p pointer) bool {
	if t.Kind() == reflect.Interface {
		v := at(t, p).Elem()
		return v.IsValid() && (rtype.Generations(v.Type()) != nil || holdsInterfaces(v.Type()) && holdsGrown(v.Type(), dataOf(v)))
	}
	for part, offset := range partsOf(t) {
		if (part.Kind() == reflect.Interface || holdsInterfaces(part)) && holdsGrown(part, unsafe.Add(p, offset)) {
			return true
		}
	}
	return false
}

// keyIn dresses a key for a map, in the generations of its types that the map has
// it in, if it has. A key with such values within is looked for among all.
func keyIn(m reflect.Value, t reflect.Type, v reflect.Value) reflect.Value {
	k := static(t, v)
	if !v.IsValid() {
		return k
	}
	if t.Kind() == reflect.Interface {
		for _, g := range rtype.Generations(k.Type()) {
			if older := retag(g, k); g.Implements(t) && m.MapIndex(older).IsValid() {
				return older
			}
		}
	}
	if !holdsInterfaces(k.Type()) || !holdsGrown(k.Type(), dataOf(k)) || m.MapIndex(k).IsValid() {
		return k
	}
	for it := m.MapRange(); it.Next(); {
		if have := dynamic(it.Key()); have.IsValid() && have.Comparable() && equal(k, have) {
			return have
		}
	}
	return k
}

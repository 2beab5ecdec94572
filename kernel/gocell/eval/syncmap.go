package eval

import (
	"reflect"
	"sync"

	"forgekernel/kernel/gocell/rtype"
)

// A sync.Map is compiled code that compares keys by their reflect types. For
// cells it finds a key in any generation of its type.

// grownNatives take the place of compiled functions once a type has several
// generations.
var grownNatives = map[string]native{}

func init() {
	for name, n := range map[string]func(m *sync.Map, key any, rest []reflect.Value) []reflect.Value{
		"Load": func(m *sync.Map, key any, _ []reflect.Value) []reflect.Value {
			v, ok := m.Load(key)
			return valuesOf(v, ok)
		},
		"Store": func(m *sync.Map, key any, rest []reflect.Value) []reflect.Value {
			m.Store(key, interfaceOf(rest[0]))
			return nil
		},
		"LoadOrStore": func(m *sync.Map, key any, rest []reflect.Value) []reflect.Value {
			v, loaded := m.LoadOrStore(key, interfaceOf(rest[0]))
			return valuesOf(v, loaded)
		},
		"LoadAndDelete": func(m *sync.Map, key any, _ []reflect.Value) []reflect.Value {
			v, ok := m.LoadAndDelete(key)
			return valuesOf(v, ok)
		},
		"Delete": func(m *sync.Map, key any, _ []reflect.Value) []reflect.Value {
			m.Delete(key)
			return nil
		},
		"Swap": func(m *sync.Map, key any, rest []reflect.Value) []reflect.Value {
			v, ok := m.Swap(key, interfaceOf(rest[0]))
			return valuesOf(v, ok)
		},
		"CompareAndSwap": func(m *sync.Map, key any, rest []reflect.Value) []reflect.Value {
			return valuesOf(m.CompareAndSwap(key, asStored(m, key, rest[0]), interfaceOf(rest[1])))
		},
		"CompareAndDelete": func(m *sync.Map, key any, rest []reflect.Value) []reflect.Value {
			return valuesOf(m.CompareAndDelete(key, asStored(m, key, rest[0])))
		},
	} {
		grownNatives["sync.(*Map)."+name] = func(_ *thread, a []reflect.Value) []reflect.Value {
			m := a[0].Interface().(*sync.Map)
			return n(m, keyOf(m, dynamic(a[1])), a[2:])
		}
	}
}

// keyOf is a key in the generations of its types that a map has it in.
func keyOf(m *sync.Map, key reflect.Value) any {
	k := interfaceOf(key)
	if !rtype.Grown() || !key.IsValid() {
		return k
	}
	for _, g := range rtype.Generations(key.Type()) {
		older := retag(g, key).Interface()
		if _, ok := m.Load(older); ok {
			return older
		}
	}
	if !holdsInterfaces(key.Type()) || !holdsGrown(key.Type(), dataOf(key)) {
		return k
	}
	m.Range(func(have, _ any) bool {
		if !equal(key, reflect.ValueOf(have)) {
			return true
		}
		k = have
		return false
	})
	return k
}

// asStored is a value in the generations of its types that an entry has it in.
func asStored(m *sync.Map, key any, value reflect.Value) any {
	if have, ok := m.Load(key); ok && rtype.Grown() && reflect.ValueOf(have).Comparable() && equal(reflect.ValueOf(have), dynamic(value)) {
		return have
	}
	return interfaceOf(dynamic(value))
}

package peek

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
)

// Child is a part of a value.
type Child struct {
	Name  string // of a field, or [index]
	Value reflect.Value
}

// maxKeys bounds the maps whose keys are sorted.
const maxKeys = 100_000

// Count is the number of a value's parts: fields, elements, or what a pointer
// or an interface refers to. Those of a map are only told when it is still.
func Count(v reflect.Value, still bool) int {
	v = through(v)
	if !v.IsValid() {
		return 0
	}
	switch v.Kind() {
	case reflect.Struct:
		return v.NumField()
	case reflect.Slice, reflect.Array:
		return v.Len()
	case reflect.Map:
		if still && v.Len() <= maxKeys {
			return v.Len()
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return 1
		}
	}
	return 0
}

// Children lists the parts from start on, at most count of them.
func Children(v reflect.Value, start, count int, still bool) []Child {
	n := Count(v, still)
	v = through(v)
	start = min(max(start, 0), n)
	end := start + min(max(count, 0), n-start)
	var keys []reflect.Value
	if n > 0 && v.Kind() == reflect.Map {
		keys = sortedKeys(v)
		end = min(end, len(keys))
	}
	var list []Child
	for i := start; i < end; i++ {
		switch v.Kind() {
		case reflect.Struct:
			list = append(list, Child{v.Type().Field(i).Name, v.Field(i)})
		case reflect.Map:
			list = append(list, Child{Text(keys[i], still), v.MapIndex(keys[i])})
		case reflect.Pointer:
			list = append(list, Child{"*", v.Elem()})
		default:
			list = append(list, Child{"[" + strconv.Itoa(i) + "]", v.Index(i)})
		}
	}
	return list
}

// through follows interfaces, and the pointers to structs, whose fields are
// shown at once.
func through(v reflect.Value) reflect.Value {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.IsValid() && v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Kind() == reflect.Struct {
		return v.Elem()
	}
	return v
}

// sortedKeys lists a map's keys: numbers and strings in order, others by their
// texts.
func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		switch {
		case a.CanInt():
			return cmp.Compare(a.Int(), b.Int())
		case a.CanUint():
			return cmp.Compare(a.Uint(), b.Uint())
		case a.CanFloat():
			return cmp.Compare(a.Float(), b.Float())
		case a.Kind() == reflect.String:
			return cmp.Compare(a.String(), b.String())
		}
		return cmp.Compare(Text(a, true), Text(b, true))
	})
	return keys
}

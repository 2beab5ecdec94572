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

// maxKeys bounds the maps whose keys are sorted: larger ones have no parts, and the
// text of one shows any of its keys.
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

// firstKeys lists at most n keys of a map: the first ones, unless it has more keys
// than are sorted.
func firstKeys(m reflect.Value, n int) []reflect.Value {
	if m.Len() <= maxKeys {
		keys := sortedKeys(m)
		return keys[:min(n, len(keys))]
	}
	var keys []reflect.Value
	for all := m.MapRange(); len(keys) < n && all.Next(); {
		keys = append(keys, all.Key())
	}
	return keys
}

// sortedKeys lists a map's keys: numbers and strings in order, others by their
// texts.
func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	switch k := m.Type().Key().Kind(); {
	case reflect.Int <= k && k <= reflect.Int64:
		sortBy(keys, reflect.Value.Int)
	case reflect.Uint <= k && k <= reflect.Uintptr:
		sortBy(keys, reflect.Value.Uint)
	case k == reflect.Float32 || k == reflect.Float64:
		sortBy(keys, reflect.Value.Float)
	case k == reflect.String:
		sortBy(keys, reflect.Value.String)
	default:
		sortBy(keys, func(k reflect.Value) string { return Text(k, true) })
	}
	return keys
}

// sortBy sorts keys by something that each is asked for once.
func sortBy[T cmp.Ordered](keys []reflect.Value, of func(reflect.Value) T) {
	type item struct {
		key   reflect.Value
		order T
	}
	items := make([]item, len(keys))
	for i, k := range keys {
		items[i] = item{k, of(k)}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.order, b.order) })
	for i, item := range items {
		keys[i] = item.key
	}
}

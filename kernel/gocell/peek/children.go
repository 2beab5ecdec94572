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
	Key   reflect.Value // of an entry of a map
}

// maxKeys bounds the maps whose first entries are looked for in a text: of larger
// ones it shows any.
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
		if still {
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
	var list []Child
	if n > 0 && v.Kind() == reflect.Map {
		for _, e := range entries(v, end)[start:] {
			list = append(list, Child{Name: Text(e.key, still), Value: e.value, Key: e.key})
		}
		return list
	}
	for i := start; i < end; i++ {
		switch v.Kind() {
		case reflect.Struct:
			list = append(list, Child{Name: v.Type().Field(i).Name, Value: v.Field(i)})
		case reflect.Pointer:
			list = append(list, Child{Name: "*", Value: v.Elem()})
		default:
			list = append(list, Child{Name: "[" + strconv.Itoa(i) + "]", Value: v.Index(i)})
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

// entry is one of a map. That of a key that is NaN is found by going through the
// map alone.
type entry struct {
	key, value reflect.Value
	text       string // of a key that is neither a number nor a string
}

// entries lists the first n entries of a map: by key where keys are numbers or
// strings, else by the keys' texts.
func entries(m reflect.Value, n int) []*entry {
	var list []*entry
	room := max(2*n, 1024)
	for it := m.MapRange(); it.Next(); {
		e := &entry{key: it.Key(), value: it.Value()}
		if !isBasic(e.key) {
			e.text = Text(e.key, true)
		}
		if list = append(list, e); len(list) == room {
			list = sorted(list)[:n]
		}
	}
	return sorted(list)[:min(n, len(list))]
}

// someEntries lists n entries of a map: the first ones, unless it has very many.
func someEntries(m reflect.Value, n int) []*entry {
	if m.Len() <= maxKeys {
		return entries(m, n)
	}
	var list []*entry
	for it := m.MapRange(); len(list) < n && it.Next(); {
		list = append(list, &entry{key: it.Key(), value: it.Value()})
	}
	return list
}

func isBasic(k reflect.Value) bool {
	return k.CanInt() || k.CanUint() || k.CanFloat() || k.Kind() == reflect.String
}

func sorted(list []*entry) []*entry {
	slices.SortFunc(list, func(a, b *entry) int {
		switch x, y := a.key, b.key; {
		case x.CanInt():
			return cmp.Compare(x.Int(), y.Int())
		case x.CanUint():
			return cmp.Compare(x.Uint(), y.Uint())
		case x.CanFloat():
			return cmp.Compare(x.Float(), y.Float())
		case x.Kind() == reflect.String:
			return cmp.Compare(x.String(), y.String())
		}
		return cmp.Compare(a.text, b.text)
	})
	return list
}

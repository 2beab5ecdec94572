package rtype

import (
	"go/types"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
)

// family is the generations of one type, the oldest first: of a declared one, or
// of one that is built from such.
type family struct {
	mu   sync.Mutex
	list []reflect.Type
}

// families finds the family of a type that has several generations, of which a
// process keeps all: the runtime never forgets a type.
var families struct {
	known  atomic.Bool // whether there is one
	byType sync.Map    // reflect.Type -> *family
}

// generation notes one more of a type.
func (t *Table) generation(origin types.Type, r reflect.Type) {
	f, ok := t.generations.At(origin).(*family)
	if !ok {
		t.generations.Set(origin, &family{list: []reflect.Type{r}})
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Contains(f.list, r) {
		return
	}
	f.list = append(f.list, r)
	for _, r := range f.list {
		families.byType.Store(r, f)
	}
	families.known.Store(true)
}

// lose takes back what generation noted.
func (t *Table) lose(origin types.Type, r reflect.Type) {
	f, ok := t.generations.At(origin).(*family)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = slices.DeleteFunc(f.list, func(g reflect.Type) bool { return g == r })
	families.byType.Delete(r)
}

// familyOf finds the family of a type, or of what it points to.
func familyOf(r reflect.Type) (f *family, isPointer bool) {
	if !Grown() {
		return nil, false
	}
	if r.Kind() == reflect.Pointer && r.Name() == "" {
		if found, ok := families.byType.Load(r.Elem()); ok {
			return found.(*family), true
		}
	}
	found, ok := families.byType.Load(r)
	if !ok {
		return nil, false
	}
	return found.(*family), false
}

// Grown reports whether any type has several generations.
func Grown() bool { return families.known.Load() }

// Related reports whether two types are generations of one.
func Related(a, b reflect.Type) bool {
	f, isPointer := familyOf(a)
	g, other := familyOf(b)
	return f != nil && f == g && isPointer == other
}

// Generations lists those of a type when there are several.
func Generations(r reflect.Type) []reflect.Type {
	f, isPointer := familyOf(r)
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	list := slices.Clone(f.list)
	for i := range list {
		if isPointer {
			list[i] = reflect.PointerTo(list[i])
		}
	}
	return list
}

// Fitting returns the generation of a type that implements an interface, itself
// if it does or if none is known to.
func Fitting(r, iface reflect.Type) reflect.Type {
	if f, _ := familyOf(r); f == nil || r.Implements(iface) {
		return r
	}
	for _, g := range slices.Backward(Generations(r)) {
		if g.Implements(iface) {
			return g
		}
	}
	return r
}

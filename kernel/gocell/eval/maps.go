package eval

import (
	"reflect"
	"unsafe"

	"forgekernel/kernel/gocell/rtype"
	"golang.org/x/tools/go/ssa"
)

// The runtime finds and stores the entries of a map by the addresses of a key
// and an element, so the banks of a frame will do: on a machine that keeps the
// lower bytes first, the address of a number of any size is that of its 64 bits.

//go:linkname mapAccess reflect.mapaccess
func mapAccess(t, m, key unsafe.Pointer) unsafe.Pointer

//go:linkname mapAccessString reflect.mapaccess_faststr
func mapAccessString(t, m unsafe.Pointer, key string) unsafe.Pointer

//go:linkname mapAssign reflect.mapassign0
func mapAssign(t, m, key, elem unsafe.Pointer)

//go:linkname mapAssignString reflect.mapassign_faststr0
func mapAssignString(t, m unsafe.Pointer, key string, elem unsafe.Pointer)

// maxFastElem is the size of elements that maps keep in place.
const maxFastElem = 128

// addressOf returns how the address of a place's value is found, as a value of a
// type: of an element or a key.
func addressOf(pl place, t reflect.Type) func(fr *frame) pointer {
	i := pl.i
	switch {
	case t.Kind() == reflect.Float32:
		return func(fr *frame) pointer {
			f := fromBits[float32](fr.n[i])
			return pointer(&f)
		}
	case pl.class == num:
		return func(fr *frame) pointer { return pointer(&fr.n[i]) }
	case pl.class == ptr:
		return func(fr *frame) pointer { return pointer(&fr.p[i]) }
	case pl.class == str:
		return func(fr *frame) pointer { return pointer(&fr.s[i]) }
	case pl.class == lst:
		return func(fr *frame) pointer { return pointer(&fr.l[i]) }
	case t.Kind() != reflect.Interface:
		return func(fr *frame) pointer { return dataOf(static(t, fr.v[i])) }
	}
	return func(fr *frame) pointer { return interfaceData(t, fr.v[i]) }
}

// interfaceData returns the address of an interface of a type that holds a value.
func interfaceData(t reflect.Type, v reflect.Value) pointer {
	if t.NumMethod() == 0 {
		x := anyOf(v)
		return pointer(&x)
	}
	x := fresh(t)
	if v.IsValid() {
		x.Set(static(t, v))
	}
	return dataOf(x)
}

// keyAddress returns how the address of a key of a map is found. Values in
// interfaces are looked for in the generations of their types that the map has
// them in.
func keyAddress(m, key place) func(fr *frame) pointer {
	t, k := m.typ.Key(), key.i
	find := func(fr *frame) reflect.Value {
		v := fr.v[k]
		if v.IsValid() && rtype.Grown() {
			v = keyIn(fr.get(m), t, v)
		}
		return v
	}
	switch {
	case t.Kind() == reflect.Interface:
		return func(fr *frame) pointer { return interfaceData(t, find(fr)) }
	case holdsInterfaces(t):
		return func(fr *frame) pointer { return dataOf(static(t, find(fr))) }
	}
	return addressOf(key, t)
}

// finder returns what finds an element in a map, nil when there is none. A key that
// the map cannot hold fails where m[k] op= x puts it in, and not where it is looked up.
func finder(in *ssa.Lookup, m, key place) func(fr *frame) pointer {
	t, i := typeWord(m.typ), m.i
	if key.class == str && m.typ.Elem().Size() <= maxFastElem {
		k := key.i
		return func(fr *frame) pointer { return mapAccessString(t, fr.p[i], fr.s[k]) }
	}
	address := keyAddress(m, key)
	if key.class == ref && isUpdated(in) {
		return func(fr *frame) pointer {
			if fr.get(m).Len() == 0 {
				return nil
			}
			return mapAccess(t, fr.p[i], address(fr))
		}
	}
	return func(fr *frame) pointer { return mapAccess(t, fr.p[i], address(fr)) }
}

// isWideInteger reports whether all maps with keys of t's size hash them alike.
func isWideInteger(t reflect.Type) bool {
	return t.Size() == 8 && (isSigned(t.Kind()) || isUnsigned(t.Kind()))
}

// isWideNumber reports whether all maps store elements of type t alike.
func isWideNumber(t reflect.Type) bool { return classOf(t) == num && t.Size() == 8 }

// The entries of maps of one layout are found by code that the compiler made for
// one of their types: that of the keys and elements decides how a map is read
// and written, and not their names.
func numbersOf(m pointer) map[uint64]uint64      { return *(*map[uint64]uint64)(pointer(&m)) }
func namedNumbersOf(m pointer) map[string]uint64 { return *(*map[string]uint64)(pointer(&m)) }

// entry is the place of the current entry in a reflect.MapIter.
type entry struct {
	_         reflect.Value
	key, elem pointer
}

func init() {
	it := reflect.ValueOf(map[int]string{7: "seven"}).MapRange()
	it.Next()
	if e := (*entry)(pointer(it)); *(*int)(e.key) != 7 || *(*string)(e.elem) != "seven" {
		panic("eval: this Go release lays out iterators of maps in another way")
	}
	ones := []byte{1, 0, 0, 0, 0, 0, 0, 0}
	if *(*uint64)(pointer(&ones[0])) != 1 {
		panic("eval: this machine keeps the higher bytes of a number first")
	}
}

package eval

import (
	"math"
	"reflect"
	"unsafe"
)

func isSigned(k reflect.Kind) bool   { return k >= reflect.Int && k <= reflect.Int64 }
func isUnsigned(k reflect.Kind) bool { return k >= reflect.Uint && k <= reflect.Uintptr }
func isFloat(k reflect.Kind) bool    { return k == reflect.Float32 || k == reflect.Float64 }

// number encodes a value for the bank of numbers.
func number(v reflect.Value) uint64 {
	switch k := v.Kind(); {
	case isSigned(k):
		return uint64(v.Int())
	case isUnsigned(k):
		return v.Uint()
	case k == reflect.Bool:
		return truth(v.Bool())
	default:
		return math.Float64bits(v.Float())
	}
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

var intType = reflect.TypeFor[int]()

// boxNumber decodes a number to a value of its type.
func boxNumber(t reflect.Type, n uint64) reflect.Value {
	if t == intType {
		return reflect.ValueOf(int(n))
	}
	p := pointer(&n) // whose lower bytes come first
	if t.Kind() == reflect.Float32 {
		f := fromBits[float32](n)
		p = pointer(&f)
	}
	return held(t, p)
}

// loadNumber returns how to read a number of kind k from memory.
func loadNumber(k reflect.Kind) func(unsafe.Pointer) uint64 {
	switch k {
	case reflect.Bool, reflect.Uint8:
		return load[uint8]
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64, reflect.Uintptr, reflect.Float64:
		return load[uint64]
	case reflect.Int8:
		return load[int8]
	case reflect.Int16:
		return load[int16]
	case reflect.Int32:
		return load[int32]
	case reflect.Uint16:
		return load[uint16]
	case reflect.Uint32:
		return load[uint32]
	}
	return func(p unsafe.Pointer) uint64 { return math.Float64bits(float64(*(*float32)(p))) }
}

// storeNumber returns how to write a number of kind k to memory.
func storeNumber(k reflect.Kind) func(unsafe.Pointer, uint64) {
	switch k {
	case reflect.Bool, reflect.Uint8, reflect.Int8:
		return store[uint8]
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64, reflect.Uintptr, reflect.Float64:
		return store[uint64]
	case reflect.Int16, reflect.Uint16:
		return store[uint16]
	case reflect.Int32, reflect.Uint32:
		return store[uint32]
	}
	return func(p unsafe.Pointer, n uint64) { *(*float32)(p) = float32(math.Float64frombits(n)) }
}

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

func load[T integer](p unsafe.Pointer) uint64     { return uint64(*(*T)(p)) }
func store[T integer](p unsafe.Pointer, n uint64) { *(*T)(p) = T(n) }

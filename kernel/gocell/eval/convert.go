package eval

import (
	"math"
	"reflect"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// convert translates conversions that change the representation.
func (b *builder) convert(in *ssa.Convert) {
	x, dst := b.val(in.X), b.places[in]
	if x.class == num && dst.class == num {
		to := numeric(x.typ.Kind(), dst.typ.Kind())
		b.emit(func(fr *frame) { fr.n[dst.i] = to(fr.n[x.i]) })
		return
	}
	from, to := x.typ.Kind(), dst.typ.Kind()
	switch {
	case from == reflect.UnsafePointer && to == reflect.Pointer, from == reflect.Pointer && to == reflect.UnsafePointer:
		b.copyValue(x, dst)
	case from == reflect.UnsafePointer && to == reflect.Uintptr:
		b.emit(func(fr *frame) { fr.n[dst.i] = uint64(uintptr(fr.p[x.i])) })
	case from == reflect.Uintptr && to == reflect.UnsafePointer:
		b.emit(func(fr *frame) {
			n := uintptr(fr.n[x.i])
			fr.p[dst.i] = *(*unsafe.Pointer)(unsafe.Pointer(&n))
		})
	case x.class == num && dst.class == str:
		b.emit(func(fr *frame) { fr.s[dst.i] = runeText(fr.n[x.i]) })
	case x.class == lst && dst.class == str && x.typ.Elem().Kind() == reflect.Uint8:
		b.emit(func(fr *frame) { fr.s[dst.i] = string(*(*[]byte)(pointer(&fr.l[x.i]))) })
	case x.class == str && dst.class == lst && dst.typ.Elem().Kind() == reflect.Uint8:
		b.emit(func(fr *frame) {
			bytes := []byte(fr.s[x.i])
			fr.l[dst.i] = *(*header)(pointer(&bytes))
		})
	default:
		b.emit(func(fr *frame) { fr.set(dst, convertValue(fr.get(x), dst.typ)) })
	}
}

// runeText is the text of an integer that is taken for a character; negative
// ones are none.
func runeText(n uint64) string {
	switch {
	case n < utf8.RuneSelf:
		return string([]byte{byte(n)}) // which takes no memory
	case n > unicode.MaxRune:
		return string(unicode.ReplacementChar)
	}
	return string(rune(n))
}

// convertValue converts by reflection, which does not know the bytes and runes
// of declared types.
func convertValue(v reflect.Value, t reflect.Type) reflect.Value {
	switch {
	case v.Kind() == reflect.Slice && t.Kind() == reflect.String:
		return retag(plainSlice(v.Type()), v).Convert(t)
	case v.Kind() == reflect.String && t.Kind() == reflect.Slice:
		return retag(t, v.Convert(plainSlice(t)))
	}
	return v.Convert(t)
}

func plainSlice(t reflect.Type) reflect.Type {
	if t.Elem().Kind() == reflect.Uint8 {
		return reflect.TypeFor[[]byte]()
	}
	return reflect.TypeFor[[]rune]()
}

// numeric converts between kinds of numbers as compiled code on this machine
// does.
func numeric(from, to reflect.Kind) func(uint64) uint64 {
	fromFloat, toFloat := isFloat(from), isFloat(to)
	switch {
	case fromFloat && to == reflect.Float32:
		return func(n uint64) uint64 { return toBits(fromBits[float32](n)) }
	case fromFloat && toFloat:
		return func(n uint64) uint64 { return n }
	case fromFloat:
		return whole(to)
	case to == reflect.Float32 && isSigned(from):
		return func(n uint64) uint64 { return toBits(float32(int64(n))) }
	case to == reflect.Float32:
		return func(n uint64) uint64 { return toBits(float32(n)) }
	case toFloat && isSigned(from):
		return func(n uint64) uint64 { return math.Float64bits(float64(int64(n))) }
	case toFloat:
		return func(n uint64) uint64 { return math.Float64bits(float64(n)) }
	}
	return truncate(to)
}

// whole returns how a float becomes an integer of kind k: by the conversion that
// compiled code has for that kind, since what is out of range is not specified.
func whole(k reflect.Kind) func(uint64) uint64 {
	switch k {
	case reflect.Int8:
		return wholeTo[int8]
	case reflect.Int16:
		return wholeTo[int16]
	case reflect.Int32:
		return wholeTo[int32]
	case reflect.Int, reflect.Int64:
		return wholeTo[int64]
	case reflect.Uint8:
		return wholeTo[uint8]
	case reflect.Uint16:
		return wholeTo[uint16]
	case reflect.Uint32:
		return wholeTo[uint32]
	}
	return wholeTo[uint64]
}

func wholeTo[T integer](n uint64) uint64 { return uint64(T(math.Float64frombits(n))) }

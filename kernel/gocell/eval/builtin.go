package eval

import (
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// builtin translates a call of a built-in function.
func (b *builder) builtin(in *ssa.Call, fn *ssa.Builtin) {
	if fn.Name() == "len" && b.isFolded(in.Call.Args[0]) {
		slice, d := b.sliceHeader(in.Call.Args[0]), b.places[in].i
		b.emit(func(fr *frame) { fr.n[d] = uint64(slice(fr).len) })
		return
	}
	args := b.vals(in.Call.Args)
	dst := place{i: -1, typ: intType}
	if pl, ok := b.places[in]; ok {
		dst = pl
	}
	switch fn.Name() {
	case "append":
		if stores := b.appended[in]; stores != nil {
			b.appendValues(stores, args[0], dst.i)
		} else {
			b.appendTo(args[0], args[1], dst.i)
		}
	case "len", "cap":
		b.emit(length(fn.Name(), args[0], dst.i))
	case "copy":
		b.emit(func(fr *frame) { fr.n[dst.i] = uint64(reflect.Copy(fr.get(args[0]), fr.get(args[1]))) })
	case "real":
		b.emit(func(fr *frame) { fr.n[dst.i] = math.Float64bits(real(fr.v[args[0].i].Complex())) })
	case "imag":
		b.emit(func(fr *frame) { fr.n[dst.i] = math.Float64bits(imag(fr.v[args[0].i].Complex())) })
	case "complex":
		b.emit(func(fr *frame) {
			v := fresh(dst.typ)
			v.SetComplex(complex(math.Float64frombits(fr.n[args[0].i]), math.Float64frombits(fr.n[args[1].i])))
			fr.v[dst.i] = v
		})
	case "min", "max":
		b.minMax(fn.Name(), args, dst)
	case "recover":
		b.fn.recovers = true
		b.emit(func(fr *frame) { fr.v[dst.i] = fr.recovers() })
	case "ssa:deferstack":
		b.fn.hasDefer = true
		b.emit(func(fr *frame) { fr.p[dst.i] = pointer(fr) })
	case "ssa:wrapnilchk":
		b.wrapNilCheck(args, dst)
	case "Sizeof", "Alignof": // of a type parameter
		t := args[0].typ
		n := uint64(t.Size())
		if fn.Name() == "Alignof" {
			n = uint64(t.Align())
		}
		b.emit(func(fr *frame) { fr.n[dst.i] = n })
	case "Offsetof": // of a field of a type with type parameters
		n := b.offsetOf(in)
		b.emit(func(fr *frame) { fr.n[dst.i] = n })
	case "Add", "Slice", "SliceData", "String", "StringData":
		b.unsafeBuiltin(fn.Name(), args, dst)
	default:
		n := b.builtinNative(fn, args, in.Common())
		b.emit(func(fr *frame) { n(fr.th, fr.gather(args)) })
	}
}

func length(name string, x place, d int) instr {
	i := x.i
	switch k := x.typ.Kind(); {
	case x.class == ptr && k == reflect.Pointer:
		n := uint64(x.typ.Elem().Len())
		return func(fr *frame) { fr.n[d] = n }
	case x.class == ptr && name == "len":
		return func(fr *frame) { fr.n[d] = uint64(fr.get(x).Len()) }
	case x.class == ptr:
		return func(fr *frame) { fr.n[d] = uint64(fr.get(x).Cap()) }
	case x.class == str:
		return func(fr *frame) { fr.n[d] = uint64(len(fr.s[i])) }
	case x.class == lst && name == "len":
		return func(fr *frame) { fr.n[d] = uint64(fr.l[i].len) }
	case x.class == lst:
		return func(fr *frame) { fr.n[d] = uint64(fr.l[i].cap) }
	}
	n := uint64(x.typ.Len()) // of an array
	return func(fr *frame) { fr.n[d] = n }
}

func (b *builder) minMax(name string, args []place, dst place) {
	wantMin := name == "min"
	switch k := dst.typ.Kind(); {
	case k == reflect.String:
		b.emit(func(fr *frame) {
			best := fr.s[args[0].i]
			for _, a := range args[1:] {
				if s := fr.s[a.i]; wantMin {
					best = min(best, s)
				} else {
					best = max(best, s)
				}
			}
			fr.s[dst.i] = best
		})
	case isFloat(k):
		b.emit(extreme(wantMin, args, dst.i, math.Float64frombits, math.Float64bits))
	case isUnsigned(k):
		same := func(n uint64) uint64 { return n }
		b.emit(extreme(wantMin, args, dst.i, same, same))
	default:
		b.emit(extreme(wantMin, args, dst.i, func(n uint64) int64 { return int64(n) }, func(n int64) uint64 { return uint64(n) }))
	}
}

func extreme[T uint64 | int64 | float64](wantMin bool, args []place, d int, of func(uint64) T, bits func(T) uint64) instr {
	return func(fr *frame) {
		best := of(fr.n[args[0].i])
		for _, a := range args[1:] {
			if x := of(fr.n[a.i]); wantMin {
				best = min(best, x)
			} else {
				best = max(best, x)
			}
		}
		fr.n[d] = bits(best)
	}
}

func (b *builder) wrapNilCheck(args []place, dst place) {
	recv := args[0].typ.Elem()
	b.emit(func(fr *frame) {
		p := fr.p[args[0].i]
		if p == nil {
			panic(nilReceiver(recv, fr.s[args[2].i]))
		}
		fr.p[dst.i] = p
	})
}

// builtinNative is a built-in function that is called for its effect, perhaps
// later by go or defer.
func (b *builder) builtinNative(fn *ssa.Builtin, args []place, common *ssa.CallCommon) native {
	switch fn.Name() {
	case "close":
		return func(_ *thread, v []reflect.Value) []reflect.Value { v[0].Close(); return nil }
	case "delete":
		key := args[0].typ.Key()
		return func(_ *thread, v []reflect.Value) []reflect.Value {
			if k := keyIn(v[0], key, v[1]); !v[0].IsNil() {
				v[0].SetMapIndex(k, reflect.Value{})
			} else {
				v[0].MapIndex(k) // a key that cannot be hashed panics all the same
			}
			return nil
		}
	case "clear":
		return func(_ *thread, v []reflect.Value) []reflect.Value { v[0].Clear(); return nil }
	case "copy":
		return func(_ *thread, v []reflect.Value) []reflect.Value { reflect.Copy(v[0], v[1]); return nil }
	case "panic":
		return func(_ *thread, v []reflect.Value) []reflect.Value { panic(panicValue(v[0])) }
	case "print", "println":
		return func(th *thread, v []reflect.Value) []reflect.Value {
			printBuiltin(th.writer("stderr"), fn.Name() == "println", args, v)
			return nil
		}
	}
	refuse(b.pos, "the built-in %s is not supported here", fn.Name())
	return nil
}

// printBuiltin writes as the runtime does.
func printBuiltin(w io.Writer, line bool, args []place, values []reflect.Value) {
	var b strings.Builder
	for i, v := range values {
		if line && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(printed(args[i], v))
	}
	if line {
		b.WriteByte('\n')
	}
	io.WriteString(w, b.String())
}

func printed(pl place, v reflect.Value) string {
	k := pl.typ.Kind()
	switch {
	case pl.isInterface():
		x := interfaceOf(v)
		e := (*eface)(pointer(&x))
		return fmt.Sprintf("(%#x,%#x)", e.typ, e.word)
	case pl.class == ptr:
		return fmt.Sprintf("%#x", uintptr(word(v)))
	case k == reflect.Slice:
		return fmt.Sprintf("[%d/%d]%#x", v.Len(), v.Cap(), uintptr(v.UnsafePointer()))
	}
	return basicText(v)
}

// basicText is a value of a basic type as the runtime prints it.
func basicText(v reflect.Value) string {
	switch k := v.Kind(); {
	case isFloat(k):
		return shortFloat(v.Float(), v.Type().Bits())
	case k == reflect.Complex64 || k == reflect.Complex128:
		bits := v.Type().Bits() / 2
		im := shortFloat(imag(v.Complex()), bits)
		if im[0] != '-' && im[0] != '+' {
			im = "+" + im
		}
		return "(" + shortFloat(real(v.Complex()), bits) + im + "i)"
	}
	return fmt.Sprintf("%v", basicValue(v))
}

func shortFloat(f float64, bits int) string {
	switch {
	case math.IsInf(f, 1):
		return "+Inf"
	case math.IsInf(f, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

// basicValue drops the methods of a named type.
func basicValue(v reflect.Value) any {
	switch k := v.Kind(); {
	case isSigned(k):
		return v.Int()
	case isUnsigned(k):
		return v.Uint()
	case k == reflect.Bool:
		return v.Bool()
	}
	return v.String()
}

package eval

import (
	"go/token"
	"math"
	"reflect"

	"golang.org/x/tools/go/ssa"
)

func (b *builder) binary(in *ssa.BinOp) {
	x, dst := b.val(in.X), b.places[in]
	if isImmediate(in, 1) {
		c := b.immediate(in)
		if comparisons[in.Op] {
			b.emit(test(b.conditionTo(in.Op, x, c), dst.i))
		} else {
			b.emit(arithmeticOf(dst.typ.Kind()).immediate(in.Op, x.i, c, dst.i))
		}
		return
	}
	if b.isFolded(in.Y) {
		b.emit(b.withElement(in, x.i, dst))
		return
	}
	y := b.val(in.Y)
	if comparisons[in.Op] {
		b.compare(in.Op, x, y, dst)
		return
	}
	if in.Op == token.SHL || in.Op == token.SHR {
		b.emit(shift(in.Op, x, y, dst.i))
		return
	}
	switch k := dst.typ.Kind(); {
	case k == reflect.String:
		b.emit(func(fr *frame) {
			fr.s[dst.i] = fr.s[x.i] + fr.s[y.i]
		})
	case k == reflect.Complex64 || k == reflect.Complex128:
		op := complexOp(in.Op)
		b.emit(func(fr *frame) {
			v := fresh(dst.typ)
			v.SetComplex(op(fr.v[x.i].Complex(), fr.v[y.i].Complex()))
			fr.v[dst.i] = v
		})
	default:
		b.emit(arithmeticOf(k).places(in.Op, x.i, y.i, dst.i))
	}
}

var stringType = reflect.TypeFor[string]()

func stringValue(t reflect.Type, s string) reflect.Value {
	if t == stringType {
		return reflect.ValueOf(s)
	}
	return held(t, pointer(&s))
}

// complexOp works on complex128; complex64 operands are exact in it and the
// result is rounded once, as compiled code does for + and -.
func complexOp(op token.Token) func(x, y complex128) complex128 {
	switch op {
	case token.ADD:
		return func(x, y complex128) complex128 { return x + y }
	case token.SUB:
		return func(x, y complex128) complex128 { return x - y }
	case token.MUL:
		return func(x, y complex128) complex128 { return x * y }
	}
	return func(x, y complex128) complex128 { return x / y }
}

// arithmetic are the operations on numbers of a kind: of two places, and of a place and
// the bits of a constant.
type arithmetic struct {
	places    func(op token.Token, x, y, d int) instr
	immediate func(op token.Token, x int, c uint64, d int) instr
}

func arithmeticOf(k reflect.Kind) arithmetic {
	switch k {
	case reflect.Int:
		return arithmetic{integers[int], integersTo[int]}
	case reflect.Int8:
		return arithmetic{integers[int8], integersTo[int8]}
	case reflect.Int16:
		return arithmetic{integers[int16], integersTo[int16]}
	case reflect.Int32:
		return arithmetic{integers[int32], integersTo[int32]}
	case reflect.Int64:
		return arithmetic{integers[int64], integersTo[int64]}
	case reflect.Uint8:
		return arithmetic{integers[uint8], integersTo[uint8]}
	case reflect.Uint16:
		return arithmetic{integers[uint16], integersTo[uint16]}
	case reflect.Uint32:
		return arithmetic{integers[uint32], integersTo[uint32]}
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return arithmetic{integers[uint64], integersTo[uint64]}
	case reflect.Float32:
		return arithmetic{floats[float32], floatsTo[float32]}
	}
	return arithmetic{floats[float64], floatsTo[float64]}
}

func integers[T integer](op token.Token, x, y, d int) instr {
	switch op {
	case token.ADD:
		return func(fr *frame) { fr.n[d] = uint64(T(fr.n[x]) + T(fr.n[y])) }
	case token.SUB:
		return func(fr *frame) { fr.n[d] = uint64(T(fr.n[x]) - T(fr.n[y])) }
	case token.MUL:
		return func(fr *frame) { fr.n[d] = uint64(T(fr.n[x]) * T(fr.n[y])) }
	case token.QUO:
		return func(fr *frame) { fr.n[d] = uint64(T(fr.n[x]) / T(fr.n[y])) }
	case token.REM:
		return func(fr *frame) { fr.n[d] = uint64(T(fr.n[x]) % T(fr.n[y])) }
	case token.AND:
		return func(fr *frame) { fr.n[d] = fr.n[x] & fr.n[y] }
	case token.OR:
		return func(fr *frame) { fr.n[d] = fr.n[x] | fr.n[y] }
	case token.XOR:
		return func(fr *frame) { fr.n[d] = fr.n[x] ^ fr.n[y] }
	}
	return func(fr *frame) { fr.n[d] = fr.n[x] &^ fr.n[y] }
}

type float interface{ ~float32 | ~float64 }

func fromBits[T float](n uint64) T { return T(math.Float64frombits(n)) }
func toBits[T float](f T) uint64   { return math.Float64bits(float64(f)) }

func floats[T float](op token.Token, x, y, d int) instr {
	switch op {
	case token.ADD:
		return func(fr *frame) { fr.n[d] = toBits(fromBits[T](fr.n[x]) + fromBits[T](fr.n[y])) }
	case token.SUB:
		return func(fr *frame) { fr.n[d] = toBits(fromBits[T](fr.n[x]) - fromBits[T](fr.n[y])) }
	case token.MUL:
		return func(fr *frame) { fr.n[d] = toBits(fromBits[T](fr.n[x]) * fromBits[T](fr.n[y])) }
	}
	return func(fr *frame) { fr.n[d] = toBits(fromBits[T](fr.n[x]) / fromBits[T](fr.n[y])) }
}

// shift returns x << y or x >> y; a negative count panics as in Go.
func shift(op token.Token, x, y place, d int) instr {
	k := x.typ.Kind()
	signedCount := isSigned(y.typ.Kind())
	count := func(n uint64) uint64 {
		if signedCount && int64(n) < 0 {
			_ = 1 << int64(n)
		}
		return n
	}
	i, j := x.i, y.i
	switch {
	case op == token.SHL:
		narrow := truncate(k)
		return func(fr *frame) { fr.n[d] = narrow(fr.n[i] << count(fr.n[j])) }
	case isSigned(k):
		return func(fr *frame) { fr.n[d] = uint64(int64(fr.n[i]) >> count(fr.n[j])) }
	}
	return func(fr *frame) { fr.n[d] = fr.n[i] >> count(fr.n[j]) }
}

// truncate returns how 64 bits become an integer of kind k.
func truncate(k reflect.Kind) func(uint64) uint64 {
	switch k {
	case reflect.Int8:
		return func(n uint64) uint64 { return uint64(int8(n)) }
	case reflect.Int16:
		return func(n uint64) uint64 { return uint64(int16(n)) }
	case reflect.Int32:
		return func(n uint64) uint64 { return uint64(int32(n)) }
	case reflect.Uint8:
		return func(n uint64) uint64 { return uint64(uint8(n)) }
	case reflect.Uint16:
		return func(n uint64) uint64 { return uint64(uint16(n)) }
	case reflect.Uint32:
		return func(n uint64) uint64 { return uint64(uint32(n)) }
	}
	return func(n uint64) uint64 { return n }
}

func (b *builder) unary(in *ssa.UnOp) {
	switch in.Op {
	case token.MUL:
		b.load(in)
		return
	case token.ARROW:
		b.receive(in)
		return
	}
	x, dst := b.val(in.X), b.places[in]
	i, d := x.i, dst.i
	switch k := dst.typ.Kind(); {
	case in.Op == token.NOT:
		b.emit(func(fr *frame) { fr.n[d] = fr.n[i] ^ 1 })
	case in.Op == token.XOR:
		narrow := truncate(k)
		b.emit(func(fr *frame) { fr.n[d] = narrow(^fr.n[i]) })
	case isFloat(k):
		b.emit(func(fr *frame) { fr.n[d] = math.Float64bits(-math.Float64frombits(fr.n[i])) })
	case dst.class == num:
		narrow := truncate(k)
		b.emit(func(fr *frame) { fr.n[d] = narrow(-fr.n[i]) })
	default:
		b.emit(func(fr *frame) {
			v := fresh(dst.typ)
			v.SetComplex(-fr.v[i].Complex())
			fr.v[d] = v
		})
	}
}

// compare translates a comparison; the result is a boolean.
func (b *builder) compare(op token.Token, x, y, dst place) {
	i, j, d := x.i, y.i, dst.i
	k := x.typ.Kind()
	switch {
	case x.class == num && isFloat(k):
		b.emit(ordered(op, i, j, d, math.Float64frombits))
	case x.class == num && isUnsigned(k):
		b.emit(ordered(op, i, j, d, func(n uint64) uint64 { return n }))
	case x.class == num:
		b.emit(signed(op, i, j, d))
	case k == reflect.String:
		b.emit(orderedStrings(op, i, j, d))
	case x.class == ptr:
		want := op == token.EQL
		b.emit(func(fr *frame) { fr.n[d] = truth((fr.p[i] == fr.p[j]) == want) })
	case k == reflect.Slice: // with nil
		want := op == token.EQL
		b.emit(func(fr *frame) { fr.n[d] = truth((fr.l[i].data == nil && fr.l[j].data == nil) == want) })
	case x.isInterface():
		want := op == token.EQL
		b.emit(func(fr *frame) { fr.n[d] = truth(equal(fr.v[i], fr.v[j]) == want) })
	default: // one of the two types may be declared and the other not
		want, t := op == token.EQL, x.typ
		b.emit(func(fr *frame) { fr.n[d] = truth(equal(fr.v[i], static(t, fr.v[j])) == want) })
	}
}

func signed(op token.Token, i, j, d int) instr {
	switch op {
	case token.EQL:
		return func(fr *frame) { fr.n[d] = truth(fr.n[i] == fr.n[j]) }
	case token.NEQ:
		return func(fr *frame) { fr.n[d] = truth(fr.n[i] != fr.n[j]) }
	case token.LSS:
		return func(fr *frame) { fr.n[d] = truth(int64(fr.n[i]) < int64(fr.n[j])) }
	case token.LEQ:
		return func(fr *frame) { fr.n[d] = truth(int64(fr.n[i]) <= int64(fr.n[j])) }
	case token.GTR:
		return func(fr *frame) { fr.n[d] = truth(int64(fr.n[i]) > int64(fr.n[j])) }
	}
	return func(fr *frame) { fr.n[d] = truth(int64(fr.n[i]) >= int64(fr.n[j])) }
}

func ordered[T uint64 | float64](op token.Token, i, j, d int, of func(uint64) T) instr {
	test := relation[T](op)
	return func(fr *frame) { fr.n[d] = truth(test(of(fr.n[i]), of(fr.n[j]))) }
}

func orderedStrings(op token.Token, i, j, d int) instr {
	switch op {
	case token.EQL:
		return func(fr *frame) { fr.n[d] = truth(fr.s[i] == fr.s[j]) }
	case token.NEQ:
		return func(fr *frame) { fr.n[d] = truth(fr.s[i] != fr.s[j]) }
	}
	test := relation[string](op)
	return func(fr *frame) { fr.n[d] = truth(test(fr.s[i], fr.s[j])) }
}

func relation[T uint64 | float64 | string](op token.Token) func(x, y T) bool {
	switch op {
	case token.EQL:
		return func(x, y T) bool { return x == y }
	case token.NEQ:
		return func(x, y T) bool { return x != y }
	case token.LSS:
		return func(x, y T) bool { return x < y }
	case token.LEQ:
		return func(x, y T) bool { return x <= y }
	case token.GTR:
		return func(x, y T) bool { return x > y }
	}
	return func(x, y T) bool { return x >= y }
}

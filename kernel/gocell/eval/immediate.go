package eval

import (
	"go/token"
	"go/types"
	"math"
	"reflect"

	"golang.org/x/tools/go/ssa"
)

// isImmediate reports whether operand i is a constant that its instruction takes over.
func isImmediate(in ssa.Instruction, i int) bool {
	op, ok := in.(*ssa.BinOp)
	if !ok || i != 1 || op.Op == token.SHL || op.Op == token.SHR {
		return false
	}
	c, ok := op.Y.(*ssa.Const)
	if _, both := op.X.(*ssa.Const); !ok || both || c.Value == nil {
		return false
	}
	k, known := kindOf(op.X)
	return known && (isFloat(k) || op.Op != token.QUO && op.Op != token.REM || c.Uint64() != 0)
}

// isStoredNumber reports whether operand i is a constant that is stored as it is.
func (b *builder) isStoredNumber(in ssa.Instruction, i int) bool {
	store, ok := in.(*ssa.Store)
	if !ok || i != 1 {
		return false
	}
	c, ok := store.Val.(*ssa.Const)
	return ok && c.Value != nil && classOf(b.typ(c.Type(), b.pos)) == num
}

// storerOf returns how what a store stores is written to memory of a type.
func (b *builder) storerOf(in *ssa.Store, t reflect.Type) func(fr *frame, p pointer) {
	if !b.isStoredNumber(in, 1) {
		return storer(b.val(in.Val), t)
	}
	c, write := number(b.constValue(in.Val.(*ssa.Const), t)), storeNumber(t.Kind())
	switch t.Size() {
	case 8:
		return func(_ *frame, p pointer) { *(*uint64)(p) = c }
	case 1:
		return func(_ *frame, p pointer) { *(*uint8)(p) = uint8(c) }
	}
	return func(_ *frame, p pointer) { write(p, c) }
}

// kindOf is the kind of a number; false for other values.
func kindOf(v ssa.Value) (reflect.Kind, bool) {
	basic, ok := v.Type().Underlying().(*types.Basic)
	if !ok {
		return 0, false
	}
	k, ok := numberKinds[basic.Kind()]
	return k, ok
}

var numberKinds = map[types.BasicKind]reflect.Kind{
	types.Int: reflect.Int, types.Int8: reflect.Int8, types.Int16: reflect.Int16, types.Int32: reflect.Int32, types.Int64: reflect.Int64,
	types.Uint: reflect.Uint, types.Uint8: reflect.Uint8, types.Uint16: reflect.Uint16, types.Uint32: reflect.Uint32, types.Uint64: reflect.Uint64,
	types.Uintptr: reflect.Uintptr, types.Float32: reflect.Float32, types.Float64: reflect.Float64,
}

// immediate is the bits of a constant operand.
func (b *builder) immediate(in *ssa.BinOp) uint64 {
	return number(b.constValue(in.Y.(*ssa.Const), b.typ(in.Y.Type(), b.pos)))
}

// condition is a comparison of numbers.
type condition func(*frame) bool

// conditionTo compares a number with a constant.
func (b *builder) conditionTo(op token.Token, x place, c uint64) condition {
	i := x.i
	switch k := x.typ.Kind(); {
	case isFloat(k):
		f, test := math.Float64frombits(c), relation[float64](op)
		return func(fr *frame) bool { return test(math.Float64frombits(fr.n[i]), f) }
	case isUnsigned(k):
		test := relation[uint64](op)
		return func(fr *frame) bool { return test(fr.n[i], c) }
	}
	s := int64(c)
	switch op {
	case token.EQL:
		return func(fr *frame) bool { return int64(fr.n[i]) == s }
	case token.NEQ:
		return func(fr *frame) bool { return int64(fr.n[i]) != s }
	case token.LSS:
		return func(fr *frame) bool { return int64(fr.n[i]) < s }
	case token.LEQ:
		return func(fr *frame) bool { return int64(fr.n[i]) <= s }
	case token.GTR:
		return func(fr *frame) bool { return int64(fr.n[i]) > s }
	}
	return func(fr *frame) bool { return int64(fr.n[i]) >= s }
}

// test stores the outcome of a comparison.
func test(c condition, d int) instr { return func(fr *frame) { fr.n[d] = truth(c(fr)) } }

func integersTo[T integer](op token.Token, x int, bits uint64, d int) instr {
	c := T(bits)
	switch op {
	case token.ADD:
		return func(fr *frame) { fr.n[d] = uint64(T(fr.n[x]) + c) }
	case token.SUB:
		return func(fr *frame) { fr.n[d] = uint64(T(fr.n[x]) - c) }
	case token.MUL:
		return func(fr *frame) { fr.n[d] = uint64(T(fr.n[x]) * c) }
	case token.QUO:
		return func(fr *frame) { fr.n[d] = uint64(T(fr.n[x]) / c) }
	case token.REM:
		return func(fr *frame) { fr.n[d] = uint64(T(fr.n[x]) % c) }
	case token.AND:
		return func(fr *frame) { fr.n[d] = fr.n[x] & bits }
	case token.OR:
		return func(fr *frame) { fr.n[d] = fr.n[x] | bits }
	case token.XOR:
		return func(fr *frame) { fr.n[d] = fr.n[x] ^ bits }
	}
	return func(fr *frame) { fr.n[d] = fr.n[x] &^ bits }
}

func floatsTo[T float](op token.Token, x int, bits uint64, d int) instr {
	c := fromBits[T](bits)
	switch op {
	case token.ADD:
		return func(fr *frame) { fr.n[d] = toBits(fromBits[T](fr.n[x]) + c) }
	case token.SUB:
		return func(fr *frame) { fr.n[d] = toBits(fromBits[T](fr.n[x]) - c) }
	case token.MUL:
		return func(fr *frame) { fr.n[d] = toBits(fromBits[T](fr.n[x]) * c) }
	}
	return func(fr *frame) { fr.n[d] = toBits(fromBits[T](fr.n[x]) / c) }
}

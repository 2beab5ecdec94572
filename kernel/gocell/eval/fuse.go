package eval

import (
	"go/token"
	"go/types"
	"math"
	"reflect"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// A closure costs more than an addition. What loops consist of is therefore
// fused: a comparison with the branch it decides, a constant with the operation
// it is an operand of, the load of a slice's element with the sum it is added
// to, and a jump to the test of a loop with the test.

// isImmediate reports a constant operand that its instruction takes over.
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

// isDecision reports a comparison of integers that only decides the branch at
// the end of its block, which then does both.
func isDecision(in *ssa.BinOp) bool {
	if !comparisons[in.Op] {
		return false
	}
	k, number := kindOf(in.X)
	if !number || isFloat(k) || isUnsigned(k) && in.Op != token.EQL && in.Op != token.NEQ {
		return false
	}
	refs := realUses(in)
	if len(refs) != 1 || !unnamed(in) {
		return false
	}
	branch, ok := refs[0].(*ssa.If)
	return ok && branch.Block() == in.Block()
}

// branch returns what chooses between two edges.
func (b *builder) branch(cond ssa.Value, yes, no edge) func(*frame) int {
	if in, ok := cond.(*ssa.BinOp); ok && b.folded[in] {
		if yes.isPlain() && no.isPlain() {
			return b.decide(in, yes.target, no.target, false)
		}
		pick, y, n := b.decide(in, 1, 0, false), yes.follow(), no.follow()
		return func(fr *frame) int {
			if pick(fr) == 1 {
				return y(fr)
			}
			return n(fr)
		}
	}
	i, y, n := b.val(cond).i, yes.follow(), no.follow()
	return func(fr *frame) int {
		if fr.n[i] != 0 {
			return y(fr)
		}
		return n(fr)
	}
}

// decide compares two integers and returns one of two numbers; poll says that
// it stands at the end of a loop.
func (b *builder) decide(in *ssa.BinOp, yes, no int, poll bool) func(*frame) int {
	i, j, c, op := b.val(in.X).i, 0, int64(0), in.Op
	constant := isImmediate(in, 1)
	if constant {
		c = int64(b.immediate(in))
	} else {
		j = b.val(in.Y).i
	}
	// Four comparisons do for six, with the outcomes exchanged.
	switch op {
	case token.NEQ:
		op, yes, no = token.EQL, no, yes
	case token.GEQ:
		op, yes, no = token.LSS, no, yes
	}
	switch {
	case op == token.EQL && constant:
		return decision(poll, yes, no, func(fr *frame) bool { return int64(fr.n[i]) == c })
	case op == token.EQL:
		return decision(poll, yes, no, func(fr *frame) bool { return fr.n[i] == fr.n[j] })
	case op == token.LSS && constant:
		return func(fr *frame) int {
			if poll && fr.th.run.stop.Load() {
				fr.th.poll()
			}
			if int64(fr.n[i]) < c {
				return yes
			}
			return no
		}
	case op == token.LSS:
		return func(fr *frame) int {
			if poll && fr.th.run.stop.Load() {
				fr.th.poll()
			}
			if int64(fr.n[i]) < int64(fr.n[j]) {
				return yes
			}
			return no
		}
	case constant:
		return decision(poll, yes, no, b.conditionTo(op, b.val(in.X), uint64(c)))
	case op == token.LEQ:
		return decision(poll, yes, no, func(fr *frame) bool { return int64(fr.n[i]) <= int64(fr.n[j]) })
	}
	return decision(poll, yes, no, func(fr *frame) bool { return int64(fr.n[i]) > int64(fr.n[j]) })
}

func decision(poll bool, yes, no int, c condition) func(*frame) int {
	return func(fr *frame) int {
		if poll && fr.th.run.stop.Load() {
			fr.th.poll()
		}
		if c(fr) {
			return yes
		}
		return no
	}
}

// rotate returns what jumps back to the head of a loop, if that does nothing
// but count and compare: it does the head's work as well. It is nil otherwise.
func (b *builder) rotate(head *ssa.BasicBlock, e edge) func(*frame) int {
	if !e.back || len(e.moves) > 0 {
		return nil
	}
	var count *ssa.BinOp
	for _, in := range head.Instrs {
		switch in := in.(type) {
		case *ssa.Phi, *ssa.DebugRef:
		case *ssa.BinOp:
			if b.folded[in] {
				continue
			}
			if count != nil || in.Op != token.ADD || !isImmediate(in, 1) {
				return nil
			}
			if k, _ := kindOf(in.X); k != reflect.Int {
				return nil
			}
			count = in
		case *ssa.If:
			cond, ok := in.Cond.(*ssa.BinOp)
			yes, no := b.edge(head, 0), b.edge(head, 1)
			if !ok || !b.folded[cond] || !yes.isPlain() || !no.isPlain() {
				return nil
			}
			if count == nil {
				return b.decide(cond, yes.target, no.target, true)
			}
			return b.countAndDecide(count, cond, yes.target, no.target)
		default:
			return nil
		}
	}
	return nil
}

func (b *builder) countAndDecide(count, cond *ssa.BinOp, yes, no int) func(*frame) int {
	x, d, by := b.val(count.X).i, b.places[count].i, b.immediate(count)
	if cond.Op == token.LSS && cond.X == count && !isImmediate(cond, 1) && x == d {
		j := b.val(cond.Y).i
		return func(fr *frame) int {
			if fr.th.run.stop.Load() {
				fr.th.poll()
			}
			i := fr.n[x] + by
			fr.n[x] = i
			if int64(i) < int64(fr.n[j]) {
				return yes
			}
			return no
		}
	}
	decide := b.decide(cond, yes, no, true)
	return func(fr *frame) int {
		fr.n[d] = fr.n[x] + by
		return decide(fr)
	}
}

// isAddend reports the load of a wide number from a slice that only the
// instruction behind it uses, as its right operand.
func (b *builder) isAddend(load *ssa.UnOp, at int, blk *ssa.BasicBlock) bool {
	addr, ok := load.X.(*ssa.IndexAddr)
	if !ok || !b.folded[addr] || b.isFolded(addr.X) || b.typ(addr.X.Type(), b.pos).Kind() != reflect.Slice {
		return false
	}
	if k, ok := kindOf(load); !ok || k != reflect.Float64 && k != reflect.Int {
		return false
	}
	if refs := realUses(load); len(refs) != 1 || !unnamed(load) {
		return false
	}
	for _, in := range blk.Instrs[at+1:] {
		if _, debug := in.(*ssa.DebugRef); debug {
			continue
		}
		op, ok := in.(*ssa.BinOp)
		return ok && op.Y == load && op.X != load && (op.Op == token.ADD || op.Op == token.SUB || op.Op == token.MUL)
	}
	return false
}

// withElement translates an operation whose right operand is an element of a
// slice.
func (b *builder) withElement(in *ssa.BinOp, x int, dst place) instr {
	addr := in.Y.(*ssa.UnOp).X.(*ssa.IndexAddr)
	slice, index, d := b.val(addr.X).i, b.val(addr.Index).i, dst.i
	if dst.typ.Kind() == reflect.Float64 {
		switch in.Op {
		case token.ADD:
			return func(fr *frame) {
				fr.n[d] = math.Float64bits(math.Float64frombits(fr.n[x]) + *(*float64)(wideElement(fr, slice, index)))
			}
		case token.SUB:
			return func(fr *frame) {
				fr.n[d] = math.Float64bits(math.Float64frombits(fr.n[x]) - *(*float64)(wideElement(fr, slice, index)))
			}
		}
		return func(fr *frame) {
			fr.n[d] = math.Float64bits(math.Float64frombits(fr.n[x]) * *(*float64)(wideElement(fr, slice, index)))
		}
	}
	switch in.Op {
	case token.ADD:
		return func(fr *frame) { fr.n[d] = fr.n[x] + *(*uint64)(wideElement(fr, slice, index)) }
	case token.SUB:
		return func(fr *frame) { fr.n[d] = fr.n[x] - *(*uint64)(wideElement(fr, slice, index)) }
	}
	return func(fr *frame) { fr.n[d] = fr.n[x] * *(*uint64)(wideElement(fr, slice, index)) }
}

// wideElement is the address of an element of eight bytes.
func wideElement(fr *frame, slice, index int) pointer {
	h, i := headerOf(&fr.v[slice]), fr.n[index]
	if i >= uint64(h.len) {
		checkIndex(i, h.len)
	}
	return unsafe.Add(h.data, i*8)
}

// arithmeticTo returns the operations of a kind of number with a constant.
func arithmeticTo(k reflect.Kind) func(op token.Token, x int, c uint64, d int) instr {
	switch k {
	case reflect.Int:
		return integersTo[int]
	case reflect.Int8:
		return integersTo[int8]
	case reflect.Int16:
		return integersTo[int16]
	case reflect.Int32:
		return integersTo[int32]
	case reflect.Int64:
		return integersTo[int64]
	case reflect.Uint8:
		return integersTo[uint8]
	case reflect.Uint16:
		return integersTo[uint16]
	case reflect.Uint32:
		return integersTo[uint32]
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return integersTo[uint64]
	case reflect.Float32:
		return floatsTo[float32]
	}
	return floatsTo[float64]
}

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

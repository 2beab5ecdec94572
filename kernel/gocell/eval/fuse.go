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

// isArgument reports the sum of a number and a constant that is the one argument
// of a call, as in a recursion; see entry.
func (b *builder) isArgument(in *ssa.BinOp) bool {
	if in.Op != token.ADD && in.Op != token.SUB || !isImmediate(in, 1) || !unnamed(in) {
		return false
	}
	if k, _ := kindOf(in); k != reflect.Int {
		return false
	}
	refs := realUses(in)
	if len(refs) != 1 || refs[0].Block() != in.Block() {
		return false
	}
	call, ok := refs[0].(*ssa.Call)
	if !ok || len(call.Call.Args) != 1 {
		return false
	}
	callee := call.Call.StaticCallee()
	_, number := kindOf(call)
	return callee != nil && number && (b.codeOf(callee) != nil || len(callee.Blocks) > 0)
}

// branch returns what chooses between two edges.
func (b *builder) branch(cond ssa.Value, yes, no edge) func(*frame) int {
	if in, ok := cond.(*ssa.BinOp); ok && b.folded[in] {
		if yes.isPlain() && no.isPlain() {
			plain := b.decide(in, yes.target, no.target)
			if results := b.returned(in.Block().Succs[0]); results != nil {
				b.block.walk = plain
				return b.decideReturn(in, no.target, results)
			}
			return plain
		}
		pick, y, n := b.decide(in, 1, 0), yes.follow(), no.follow()
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

// returned is the one number that a block returns that does nothing else.
func (b *builder) returned(blk *ssa.BasicBlock) []place {
	for _, in := range blk.Instrs {
		switch in := in.(type) {
		case *ssa.DebugRef:
		case *ssa.Return:
			if results := b.vals(in.Results); len(results) == 1 && results[0].class == num {
				return results
			}
			return nil
		default:
			return nil
		}
	}
	return nil
}

// decideReturn returns at once when the comparison holds.
func (b *builder) decideReturn(in *ssa.BinOp, no int, results []place) func(*frame) int {
	i := results[0].i
	if in.Op == token.LSS && isImmediate(in, 1) {
		x, c := b.val(in.X).i, int64(b.immediate(in))
		return func(fr *frame) int {
			if int64(fr.n[x]) >= c {
				return no
			}
			fr.result = fr.n[i]
			return ended
		}
	}
	pick := b.decide(in, ended, no)
	return func(fr *frame) int {
		next := pick(fr)
		if next == ended {
			fr.result = fr.n[i]
		}
		return next
	}
}

// decide compares two integers and returns one of two numbers.
func (b *builder) decide(in *ssa.BinOp, yes, no int) func(*frame) int {
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
		return decision(yes, no, func(fr *frame) bool { return int64(fr.n[i]) == c })
	case op == token.EQL:
		return decision(yes, no, func(fr *frame) bool { return fr.n[i] == fr.n[j] })
	case op == token.LSS && constant:
		return func(fr *frame) int {
			if int64(fr.n[i]) < c {
				return yes
			}
			return no
		}
	case op == token.LSS:
		return func(fr *frame) int {
			if int64(fr.n[i]) < int64(fr.n[j]) {
				return yes
			}
			return no
		}
	case constant:
		return decision(yes, no, b.conditionTo(op, b.val(in.X), uint64(c)))
	case op == token.LEQ:
		return decision(yes, no, func(fr *frame) bool { return int64(fr.n[i]) <= int64(fr.n[j]) })
	}
	return decision(yes, no, func(fr *frame) bool { return int64(fr.n[i]) > int64(fr.n[j]) })
}

func decision(yes, no int, c condition) func(*frame) int {
	return func(fr *frame) int {
		if c(fr) {
			return yes
		}
		return no
	}
}

// A loopTest is the head of a loop that does nothing but count, if that, and
// compare.
type loopTest struct {
	count   *ssa.BinOp // nil when the body counts
	cond    *ssa.BinOp
	yes, no int
}

// test finds the test of a loop that e jumps back to.
func (b *builder) test(head *ssa.BasicBlock, e edge) (t loopTest, ok bool) {
	if !e.back || len(e.moves) > 0 {
		return t, false
	}
	for _, in := range head.Instrs {
		switch in := in.(type) {
		case *ssa.Phi, *ssa.DebugRef:
		case *ssa.BinOp:
			if b.folded[in] {
				continue
			}
			if t.count != nil || !b.isCount(in) {
				return t, false
			}
			t.count = in
		case *ssa.If:
			yes, no := b.edge(head, 0), b.edge(head, 1)
			t.cond, ok = in.Cond.(*ssa.BinOp)
			t.yes, t.no = yes.target, no.target
			return t, ok && b.folded[t.cond] && yes.isPlain() && no.isPlain()
		default:
			return t, false
		}
	}
	return t, false
}

// isCount reports the sum of an int and a constant that lives in the place of
// the int.
func (b *builder) isCount(in *ssa.BinOp) bool {
	k, _ := kindOf(in)
	return in.Op == token.ADD && isImmediate(in, 1) && k == reflect.Int && b.val(in.X).i == b.places[in].i
}

// jump ends a block. Going back to the test of a loop does the test as well, and
// a loop of one block is not left between its rounds.
func (b *builder) jump(from *ssa.BasicBlock) {
	e := b.edge(from, 0)
	blk := b.block
	t, ok := b.test(from.Succs[0], e)
	if !ok {
		blk.next = e.follow()
		return
	}
	walk := e.follow()
	if last := lastOf(from); t.count == nil && last != nil && !b.folded[last] && b.isCount(last) {
		n := len(blk.code) - 1
		t.count = last
		count := blk.code[n]
		blk.code, blk.offsets = blk.code[:n], blk.offsets[:n]
		blk.walk = func(fr *frame) int {
			count(fr)
			return walk(fr)
		}
	} else {
		blk.walk = walk
	}
	if t.yes == from.Index {
		blk.next = b.rounds(t, blk.code, blk.walk)
	} else {
		again, yes, no, walk := b.again(t), t.yes, t.no, blk.walk
		blk.next = func(fr *frame) int {
			if fr.th.run.attention.Load() {
				return walk(fr)
			}
			if again(fr) {
				return yes
			}
			return no
		}
	}
}

// lastOf returns the operation that a block does last.
func lastOf(blk *ssa.BasicBlock) *ssa.BinOp {
	for i := len(blk.Instrs) - 2; i >= 0; i-- {
		if _, debug := blk.Instrs[i].(*ssa.DebugRef); !debug {
			op, _ := blk.Instrs[i].(*ssa.BinOp)
			return op
		}
	}
	return nil
}

// countsUp recognises i += by; i < n.
func (b *builder) countsUp(t loopTest) (i int, by uint64, n int, ok bool) {
	if t.count == nil || t.cond.Op != token.LSS || isImmediate(t.cond, 1) {
		return 0, 0, 0, false
	}
	i = b.places[t.count].i
	return i, b.immediate(t.count), b.val(t.cond.Y).i, b.val(t.cond.X).i == i
}

// again returns what decides on another round of a loop.
func (b *builder) again(t loopTest) condition {
	if i, by, n, ok := b.countsUp(t); ok {
		return func(fr *frame) bool {
			fr.n[i] += by
			return int64(fr.n[i]) < int64(fr.n[n])
		}
	}
	decide := b.decide(t.cond, 1, 0)
	if t.count == nil {
		return func(fr *frame) bool { return decide(fr) == 1 }
	}
	i, by := b.places[t.count].i, b.immediate(t.count)
	return func(fr *frame) bool {
		fr.n[i] += by
		return decide(fr) == 1
	}
}

// rounds returns what runs the other rounds of a loop after the first.
func (b *builder) rounds(t loopTest, code []instr, walk func(*frame) int) func(*frame) int {
	no := t.no
	if i, by, n, ok := b.countsUp(t); ok && len(code) == 1 {
		body := code[0]
		return func(fr *frame) int {
			for {
				if fr.th.run.attention.Load() {
					return walk(fr)
				}
				fr.n[i] += by
				if int64(fr.n[i]) >= int64(fr.n[n]) {
					return no
				}
				fr.ip = 0
				body(fr)
			}
		}
	}
	again := b.again(t)
	return func(fr *frame) int {
		for {
			if fr.th.run.attention.Load() {
				return walk(fr)
			}
			if !again(fr) {
				return no
			}
			for i, in := range code {
				fr.ip = i
				in(fr)
			}
		}
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

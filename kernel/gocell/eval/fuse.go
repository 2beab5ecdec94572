package eval

import (
	"go/token"
	"reflect"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A closure costs more than an addition. What loops consist of is therefore
// fused: a comparison with the branch it decides, a constant with the operation
// it is an operand of, the load of a slice's element with the sum it is added
// to, and a jump to the test of a loop with the test.

// isDecision reports whether a comparison is of integers and only decides the branch at
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
// of a call of a function that is no closure, as in a recursion; see staticCall.
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
	callee, static := call.Call.Value.(*ssa.Function)
	_, number := kindOf(call)
	return static && number && (b.codeOf(callee) != nil || len(callee.Blocks) > 0)
}

// choice is one case of a switch over an integer.
type choice struct {
	value  uint64
	target int
}

// choices finds the blocks that do nothing but compare one number with one
// constant after the other, from the branch of a block on.
func (b *builder) choices(in *ssa.If) (list []choice, x int, otherwise edge) {
	var of ssa.Value
	for {
		test, ok := in.Cond.(*ssa.BinOp)
		if !ok || !b.folded[test] || test.Op != token.EQL || !isImmediate(test, 1) || of != nil && test.X != of {
			return list, x, otherwise
		}
		yes, no := b.edge(in.Block(), 0), b.edge(in.Block(), 1)
		if !yes.isPlain() {
			return list, x, otherwise
		}
		of, x, otherwise = test.X, b.val(test.X).i, no
		list = append(list, choice{b.immediate(test), yes.target})
		next := in.Block().Succs[1]
		if !no.isPlain() || !isOnlyTest(next) {
			return list, x, otherwise
		}
		b.chosen[next] = len(next.Preds) == 1
		in = next.Instrs[len(next.Instrs)-1].(*ssa.If)
	}
}

// isOnlyTest reports whether a block does nothing but compare.
func isOnlyTest(blk *ssa.BasicBlock) bool {
	tests := 0
	for _, in := range blk.Instrs {
		switch in.(type) {
		case *ssa.DebugRef:
		case *ssa.BinOp:
			tests++
		case *ssa.If:
			return tests == 1
		default:
			return false
		}
	}
	return false
}

// choose ends a block that begins a switch over an integer, if it does. What follows
// in the same switch alone does not begin one: of a long switch each case would look at
// all that come after it.
func (b *builder) choose(in *ssa.If) {
	if b.chosen[in.Block()] { // a block before does it
		return
	}
	list, x, otherwise := b.choices(in)
	if len(list) < 2 {
		return
	}
	rest := otherwise.follow()
	if b.block.walk == nil {
		b.block.walk = b.block.next
	}
	if len(list) > manyChoices {
		b.block.next = lookUp(list, x, rest)
		return
	}
	b.block.next = func(fr *frame) int {
		n := fr.n[x]
		for i := range list {
			if list[i].value == n {
				return list[i].target
			}
		}
		return rest(fr)
	}
}

// manyChoices are more than are compared one after the other.
const manyChoices = 32

// lookUp returns what ends a block that begins a switch of many cases, of which
// the first one counts.
func lookUp(list []choice, x int, rest func(*frame) int) func(*frame) int {
	targets := make(map[uint64]int, len(list))
	for _, c := range slices.Backward(list) {
		targets[c.value] = c.target
	}
	return func(fr *frame) int {
		if target, ok := targets[fr.n[x]]; ok {
			return target
		}
		return rest(fr)
	}
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
	if ok, extract := cond.(*ssa.Extract); extract {
		if in, next := ok.Tuple.(*ssa.Next); next && b.folded[in] {
			advance, y, n := b.advance(in), yes.follow(), no.follow()
			return func(fr *frame) int {
				if advance(fr) {
					return y(fr)
				}
				return n(fr)
			}
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

package eval

import (
	"go/token"
	"math"
	"reflect"

	"golang.org/x/tools/go/ssa"
)

// isRetreat reports whether an edge goes back to a block on the way to its own:
// every cycle has one.
func (b *builder) isRetreat(from, to *ssa.BasicBlock) bool {
	if b.order == nil {
		b.order = map[*ssa.BasicBlock]int{}
		for _, blk := range b.ssa.Blocks { // the first, and what only a recovery leads to
			b.number(blk)
		}
	}
	return b.order[to] >= b.order[from]
}

// number numbers the blocks that can be reached from one, each after those
// behind it.
func (b *builder) number(blk *ssa.BasicBlock) {
	if _, seen := b.order[blk]; seen {
		return
	}
	b.order[blk] = math.MaxInt // while it is on the way
	for _, next := range blk.Succs {
		b.number(next)
	}
	b.numbered++
	b.order[blk] = b.numbered
}

// A loopTest is the head of a loop that does nothing but count, if that, and
// compare, or go on to the next entry of a map or character of a string.
type loopTest struct {
	count *ssa.BinOp // nil when the body counts
	cond  *ssa.BinOp
	next  *ssa.Next // instead of cond
	yes   int
	no    func(*frame) int
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
		case *ssa.Next:
			if t.count != nil || !b.folded[in] {
				return t, false
			}
			t.next = in
		case *ssa.Extract: // what the Next has put into its places
			if in.Tuple != t.next {
				return t, false
			}
		case *ssa.If:
			yes, no := b.edge(head, 0), b.edge(head, 1)
			t.yes, t.no = yes.target, no.follow()
			if t.next != nil {
				return t, yes.isPlain()
			}
			t.cond, ok = in.Cond.(*ssa.BinOp)
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
	if last := lastOf(from); t.next == nil && t.count == nil && last != nil && !b.folded[last] && b.isCount(last) {
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
			return no(fr)
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
	if t.next != nil {
		return b.advance(t.next)
	}
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
					return no(fr)
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
				return no(fr)
			}
			for i, in := range code {
				fr.ip = i
				in(fr)
			}
		}
	}
}

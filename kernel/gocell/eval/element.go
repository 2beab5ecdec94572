package eval

import (
	"go/token"
	"math"
	"reflect"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

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
	h, i := &fr.l[slice], fr.n[index]
	if i >= uint64(h.len) {
		checkIndex(i, h.len)
	}
	return unsafe.Add(h.data, i*8)
}

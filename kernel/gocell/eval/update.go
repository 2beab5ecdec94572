package eval

import (
	"go/token"
	"math"
	"reflect"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// total += x, p.n++ and list[i] -= x are a load, an operation and a store of one
// address, and they are much of what loops do. The store does it all when
// nothing else uses what lies between.

// update folds such a load and operation into a store.
func (b *builder) update(store *ssa.Store, blk *ssa.BasicBlock) {
	op, ok := store.Val.(*ssa.BinOp)
	if !ok || op.Op != token.ADD && op.Op != token.SUB || b.isFolded(op.Y) {
		return
	}
	if k, _ := kindOf(op); k != reflect.Int && k != reflect.Int64 && k != reflect.Uint64 && k != reflect.Float64 {
		return
	}
	load, ok := op.X.(*ssa.UnOp)
	if !ok || load.Op != token.MUL || !isSameAddress(load.X, store.Addr) || load.Block() != blk || op.Block() != blk || b.folded[store] {
		return
	}
	if !isSoleUse(load, op) || !isSoleUse(op, store) || !unnamed(load) || !onlyStored(op, store.Addr) || !b.arePure(blk, load, store) {
		return
	}
	b.folded[load], b.folded[op], b.updates[store] = true, true, op
	if addr, ok := load.X.(ssa.Instruction); ok && load.X != store.Addr && isSoleUse(load.X, load) {
		b.folded[addr] = true
	}
}

// isSameAddress reports whether two addresses are computed alike from the same values:
// the translator computes that of a field or an element anew for the store.
func isSameAddress(x, y ssa.Value) bool {
	if x == y {
		return true
	}
	switch x := x.(type) {
	case *ssa.FieldAddr:
		y, ok := y.(*ssa.FieldAddr)
		return ok && x.Field == y.Field && isSameAddress(x.X, y.X)
	case *ssa.IndexAddr:
		y, ok := y.(*ssa.IndexAddr)
		return ok && x.X == y.X && x.Index == y.Index
	}
	return false
}

// arePure reports whether what runs between two instructions of a block changes
// nothing that a load may see.
func (b *builder) arePure(blk *ssa.BasicBlock, from, to ssa.Instruction) bool {
	i, j := b.indexOf(from), b.indexOf(to)
	for _, in := range blk.Instrs[i+1 : max(i+1, j)] {
		if !isPure(in) {
			return false
		}
	}
	return i < j
}

// emitUpdate translates the store.
func (b *builder) emitUpdate(in *ssa.Store, op *ssa.BinOp) {
	address := b.addressTo(in.Addr)
	k, _ := kindOf(op)
	isFloat := k == reflect.Float64
	if isImmediate(op, 1) {
		c := b.immediate(op)
		f := math.Float64frombits(c)
		if op.Op == token.SUB {
			c, f = -c, -f // x - f is x + -f, of zeros and NaNs too
		}
		if isFloat {
			b.emit(func(fr *frame) { *(*float64)(address(fr)) += f })
		} else {
			b.emit(func(fr *frame) { *(*uint64)(address(fr)) += c })
		}
		return
	}
	y := b.val(op.Y).i
	if op.Op == token.SUB {
		if isFloat {
			b.emit(func(fr *frame) { *(*float64)(address(fr)) -= math.Float64frombits(fr.n[y]) })
		} else {
			b.emit(func(fr *frame) { *(*uint64)(address(fr)) -= fr.n[y] })
		}
		return
	}
	i, offset, direct := b.pointerOf(in.Addr)
	switch {
	case isFloat && direct:
		b.emit(func(fr *frame) {
			p := fr.p[i]
			if p == nil {
				nilDereference()
			}
			*(*float64)(unsafe.Add(p, offset)) += math.Float64frombits(fr.n[y])
		})
	case isFloat:
		b.emit(func(fr *frame) { *(*float64)(address(fr)) += math.Float64frombits(fr.n[y]) })
	case direct:
		b.emit(func(fr *frame) {
			p := fr.p[i]
			if p == nil {
				nilDereference()
			}
			*(*uint64)(unsafe.Add(p, offset)) += fr.n[y]
		})
	default:
		b.emit(func(fr *frame) { *(*uint64)(address(fr)) += fr.n[y] })
	}
}

// pointerOf returns the place of a pointer and the offset from it that make an
// address, unless that is of an element.
func (b *builder) pointerOf(addr ssa.Value) (i int, offset uintptr, ok bool) {
	if !b.isFolded(addr) {
		return b.val(addr).i, 0, true
	}
	return b.fieldOf(addr)
}

// addressTo is how an address is found, folded or not.
func (b *builder) addressTo(addr ssa.Value) func(*frame) pointer {
	if b.isFolded(addr) {
		return b.address(addr)
	}
	i := b.val(addr).i
	return func(fr *frame) pointer {
		p := fr.p[i]
		if p == nil {
			nilDereference()
		}
		return p
	}
}

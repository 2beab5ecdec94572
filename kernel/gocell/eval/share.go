package eval

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// A phi of a loop takes its next value from the end of the loop's body. When
// nobody looks at the present value once the next one is computed, both can
// live in one place, and the loop goes round without a move.

// share finds the values that may live in the place of a phi.
func (b *builder) share() {
	for _, blk := range b.ssa.Blocks {
		for _, in := range blk.Instrs {
			phi, ok := in.(*ssa.Phi)
			if !ok {
				break
			}
			for k, next := range phi.Edges {
				if b.mayShare(phi, next, blk.Preds[k]) {
					b.shared[next] = phi
				}
			}
		}
	}
}

// mayShare reports whether next, which reaches the phi from a block, may be
// computed in the phi's place.
func (b *builder) mayShare(phi *ssa.Phi, next ssa.Value, from *ssa.BasicBlock) bool {
	head := phi.Block()
	in, ok := next.(ssa.Instruction)
	if _, isPhi := next.(*ssa.Phi); !ok || isPhi || b.shared[next] != nil || b.folded[in] || !head.Dominates(from) {
		return false
	}
	// After the next value nothing of the loop may run but the rest of the same
	// block, or, when the head of the loop computes it, anything.
	if in.Block() != head && (in.Block() != from || len(from.Succs) != 1) {
		return false
	}
	at := b.indexOf(in)
	for _, use := range *phi.Referrers() {
		if !b.usesBefore(phi, use, in.Block(), at) {
			return false
		}
	}
	return b.onlyNamed(phi, phi) && b.onlyNamed(next, phi)
}

// usesBefore reports whether an instruction does not look at a phi after the
// instruction at an index of a block has run.
func (b *builder) usesBefore(phi *ssa.Phi, use ssa.Instruction, blk *ssa.BasicBlock, at int) bool {
	if _, debug := use.(*ssa.DebugRef); debug {
		return true // see onlyNamed
	}
	if other, ok := use.(*ssa.Phi); ok {
		for k, x := range other.Edges {
			if x == phi && (blk == phi.Block() || other.Block().Preds[k] == blk) {
				return false
			}
		}
		return true
	}
	for b.folded[use] { // it runs where it was folded into
		if call := b.delayed[use]; call != nil {
			use = call
			break
		}
		refs := realUses(use.(ssa.Value))
		if len(refs) != 1 {
			return false
		}
		use = refs[0]
	}
	if use.Block() != blk {
		return blk != phi.Block()
	}
	return b.indexOf(use) <= at
}

// indexOf returns where an instruction is in its block.
func (b *builder) indexOf(in ssa.Instruction) int {
	if i, known := b.indices[in]; known {
		return i
	}
	for i, x := range in.Block().Instrs {
		b.indices[x] = i
	}
	return b.indices[in]
}

// onlyNamed reports whether no variable has the value that a debugger would see
// change when the loop goes round: none but the phi's own and, of the next
// value, those that begin anew in each round.
func (b *builder) onlyNamed(v ssa.Value, phi *ssa.Phi) bool {
	for _, use := range *v.Referrers() {
		ref, ok := use.(*ssa.DebugRef)
		if !ok || ref.Object() == nil || ref.Object().Pos() == phi.Pos() {
			continue
		}
		if v == ssa.Value(phi) || !b.isLocalTo(ref.Object(), phi.Block()) {
			return false
		}
	}
	return true
}

// isLocalTo reports whether a variable is declared in a loop.
func (b *builder) isLocalTo(obj types.Object, head *ssa.BasicBlock) bool {
	if v, ok := obj.(*types.Var); !ok || v.Kind() != types.LocalVar || b.freeVar(v.Name()) != nil {
		return false
	}
	local := true
	b.eachInstr(func(in ssa.Instruction) {
		if ref, ok := in.(*ssa.DebugRef); ok && ref.Object() == obj && !head.Dominates(ref.Block()) {
			local = false
		}
	})
	return local
}

// realUses lists the instructions that use a value when the program runs.
func realUses(v ssa.Value) []ssa.Instruction {
	var list []ssa.Instruction
	for _, use := range *v.Referrers() {
		if _, debug := use.(*ssa.DebugRef); !debug {
			list = append(list, use)
		}
	}
	return list
}

// unnamed reports whether no variable has the value, which then need not be kept.
func unnamed(v ssa.Value) bool {
	for _, use := range *v.Referrers() {
		if ref, ok := use.(*ssa.DebugRef); ok && ref.Object() != nil && !isOwnLoad(ref) {
			return false
		}
	}
	return true
}

// isOwnLoad reports the use of a variable that lies in memory: the variable is
// found there, not in what was loaded.
func isOwnLoad(ref *ssa.DebugRef) bool {
	load, ok := ref.X.(*ssa.UnOp)
	if !ok || load.Op != token.MUL {
		return false
	}
	return isVariable(load.X, ref.Object())
}

// isVariable reports the address of a variable.
func isVariable(addr ssa.Value, obj types.Object) bool {
	switch from := addr.(type) {
	case *ssa.Alloc, *ssa.Phi:
		return from.Pos() == obj.Pos()
	case *ssa.FreeVar:
		return from.Name() == obj.Name()
	case *ssa.Global:
		return from.Object() == obj
	}
	return false
}

// onlyStored reports whether no variable has a value but that which it is stored to.
func onlyStored(v ssa.Value, addr ssa.Value) bool {
	for _, use := range *v.Referrers() {
		ref, ok := use.(*ssa.DebugRef)
		if !ok || ref.Object() == nil || isVariable(addr, ref.Object()) {
			continue
		}
		if field, ok := ref.Object().(*types.Var); !ok || !field.IsField() {
			return false
		}
	}
	return true
}

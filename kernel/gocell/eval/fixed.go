package eval

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// A struct that is a parameter or the result of a call lies in a variable of its
// own as soon as one of its fields is read. When it is stored there once and only
// read from then on, the variable is where the value is: nobody changes that.

// fix finds such variables.
func (b *builder) fix() {
	for _, blk := range b.ssa.Blocks {
		for at, in := range blk.Instrs {
			if variable, ok := in.(*ssa.Alloc); ok && !variable.Heap && b.isFixed(variable, at) {
				b.fixed[variable] = true
			}
		}
	}
}

// isFixed reports that the variable which an instruction of a block makes is
// stored to once, in that block and before it is read.
func (b *builder) isFixed(variable *ssa.Alloc, at int) bool {
	switch variable.Type().Underlying().(*types.Pointer).Elem().Underlying().(type) {
	case *types.Struct, *types.Array:
	default:
		return false
	}
	var first ssa.Instruction
	uses := realUses(variable)
	for _, in := range variable.Block().Instrs[at+1:] {
		for _, use := range uses {
			if first == nil && use == in {
				first = in
			}
		}
	}
	store, ok := first.(*ssa.Store)
	if !ok || store.Addr != variable || store.Val == variable {
		return false
	}
	for _, use := range uses {
		if use != first && !isRead(variable, use) {
			return false
		}
	}
	return true
}

// isRead reports an instruction that reads from an address, or from that of a
// part, and does nothing else with it.
func isRead(addr ssa.Value, in ssa.Instruction) bool {
	switch in := in.(type) {
	case *ssa.UnOp:
		return in.Op == token.MUL
	case *ssa.FieldAddr:
		return areReads(in)
	case *ssa.IndexAddr:
		return in.X == addr && areReads(in)
	}
	return false
}

func areReads(addr ssa.Value) bool {
	for _, use := range realUses(addr) {
		if !isRead(addr, use) {
			return false
		}
	}
	return true
}

package eval

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// A struct that is a parameter or the result of a call lies in a variable of its
// own as soon as one of its fields is read. When it is stored there once and only
// read from then on, the variable is where the value is: nobody changes that.

// findWriteOnce finds such variables.
func (b *builder) findWriteOnce() {
	for _, blk := range b.ssa.Blocks {
		for _, in := range blk.Instrs {
			if variable, ok := in.(*ssa.Alloc); ok && !variable.Heap && b.isWriteOnce(variable) {
				b.writeOnce[variable] = true
			}
		}
	}
}

// isWriteOnce reports whether a variable is stored to once, in the block that makes it
// and before it is read.
func (b *builder) isWriteOnce(variable *ssa.Alloc) bool {
	switch variable.Type().Underlying().(*types.Pointer).Elem().Underlying().(type) {
	case *types.Struct, *types.Array:
	default:
		return false
	}
	var first ssa.Instruction
	uses := realUses(variable)
	for _, use := range uses {
		here := use.Block() == variable.Block() && b.indexOf(use) > b.indexOf(variable)
		if here && (first == nil || b.indexOf(use) < b.indexOf(first)) {
			first = use
		}
	}
	store, ok := first.(*ssa.Store)
	if !ok || store.Addr != variable || store.Val == variable {
		return false
	}
	if b.ssa.Recover != nil && !b.isStoredNext(variable) { // a panic may come before, and its recovery read it
		return false
	}
	for _, use := range uses {
		if use != first && !isRead(variable, use) {
			return false
		}
	}
	return true
}

// isStoredNext reports whether a variable gets its value as soon as it is made.
func (b *builder) isStoredNext(variable *ssa.Alloc) bool {
	instrs := variable.Block().Instrs
	for _, in := range instrs[b.indexOf(variable)+1:] {
		if _, debug := in.(*ssa.DebugRef); !debug {
			store, ok := in.(*ssa.Store)
			return ok && store.Addr == variable
		}
	}
	return false
}

// isFinished reports the value of a composite literal that was made in the same
// block and that nothing looks at any more: it need not be copied.
func (b *builder) isFinished(load *ssa.UnOp) bool {
	literal, ok := load.X.(*ssa.Alloc)
	if !ok || literal.Heap || literal.Comment != "complit" || literal.Block() != load.Block() {
		return false
	}
	at := b.indexOf(load)
	uses := realUses(literal)
	for len(uses) > 0 {
		use := uses[0]
		uses = uses[1:]
		if use == ssa.Instruction(load) {
			continue
		}
		if use.Block() != load.Block() || b.indexOf(use) > at {
			return false
		}
		switch use := use.(type) {
		case *ssa.FieldAddr:
			uses = append(uses, realUses(use)...)
		case *ssa.IndexAddr:
			uses = append(uses, realUses(use)...)
		case *ssa.Store: // of a field
		default:
			return false
		}
	}
	return true
}

// isRead reports whether an instruction reads from an address, or from that of a
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

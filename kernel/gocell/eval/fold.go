package eval

import (
	"go/token"
	"reflect"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// Indexing is most of what numeric code does, and SSA takes it apart: a[i][k]
// loads a row, takes an element's address and loads that. An instruction whose
// only use is the next one of such a chain is folded into it, so that no row is
// copied and no address stored. Between the two there must be nothing with an
// effect, since folding delays the first.

// fold finds the instructions of a block that others take over.
func (b *builder) fold(blk *ssa.BasicBlock) {
	for at, in := range blk.Instrs {
		switch in := in.(type) {
		case *ssa.UnOp: // a slice that is only indexed or measured
			if in.Op == token.MUL && b.typ(in.Type(), b.pos).Kind() == reflect.Slice {
				if use := soleUse(in, at, blk); isIndexOf(use, in) || isLenOf(use, in) {
					b.folded[in] = true
				}
			}
		case *ssa.IndexAddr: // an element that is only loaded or stored
			use := soleUse(in, at, blk)
			if load, ok := use.(*ssa.UnOp); ok && load.Op == token.MUL {
				b.folded[in] = true
			}
			if store, ok := use.(*ssa.Store); ok && store.Addr == in && store.Val != in {
				b.folded[in] = true
			}
		case *ssa.FieldAddr: // a field that is only loaded or stored
			if !b.isMethodField(in) {
				use := soleUse(in, at, blk)
				if load, ok := use.(*ssa.UnOp); ok && load.Op == token.MUL {
					b.folded[in] = true
				}
				if store, ok := use.(*ssa.Store); ok && store.Addr == in && store.Val != in && !isBlankField(in) {
					b.folded[in] = true
				}
			}
		case *ssa.BinOp:
			b.folded[in] = isDecision(in) || b.isArgument(in)
		case *ssa.Next:
			b.folded[in] = decidesAlone(in, at, blk)
		case *ssa.Call:
			b.appending(in)
		}
	}
	for at, in := range blk.Instrs {
		if load, ok := in.(*ssa.UnOp); ok && load.Op == token.MUL && b.isAddend(load, at, blk) {
			b.folded[load] = true
		}
	}
	for _, in := range blk.Instrs {
		if store, ok := in.(*ssa.Store); ok {
			b.update(store, blk)
		}
	}
}

func isIndexOf(use ssa.Instruction, x ssa.Value) bool {
	index, ok := use.(*ssa.IndexAddr)
	return ok && index.X == x
}

func isLenOf(use ssa.Instruction, x ssa.Value) bool {
	call, ok := use.(*ssa.Call)
	if !ok {
		return false
	}
	bi, ok := call.Call.Value.(*ssa.Builtin)
	return ok && bi.Name() == "len" && call.Call.Args[0] == x
}

// soleUse returns the only instruction that uses the one at index at, if it
// follows in the same block with nothing between them that has an effect.
func soleUse(v ssa.Value, at int, blk *ssa.BasicBlock) ssa.Instruction {
	refs := realUses(v)
	if len(refs) != 1 || refs[0].Block() != blk || !unnamed(v) {
		return nil
	}
	for _, in := range blk.Instrs[at+1:] {
		if in == refs[0] {
			return in
		}
		if !isPure(in) {
			return nil
		}
	}
	return nil
}

// isPure reports whether an instruction changes nothing that a load may see.
func isPure(in ssa.Instruction) bool {
	switch in := in.(type) {
	case *ssa.UnOp:
		return in.Op != token.ARROW
	case *ssa.Call:
		bi, ok := in.Call.Value.(*ssa.Builtin)
		return ok && bi.Name() == "len"
	case *ssa.BinOp, *ssa.IndexAddr, *ssa.FieldAddr, *ssa.Field, *ssa.Index, *ssa.Convert, *ssa.ChangeType,
		*ssa.Extract, *ssa.DebugRef:
		return true
	}
	return false
}

// header is the layout of a slice.
type header struct {
	data     pointer
	len, cap int
}

// headerOf returns the header of a slice, which reflection holds by reference.
func headerOf(v *reflect.Value) *header { return (*header)((*[2]pointer)(pointer(v))[1]) }

func init() {
	list := []int{1, 2, 3}
	v := reflect.ValueOf(list[:2])
	if h := headerOf(&v); h.data != pointer(&list[0]) || h.len != 2 || h.cap != 3 {
		panic("eval: this Go release lays out slices in another way")
	}
}

// sliceHeader returns how the header of a slice operand is found. The operand
// may be a load that was folded.
func (b *builder) sliceHeader(x ssa.Value) func(*frame) *header {
	if load, ok := x.(*ssa.UnOp); ok && b.folded[load] {
		if row, ok := load.X.(*ssa.IndexAddr); ok && b.folded[row] {
			element := b.element(row)
			return func(fr *frame) *header { return (*header)(element(fr)) }
		}
		i := b.val(load.X).i
		return func(fr *frame) *header {
			p := fr.p[i]
			if p == nil {
				nilDereference()
			}
			return (*header)(p)
		}
	}
	i := b.val(x).i
	return func(fr *frame) *header { return &fr.l[i] }
}

// element returns how the address of an element is computed.
func (b *builder) element(in *ssa.IndexAddr) func(*frame) pointer {
	index := b.val(in.Index).i
	t := b.typ(in.X.Type(), b.pos)
	if t.Kind() == reflect.Pointer { // to an array
		array := b.val(in.X).i
		n, size := t.Elem().Len(), t.Elem().Elem().Size()
		return func(fr *frame) pointer {
			p := fr.p[array]
			if p == nil {
				nilDereference()
			}
			i := fr.n[index]
			checkIndex(i, n)
			return unsafe.Add(p, uintptr(i)*size)
		}
	}
	size := t.Elem().Size()
	if !b.isFolded(in.X) {
		slice := b.val(in.X).i
		return func(fr *frame) pointer {
			h, i := &fr.l[slice], fr.n[index]
			checkIndex(i, h.len)
			return unsafe.Add(h.data, uintptr(i)*size)
		}
	}
	row := b.sliceHeader(in.X)
	return func(fr *frame) pointer {
		h, i := row(fr), fr.n[index]
		checkIndex(i, h.len)
		return unsafe.Add(h.data, uintptr(i)*size)
	}
}

func (b *builder) isFolded(v ssa.Value) bool {
	in, ok := v.(ssa.Instruction)
	return ok && b.folded[in]
}

// address is how an address is computed by the instruction that took it over.
func (b *builder) address(v ssa.Value) func(*frame) pointer {
	if v.Pos().IsValid() {
		b.pos = v.Pos()
	}
	if field, ok := v.(*ssa.FieldAddr); ok {
		src := b.val(field.X)
		i, offset := src.i, src.typ.Elem().Field(field.Field).Offset
		return func(fr *frame) pointer {
			p := fr.p[i]
			if p == nil {
				nilDereference()
			}
			return unsafe.Add(p, offset)
		}
	}
	return b.element(v.(*ssa.IndexAddr))
}

// fieldOf returns the pointer and the offset of a folded address of a field.
func (b *builder) fieldOf(v ssa.Value) (i int, offset uintptr, ok bool) {
	field, ok := v.(*ssa.FieldAddr)
	if !ok {
		return 0, 0, false
	}
	if field.Pos().IsValid() {
		b.pos = field.Pos()
	}
	src := b.val(field.X)
	return src.i, src.typ.Elem().Field(field.Field).Offset, true
}

package eval

import (
	"go/ast"
	"go/token"
	"math/bits"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

func (b *builder) unsafeBuiltin(name string, args []place, dst place) {
	switch name {
	case "Add":
		b.emit(func(fr *frame) { fr.p[dst.i] = unsafe.Add(fr.p[args[0].i], int(fr.n[args[1].i])) })
	case "Slice":
		size := dst.typ.Elem().Size()
		b.emit(func(fr *frame) {
			p, n := fr.p[args[0].i], fr.n[args[1].i]
			checkExtent("unsafe.Slice", p, n, size)
			fr.l[dst.i] = header{p, int(n), int(n)}
		})
	case "SliceData":
		b.emit(func(fr *frame) { fr.p[dst.i] = fr.l[args[0].i].data })
	case "String":
		b.emit(func(fr *frame) {
			p, n := fr.p[args[0].i], fr.n[args[1].i]
			checkExtent("unsafe.String", p, n, 1)
			fr.s[dst.i] = unsafe.String((*byte)(p), int(n))
		})
	case "StringData":
		b.emit(func(fr *frame) { fr.p[dst.i] = pointer(unsafe.StringData(fr.s[args[0].i])) })
	}
}

// checkExtent panics as Go does when n elements at p are no memory.
func checkExtent(what string, p pointer, n uint64, size uintptr) {
	over, bytes := bits.Mul64(n, uint64(size))
	switch {
	case int64(n) < 0 || over > 0 || bytes > -uint64(uintptr(p)) && p != nil:
		panic(goError(what + ": len out of range"))
	case p == nil && n > 0:
		panic(goError(what + ": ptr is nil and len is not zero"))
	}
}

// offsetOf returns the offset of the field that an operand of Offsetof selects,
// from where its selector begins: fields may be promoted.
func (b *builder) offsetOf(call *ssa.Call) (offset uint64) {
	v := call.Call.Args[0]
	if load, ok := v.(*ssa.UnOp); ok && load.Op == token.MUL {
		v = load.X
	}
	for range b.selected(call.Pos()) {
		switch f := v.(type) {
		case *ssa.FieldAddr:
			offset += uint64(b.typ(f.X.Type(), b.pos).Elem().Field(f.Field).Offset)
			v = f.X
		case *ssa.Field:
			offset += uint64(b.typ(f.X.Type(), b.pos).Field(f.Field).Offset)
			v = f.X
		default:
			refuse(b.pos, "internal error: Offsetof of %s", v)
		}
	}
	return offset
}

// selected counts the fields that the operand of a call selects at once; the
// call is known by its parenthesis.
func (b *builder) selected(call token.Pos) (n int) {
	u := b.unitOf(b.ssa)
	for _, file := range u.Files {
		ast.Inspect(file, func(node ast.Node) bool {
			if c, ok := node.(*ast.CallExpr); ok && c.Lparen == call {
				if sel, ok := ast.Unparen(c.Args[0]).(*ast.SelectorExpr); ok && u.Info.Selections[sel] != nil {
					n = len(u.Info.Selections[sel].Index())
				}
			}
			return n == 0
		})
	}
	return n
}

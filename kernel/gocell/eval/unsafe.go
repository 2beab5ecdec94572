package eval

import (
	"go/token"
	"math/bits"
	"reflect"
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
			h := &header{p, int(n), int(n)}
			fr.v[dst.i] = at(dst.typ, pointer(h))
		})
	case "SliceData":
		b.emit(func(fr *frame) { fr.p[dst.i] = fr.v[args[0].i].UnsafePointer() })
	case "String":
		b.emit(func(fr *frame) {
			p, n := fr.p[args[0].i], fr.n[args[1].i]
			checkExtent("unsafe.String", p, n, 1)
			fr.v[dst.i] = reflect.ValueOf(unsafe.String((*byte)(p), int(n)))
		})
	case "StringData":
		b.emit(func(fr *frame) { fr.p[dst.i] = pointer(unsafe.StringData(fr.v[args[0].i].String())) })
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

// offsetOf returns the offset of the field that an operand of Offsetof reads.
func (b *builder) offsetOf(v ssa.Value) uint64 {
	switch v := v.(type) {
	case *ssa.Field:
		return uint64(b.typ(v.X.Type(), b.pos).Field(v.Field).Offset)
	case *ssa.UnOp:
		if f, ok := v.X.(*ssa.FieldAddr); ok && v.Op == token.MUL {
			return uint64(b.typ(f.X.Type(), b.pos).Elem().Field(f.Field).Offset)
		}
	}
	refuse(b.pos, "internal error: Offsetof of %s", v)
	return 0
}

package check

import (
	"strings"

	"forgekernel/forge/backend/wgsl/shader/syntax"
)

func (c *checker) unary(e *syntax.Unary) *Expr {
	switch e.Op {
	case "&":
		x := c.expr(e.X)
		if x.Type.Kind != Ref {
			fail(e.Pos, "cannot take the address of expression in value context")
		}
		if x.Op == Index && x.Args[0].Type.Elem.Kind == Vec {
			fail(e.Pos, "cannot take the address of a vector component")
		}
		t := x.Type
		return &Expr{Op: AddressOf, Type: c.types.pointer(Ptr, t.Elem, t.Space, t.Access), Pos: e.Pos, Args: []*Expr{x}}
	case "*":
		x := c.value(e.X)
		if x.Type.Kind != Ptr {
			fail(e.Pos, "cannot dereference expression of type '%s'", x.Type)
		}
		return c.deref(x)
	}
	x := c.value(e.X)
	s := x.Type.Scalar()
	ok := s != nil && x.Type.Kind != Mat
	switch e.Op {
	case "!":
		ok = ok && s.Kind == Bool
	case "~":
		ok = ok && s.isInt()
	case "-":
		ok = ok && (s.isFloat() || s.isInt() && s.Kind != U32)
	}
	if !ok {
		fail(e.Pos, "no matching overload for 'operator %s (%s)'", e.Op, x.Type)
	}
	return c.fold(&Expr{Op: Unary, Name: e.Op, Type: x.Type, Pos: e.Pos, Args: []*Expr{x}})
}

func (c *checker) deref(x *Expr) *Expr {
	t := x.Type
	return &Expr{Op: Deref, Type: c.types.pointer(Ref, t.Elem, t.Space, t.Access), Pos: x.Pos, Args: []*Expr{x}}
}

// base checks the left side of an index or member: a pointer stands for what
// it points to. The type is that of the composite.
func (c *checker) base(e syntax.Expr) (*Expr, *Type) {
	x := c.expr(e)
	if x.Type.Kind == Ptr {
		x = c.deref(x)
	}
	if x.Type.Kind == Ref {
		return x, x.Type.Elem
	}
	return x, x.Type
}

// part is the type of a part of x: memory where x is memory.
func (c *checker) part(x *Expr, t *Type) *Type {
	if x.Type.Kind == Ref {
		return c.types.pointer(Ref, t, x.Type.Space, x.Type.Access)
	}
	return t
}

func (c *checker) index(e *syntax.Index) *Expr {
	x, t := c.base(e.X)
	i := c.value(e.I)
	var elem *Type
	switch t.Kind {
	case Vec, Array:
		elem = t.Elem
	case Mat:
		elem = c.types.vec(t.Elem, t.Rows)
	default:
		fail(e.Pos, "cannot index type '%s'", t)
	}
	if !i.Type.isInt() {
		fail(i.Pos, "index must be of type 'i32' or 'u32', found: '%s'", i.Type)
	}
	i = c.concrete(i)
	if i.Op == Const {
		v := integer(i.Type.Kind, i.Words[0])
		if v < 0 || t.N > 0 && v >= int64(t.N) {
			if t.N == 0 {
				fail(i.Pos, "index %d out of bounds", v)
			}
			fail(i.Pos, "index %d out of bounds [0..%d]", v, t.N-1)
		}
	} else if x.Op == Const {
		x = c.concrete(x)
		elem = c.concreteType(elem)
	}
	return c.fold(&Expr{Op: Index, Type: c.part(x, elem), Pos: x.Pos, Args: []*Expr{x, i}})
}

func (c *checker) member(e *syntax.Member) *Expr {
	x, t := c.base(e.X)
	switch t.Kind {
	case Struct:
		f := t.field(e.Name)
		if f < 0 {
			fail(e.Pos, "struct member '%s' not found", e.Name)
		}
		return c.fold(&Expr{Op: Member, N: f, Type: c.part(x, t.Fields[f].Type), Pos: x.Pos, Args: []*Expr{x}})
	case Vec:
		return c.swizzle(e, x, t)
	}
	fail(e.Pos, "cannot index into expression of type '%s'", t)
	return nil
}

func (c *checker) swizzle(e *syntax.Member, x *Expr, t *Type) *Expr {
	names := "xyzw"
	if strings.ContainsAny(e.Name, "rgba") {
		names = "rgba"
	}
	pick := make([]uint8, len(e.Name))
	for i := range pick {
		at := strings.IndexByte(names, e.Name[i])
		if at < 0 || at >= t.N || len(pick) > 4 {
			fail(e.Pos, "invalid vector swizzle '%s' of '%s'", e.Name, t)
		}
		pick[i] = uint8(at)
	}
	if len(pick) == 1 {
		i := &Expr{Op: Const, Type: u32, Pos: e.Pos, Words: []uint64{uint64(pick[0])}}
		return c.fold(&Expr{Op: Index, Type: c.part(x, t.Elem), Pos: x.Pos, Args: []*Expr{x, i}})
	}
	x = c.load(x)
	return c.fold(&Expr{Op: Swizzle, Pick: pick, Type: c.types.vec(t.Elem, len(pick)), Pos: x.Pos, Args: []*Expr{x}})
}

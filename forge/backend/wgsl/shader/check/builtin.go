package check

import (
	"strings"

	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// rule checks the arguments of a builtin function, converts them in place and
// gives the result's type, or nil where it does not take such arguments.
type rule struct {
	args   int
	result func(c *checker, args []*Expr) *Type
	// effect: the call has one, so its value may be dropped or there is none,
	// and it cannot be computed beforehand.
	effect bool
}

func builtinNames(name string) bool {
	_, ok := Components[name]
	_, special := rules[name]
	return ok || special || name == "bitcast" || name == "workgroupUniformLoad"
}

// builtin checks a call of a builtin function.
func (c *checker) builtin(e *syntax.Call) *Expr {
	name, at := e.Fn.Text, e.Fn.Pos
	if name == "bitcast" {
		return c.bitcast(e)
	}
	if e.Fn.Templated {
		fail(at, "builtin function '%s' does not take template arguments", name)
	}
	args := make([]*Expr, len(e.Args))
	for i, a := range e.Args {
		args[i] = c.value(a)
	}
	types := make([]string, len(args))
	for i, a := range args {
		types[i] = a.Type.Name
	}
	r, special := rules[name]
	var t *Type
	if special {
		if len(args) == r.args {
			t = r.result(c, args)
		}
	} else {
		t = c.componentwise(name, args)
	}
	if t == nil {
		fail(at, "no matching call to '%s(%s)'", name, strings.Join(types, ", "))
	}
	x := &Expr{Op: Builtin, Name: name, Type: t, Pos: at, Args: args}
	if r.effect || name == "arrayLength" {
		if c.fn == nil {
			fail(at, "'%s' cannot be called at module-scope", name)
		}
		if len(args) > 0 && name != "arrayLength" {
			c.touch(args[0], access{reads: true, writes: name != "atomicLoad" && name != "workgroupUniformLoad"})
		}
		return x
	}
	c.refuseConstantArgs(x)
	return c.fold(x)
}

// refuseConstantArgs fails for constant arguments that are wrong whatever the
// others are.
func (c *checker) refuseConstantArgs(x *Expr) {
	part := map[string]int{"extractBits": 1, "insertBits": 2}[x.Name]
	if part > 0 && x.Args[part].Op == Const {
		count := x.Args[part+1]
		n := x.Args[part].Words[0]
		if count.Op == Const {
			n += count.Words[0]
		}
		if n > 32 {
			fail(x.Pos, "'offset' + 'count' must be less than or equal to the bit width of 'e'")
		}
	}
	low := map[string]int{"clamp": 1, "smoothstep": 0}
	if i, ok := low[x.Name]; ok && x.Args[i].Op == Const && x.Args[i+1].Op == Const {
		for w := range x.Args[i].Words {
			k := x.Args[i].Type.Scalar().Kind
			a, b := x.Args[i].Words[w], x.Args[i+1].Words[w]
			if less(k, b, a) || x.Name == "smoothstep" && !less(k, a, b) {
				fail(x.Pos, "%s called with 'low' greater than 'high'", x.Name)
			}
		}
	}
	if x.Name == "ldexp" && x.Args[1].Op == Const {
		bias := map[Kind]int64{AbstractFloat: 1023, F32: 127, F16: 15}[x.Type.Scalar().Kind]
		for _, w := range x.Args[1].Words {
			if integer(x.Args[1].Type.Scalar().Kind, w) > bias+1 {
				fail(x.Pos, "e2 must be less than or equal to %d", bias+1)
			}
		}
	}
}

// componentwise converts the arguments to one type.
func (c *checker) componentwise(name string, args []*Expr) *Type {
	f := Components[name]
	if len(args) != f.Args {
		return nil
	}
	if name == "mix" && args[0].Type.Kind == Vec && args[2].Type.isScalar() {
		args[2] = c.splat(c.types.like(args[0].Type, args[2].Type), args[2])
	}
	elem := c.common(args, f.Float != nil, f.Int != nil)
	switch {
	case elem == nil:
		return nil
	case f.bits:
		if elem == abstractInt {
			elem = i32
		}
	case f.signed && elem == u32, name == "quantizeToF16" && elem == f16:
		return nil
	}
	if name == "quantizeToF16" {
		elem = f32
	}
	t := c.types.like(args[0].Type, elem)
	for i, a := range args {
		args[i] = c.converted(a, t)
	}
	return t
}

// common is the scalar type of arguments of one shape, or nil: all scalars or
// all vectors of one width, of floats or integers as allowed.
func (c *checker) common(args []*Expr, floats, ints bool) *Type {
	var elem *Type
	for _, a := range args {
		s := a.Type.Scalar()
		if s == nil || a.Type.Kind == Mat || s.Kind == Bool || a.Type.Words != args[0].Type.Words || a.Type.Kind == Vec != (args[0].Type.Kind == Vec) {
			return nil
		}
		if elem == nil {
			elem = s
		} else if elem = unify(elem, s); elem == nil {
			return nil
		}
	}
	if elem == abstractInt && !ints {
		elem = abstractFloat
	}
	if elem.isFloat() && !floats || elem.isInt() && !ints {
		return nil
	}
	return elem
}

// together converts arguments to one type of floats, and gives it.
func (c *checker) together(args []*Expr, floats, ints bool) *Type {
	elem := c.common(args, floats, ints)
	if elem == nil {
		return nil
	}
	for i, a := range args {
		args[i] = c.converted(a, c.types.like(a.Type, elem))
	}
	return args[0].Type
}

func (c *checker) bitcast(e *syntax.Call) *Expr {
	if len(e.Fn.Template) != 1 || len(e.Args) != 1 {
		fail(e.Fn.Pos, "bitcast takes one type and one argument")
	}
	t := c.typeOf(e.Fn.Template[0])
	x := c.concrete(c.value(e.Args[0]))
	bytes := func(t *Type) int {
		if s := t.Scalar(); s == nil || s.Kind == Bool || t.Kind == Mat {
			return -1
		}
		return t.Size
	}
	if bytes(t) < 0 || bytes(t) != bytes(x.Type) || bytes(t)%4 != 0 && t != x.Type {
		fail(e.Fn.Pos, "no matching call to 'bitcast<%s>(%s)'", t, x.Type)
	}
	return c.fold(&Expr{Op: Bitcast, Type: t, Pos: e.Fn.Pos, Args: []*Expr{x}})
}

// convertAll converts arguments to given types in place, or says false.
func (c *checker) convertAll(args []*Expr, ts ...*Type) bool {
	for i, t := range ts {
		v := c.convertible(args[i], t)
		if v == nil {
			return false
		}
		args[i] = v
	}
	return true
}

package check

import "forgekernel/forge/backend/wgsl/shader/syntax"

// call checks a call of a function, a builtin function or a type.
func (c *checker) call(e *syntax.Call) *Expr {
	switch o := c.lookup(e.Fn.Text, e.Fn.Pos).(type) {
	case *Func:
		return c.callFunction(e, o)
	case *Var:
		fail(e.Fn.Pos, "cannot call variable '%s'", e.Fn.Text)
	case nil:
		if builtinNames(e.Fn.Text) {
			return c.builtin(e)
		}
	}
	args := make([]*Expr, len(e.Args))
	t := c.typeName(e.Fn)
	if t == nil && !generators(e.Fn.Text) {
		fail(e.Fn.Pos, "unresolved call target '%s'", e.Fn.Text)
	}
	for i, a := range e.Args {
		args[i] = c.value(a)
	}
	if t == nil {
		t = c.inferred(e, args)
	}
	return c.construct(t, e.Fn.Pos, args)
}

func (c *checker) callFunction(e *syntax.Call, f *Func) *Expr {
	if c.fn == nil {
		fail(e.Fn.Pos, "function '%s' cannot be called at module-scope", f.Name)
	}
	if f.Compute {
		fail(e.Fn.Pos, "entry point functions cannot be the target of a function call")
	}
	if len(e.Args) != len(f.Params) {
		word := "few"
		if len(e.Args) > len(f.Params) {
			word = "many"
		}
		fail(e.Fn.Pos, "too %s arguments in call to '%s', expected %d, got %d", word, f.Name, len(f.Params), len(e.Args))
	}
	x := &Expr{Op: Call, Fn: f, Type: f.Result, Pos: e.Fn.Pos}
	for i, a := range e.Args {
		v := c.value(a)
		p := f.Params[i]
		arg := c.convertible(v, p.Type)
		if arg == nil {
			fail(a.At(), "type mismatch for argument %d in call to '%s', expected '%s', got '%s'", i+1, f.Name, p.Type, v.Type)
		}
		x.Args = append(x.Args, arg)
	}
	c.fn.calls = append(c.fn.calls, f)
	c.aliases(x)
	return x
}

// inferred is the type of a constructor without its template list.
func (c *checker) inferred(e *syntax.Call, args []*Expr) *Type {
	at, name := e.Fn.Pos, e.Fn.Text
	if len(args) == 0 {
		if name[0] == 'v' {
			return c.types.vec(abstractInt, int(name[3]-'0'))
		}
		fail(at, "cannot infer the type of '%s' from no arguments", name)
	}
	columns, rows, matrix := matrixShape(name)
	switch {
	case name == "array":
		elem := args[0].Type
		for _, a := range args[1:] {
			switch {
			case converts(a.Type, elem):
			case converts(elem, a.Type):
				elem = a.Type
			default:
				fail(a.Pos, "cannot infer common array element type from constructor arguments")
			}
		}
		if !elem.constructible() {
			fail(at, "array constructor has non-constructible element type '%s'", elem)
		}
		return c.types.array(elem, len(args))
	case name == "atomic" || name == "ptr":
		fail(at, "type '%s' is not constructible", name)
	}
	elem := args[0].Type.Scalar()
	for _, a := range args[1:] {
		if s := a.Type.Scalar(); s == nil || elem == nil {
			elem = nil
		} else {
			elem = unify(elem, s)
		}
	}
	if elem == nil {
		fail(at, "no matching constructor for '%s'", name)
	}
	if matrix {
		if elem == abstractInt {
			elem = abstractFloat
		}
		return c.types.mat(elem, columns, rows)
	}
	return c.types.vec(elem, int(name[3]-'0'))
}

// construct makes a value of type t.
func (c *checker) construct(t *Type, at syntax.Pos, args []*Expr) *Expr {
	if !t.constructible() {
		fail(at, "type '%s' is not constructible", t)
	}
	if len(args) == 0 {
		if c.budget -= t.Words; c.budget < 0 {
			fail(at, "the constants of this module have more than %d components", maxConstantWords)
		}
		return &Expr{Op: Const, Type: t, Pos: at, Words: make([]uint64, t.Words)}
	}
	switch t.Kind {
	case Array:
		c.count(t, at, len(args), t.N)
		return c.compose(t, at, args, func(int) *Type { return t.Elem })
	case Struct:
		c.count(t, at, len(args), len(t.Fields))
		return c.compose(t, at, args, func(i int) *Type { return t.Fields[i].Type })
	case Vec:
		return c.vector(t, at, args)
	case Mat:
		return c.matrix(t, at, args)
	}
	if len(args) != 1 || !args[0].Type.isScalar() {
		c.mismatch(t, at, args)
	}
	return c.conversion(t, at, args[0])
}

func (c *checker) count(t *Type, at syntax.Pos, got, want int) {
	if got < want {
		fail(at, "constructor of '%s' has too few inputs: expected %d, found %d", t, want, got)
	}
	if got > want {
		fail(at, "constructor of '%s' has too many inputs: expected %d, found %d", t, want, got)
	}
}

func (c *checker) mismatch(t *Type, at syntax.Pos, args []*Expr) {
	list := ""
	for i, a := range args {
		if i > 0 {
			list += ", "
		}
		list += a.Type.Name
	}
	fail(at, "no matching constructor for '%s(%s)'", t, list)
}

// conversion converts explicitly, each component to the scalar type of t.
func (c *checker) conversion(t *Type, at syntax.Pos, x *Expr) *Expr {
	if x.Type == t {
		return x
	}
	if x.Op == Const && x.Type.Scalar().isAbstract() && converts(x.Type, t) {
		return c.converted(x, t)
	}
	return c.fold(&Expr{Op: Convert, Type: t, Pos: at, Args: []*Expr{x}})
}

// compose puts values in a row, each converted to its part's type.
func (c *checker) compose(t *Type, at syntax.Pos, args []*Expr, part func(int) *Type) *Expr {
	x := &Expr{Op: Compose, Type: t, Pos: at}
	for i, a := range args {
		v := c.convertible(a, part(i))
		if v == nil {
			fail(a.Pos, "type mismatch in constructor of '%s': expected '%s', found '%s'", t, part(i), a.Type)
		}
		x.Args = append(x.Args, v)
	}
	return c.fold(x)
}

func (c *checker) vector(t *Type, at syntax.Pos, args []*Expr) *Expr {
	if len(args) == 1 {
		a := args[0]
		switch {
		case a.Type.Kind == Vec && a.Type.N == t.N:
			return c.conversion(t, at, a)
		case a.Type.isScalar() && converts(a.Type, t.Elem):
			return c.splat(t, c.converted(a, t.Elem))
		}
		c.mismatch(t, at, args)
	}
	words := 0
	for _, a := range args {
		if a.Type.Kind != Vec && !a.Type.isScalar() || !converts(a.Type.Scalar(), t.Elem) {
			c.mismatch(t, at, args)
		}
		words += a.Type.Words
	}
	if words != t.N {
		c.mismatch(t, at, args)
	}
	return c.compose(t, at, args, func(i int) *Type { return c.types.like(args[i].Type, t.Elem) })
}

// splat repeats a scalar in all components.
func (c *checker) splat(t *Type, x *Expr) *Expr {
	s := &Expr{Op: Swizzle, Type: t, Pos: x.Pos, Args: []*Expr{x}, Pick: make([]uint8, t.Words)}
	return c.fold(s)
}

func (c *checker) matrix(t *Type, at syntax.Pos, args []*Expr) *Expr {
	if len(args) == 1 && args[0].Type.Kind == Mat && args[0].Type.N == t.N && args[0].Type.Rows == t.Rows {
		return c.conversion(t, at, args[0])
	}
	part := t.Elem
	if len(args) == t.N && args[0].Type.Kind == Vec {
		part = c.types.vec(t.Elem, t.Rows)
	} else if len(args) != t.Words {
		c.mismatch(t, at, args)
	}
	for _, a := range args {
		if !converts(a.Type, part) {
			c.mismatch(t, at, args)
		}
	}
	return c.compose(t, at, args, func(int) *Type { return part })
}

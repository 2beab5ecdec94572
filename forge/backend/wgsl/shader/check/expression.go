package check

import (
	"math"
	"strconv"
	"strings"

	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// value checks an expression that is used for its value: memory is loaded.
func (c *checker) value(e syntax.Expr) *Expr { return c.load(c.expr(e)) }

// load applies the load rule.
func (c *checker) load(x *Expr) *Expr {
	if x.Type.Kind != Ref {
		if x.Type == void {
			name := x.Name
			if x.Fn != nil {
				name = x.Fn.Name
			}
			fail(x.Pos, "function '%s' does not return a value", name)
		}
		return x
	}
	t := x.Type.Elem
	if t.Kind == Atomic {
		fail(x.Pos, "atomic variables can only be read with atomicLoad and the like")
	}
	if !t.constructible() {
		fail(x.Pos, "cannot load memory of type '%s': it is not constructible", t)
	}
	c.touch(x, access{reads: true})
	return &Expr{Op: Load, Type: t, Pos: x.Pos, Args: []*Expr{x}}
}

// concrete gives an abstract constant the type it has at run time.
func (c *checker) concrete(x *Expr) *Expr {
	if t := c.concreteType(x.Type); t != x.Type {
		return c.converted(x, t)
	}
	return x
}

func (c *checker) concreteType(t *Type) *Type {
	switch {
	case t == abstractInt:
		return i32
	case t == abstractFloat:
		return f32
	case t.Kind == Vec || t.Kind == Mat:
		return c.types.like(t, c.concreteType(t.Elem))
	case t.Kind == Array && t.N > 0:
		if elem := c.concreteType(t.Elem); elem != t.Elem {
			return c.types.array(elem, t.N)
		}
	case t.Kind == Struct && strings.HasPrefix(t.Name, "__"):
		return c.concreteResult(t)
	}
	return t
}

// converts says whether a value of one type is implicitly one of another:
// abstract numbers are.
func converts(from, to *Type) bool {
	switch {
	case from == to:
		return true
	case from.Kind == AbstractInt:
		return to.isInt() || to.isFloat()
	case from.Kind == AbstractFloat:
		return to.isFloat() && to.Kind != AbstractInt
	case from.Kind != to.Kind:
		return false
	case from.Kind == Vec || from.Kind == Array:
		return from.N == to.N && from.N > 0 && converts(from.Elem, to.Elem)
	case from.Kind == Mat:
		return from.N == to.N && from.Rows == to.Rows && converts(from.Elem, to.Elem)
	case from.Kind == Struct && strings.HasPrefix(from.Name, "__") && len(from.Fields) == len(to.Fields):
		for i := range from.Fields {
			if !converts(from.Fields[i].Type, to.Fields[i].Type) {
				return false
			}
		}
		return strings.HasPrefix(to.Name, "__")
	}
	return false
}

// convertible converts implicitly, or gives nil where that cannot be.
func (c *checker) convertible(x *Expr, t *Type) *Expr {
	if !converts(x.Type, t) {
		return nil
	}
	return c.converted(x, t)
}

// converted converts a constant implicitly; its value has to fit.
func (c *checker) converted(x *Expr, t *Type) *Expr {
	if x.Type == t {
		return x
	}
	r := &Expr{Op: Const, Type: t, Pos: x.Pos, Words: make([]uint64, len(x.Words))}
	from, to := wordKinds(x.Type), wordKinds(t)
	for i, w := range x.Words {
		word, wrong := convert(from(i), to(i), w, true)
		if wrong != "" {
			fail(x.Pos, "%s", wrong)
		}
		r.Words[i] = word
	}
	return r
}

// wordKinds tells the kind of each word of a value.
func wordKinds(t *Type) func(int) Kind {
	switch t.Kind {
	case Vec, Mat:
		return func(int) Kind { return t.Elem.Kind }
	case Array:
		elem := wordKinds(t.Elem)
		return func(i int) Kind { return elem(i % t.Elem.Words) }
	case Struct:
		return func(i int) Kind {
			f := len(t.Fields) - 1
			for t.Fields[f].Slot > i {
				f--
			}
			return wordKinds(t.Fields[f].Type)(i - t.Fields[f].Slot)
		}
	}
	return func(int) Kind { return t.Kind }
}

// overridable says whether an expression is known when a pipeline is made.
func (x *Expr) overridable() bool {
	switch x.Op {
	case Const, Override:
		return true
	case Unary, Binary, Logical, Builtin, Compose, Convert, Bitcast, Index, Member, Swizzle:
		for _, a := range x.Args {
			if !a.overridable() {
				return false
			}
		}
		return true
	}
	return false
}

// fold evaluates an expression whose operands are constants.
func (c *checker) fold(x *Expr) *Expr {
	args := make([][]uint64, len(x.Args))
	for i, a := range x.Args {
		if a.Op != Const {
			return x
		}
		args[i] = a.Words
	}
	words, wrong := Evaluate(x, args)
	if wrong != "" {
		fail(x.Pos, "%s", wrong)
	}
	if c.budget -= len(words); c.budget < 0 {
		fail(x.Pos, "the constants of this module have more than %d components", maxConstantWords)
	}
	return &Expr{Op: Const, Type: x.Type, Pos: x.Pos, Words: words}
}

// expr checks an expression; memory stays memory.
func (c *checker) expr(e syntax.Expr) *Expr {
	switch e := e.(type) {
	case *syntax.Literal:
		return c.literal(e)
	case *syntax.Name:
		return c.name(e)
	case *syntax.Unary:
		return c.unary(e)
	case *syntax.Binary:
		return c.binary(e)
	case *syntax.Index:
		return c.index(e)
	case *syntax.Member:
		return c.member(e)
	case *syntax.Call:
		return c.call(e)
	}
	panic("check: unknown expression")
}

func (c *checker) literal(e *syntax.Literal) *Expr {
	x := &Expr{Op: Const, Pos: e.Pos}
	text := e.Text
	last := text[len(text)-1]
	hex := strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X")
	switch e.Kind {
	case syntax.Keyword:
		x.Type, x.Words = boolType, []uint64{boolWord(text == "true")}
		return x
	case syntax.Integer:
		x.Type = abstractInt
		if last == 'i' || last == 'u' {
			x.Type, text = suffixes[last], text[:len(text)-1]
		}
		v, err := strconv.ParseUint(text, 0, 64)
		_, high := intRange(x.Type.Kind)
		if err != nil || v > math.MaxInt64 || float64(v) > high {
			fail(e.Pos, "value %s cannot be represented as '%s'", text, x.Type)
		}
		x.Words = []uint64{v}
		return x
	}
	x.Type = abstractFloat
	if (last == 'f' || last == 'h') && (!hex || strings.ContainsAny(text, "pP")) {
		x.Type, text = c.allowed(suffixes[last], e.Pos), text[:len(text)-1]
	}
	if hex && !strings.ContainsAny(text, "pP") {
		text += "p0"
	}
	v, err := strconv.ParseFloat(text, 64)
	w, finite := floatWord(x.Type.Kind, v)
	if err != nil || !finite {
		fail(e.Pos, "value cannot be represented as '%s'", x.Type)
	}
	if hex && x.Type != abstractFloat && float(x.Type.Kind, w) != v {
		fail(e.Pos, "value cannot be exactly represented as '%s'", x.Type)
	}
	x.Words = []uint64{w}
	return x
}

func (c *checker) name(e *syntax.Name) *Expr {
	switch o := c.lookup(e.Text, e.Pos).(type) {
	case *Var:
		if e.Templated {
			fail(e.Pos, "variable '%s' does not take template arguments", e.Text)
		}
		return c.variable(o, e.Pos)
	case *Func:
		fail(e.Pos, "cannot use function '%s' as value", e.Text)
	case *Type:
		fail(e.Pos, "cannot use type '%s' as value", e.Text)
	}
	switch {
	case c.typeName(e) != nil || generators(e.Text):
		fail(e.Pos, "cannot use type '%s' as value", e.Text)
	case builtinNames(e.Text):
		fail(e.Pos, "cannot use builtin function '%s' as value", e.Text)
	}
	fail(e.Pos, "unresolved value '%s'", e.Text)
	return nil
}

func (c *checker) variable(v *Var, at syntax.Pos) *Expr {
	if b := c.flow.body; c.flow.continuing && b != nil && b.continued != nil && b.scope.names[v.Name] == v && !b.declared[v] {
		fail(b.continued.Pos, "continue statement bypasses declaration of '%s'", v.Name)
	}
	switch v.Keyword {
	case "const":
		return &Expr{Op: Const, Type: v.Type, Pos: at, Words: v.Init.Words}
	case "override":
		return &Expr{Op: Override, Type: v.Type, Pos: at, Var: v}
	case "var":
		if v.Space != Function {
			if c.fn == nil {
				fail(at, "var '%s' cannot be referenced at module-scope", v.Name)
			}
			c.fn.uses = append(c.fn.uses, v)
		}
		return &Expr{Op: VarRef, Type: c.types.pointer(Ref, v.Type, v.Space, v.Access), Pos: at, Var: v}
	}
	return &Expr{Op: Value, Type: v.Type, Pos: at, Var: v}
}

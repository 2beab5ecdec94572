package check

import (
	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// behavior is the set of ways in which a statement can end.
type behavior uint8

const (
	next behavior = 1 << iota // the statement after it comes next
	breaks
	continues
	returns
)

// flow is what surrounds a statement.
type flow struct {
	loop, breakable bool
	// continuing: in a continuing block, outside any loop within it.
	continuing bool
	// noReturn: in a continuing block, within a loop in it or not.
	noReturn bool
	// body is that of the loop, for the rule that continue must not jump over
	// the declaration of a variable that continuing uses.
	body *loopBody
}

type loopBody struct {
	scope     *scope
	continued *syntax.Jump
	declared  map[*Var]bool // before the first continue
}

// statements checks a sequence into block and says how it can end. Statements
// after one that never reaches them are checked but change nothing.
func (c *checker) statements(block *Stmt, list []syntax.Stmt) behavior {
	all := next
	for _, s := range list {
		b := c.statement(block, s)
		if all&next != 0 {
			all = all&^next | b
		}
	}
	return all
}

// block checks a block in a scope of its own.
func (c *checker) block(b *syntax.Block) (*Stmt, behavior) {
	s := &Stmt{Op: Block, Pos: b.Pos}
	c.open()
	defer c.close()
	return s, c.statements(s, b.Stmts)
}

func (s *Stmt) add(t *Stmt) { s.Body = append(s.Body, t) }

func (c *checker) statement(to *Stmt, s syntax.Stmt) behavior {
	switch s := s.(type) {
	case *syntax.Block:
		b, end := c.block(s)
		to.add(b)
		return end
	case *syntax.VarDecl:
		c.local(to, s)
	case *syntax.Assign:
		to.add(c.assign(s))
	case *syntax.CallStmt:
		to.add(c.callStatement(s))
	case *syntax.ConstAssert:
		c.constAssert(s)
	case *syntax.If:
		x, end := c.ifElse(s)
		to.add(x)
		return end
	case *syntax.Switch:
		x, end := c.switchCase(s)
		to.add(x)
		return end
	case *syntax.Loop:
		x, end := c.loop(s)
		to.add(x)
		return end
	case *syntax.Jump:
		return c.jump(to, s)
	case *syntax.Return:
		return c.returned(to, s)
	}
	return next
}

// local checks a declaration in a function.
func (c *checker) local(to *Stmt, d *syntax.VarDecl) {
	v := &Var{Name: d.Name, Pos: d.NamePos, Keyword: d.Keyword}
	switch d.Keyword {
	case "const":
		c.constant(d, v)
		c.declare(v)
		return
	case "var":
		if len(d.Template) > 0 {
			space, access := c.spaceAccess(d.Template[0], d.Template[1:])
			if space != Function {
				fail(d.NamePos, "function-scope 'var' declaration must use 'function' address space")
			}
			v.Access = access
		}
		v.Access = ReadWrite
	}
	v.Type, v.Init = c.initial(d)
	switch {
	case d.Keyword == "var":
		c.storeType(d, v)
	case !v.Type.constructible() && v.Type.Kind != Ptr:
		fail(d.NamePos, "'%s' cannot be used as the type of a 'let'", v.Type)
	}
	if v.Type.Kind == Ptr {
		v.root = root(v.Init)
	}
	c.declare(v)
	to.add(&Stmt{Op: Declare, Pos: d.Pos, Var: v})
}

func (c *checker) assign(s *syntax.Assign) *Stmt {
	if s.Left == nil {
		x := c.concrete(c.value(s.Right))
		if !x.Type.constructible() && x.Type.Kind != Ptr {
			fail(s.Right.At(), "cannot assign '%s' to '_'", x.Type)
		}
		return &Stmt{Op: Store, Pos: s.Pos, Y: x}
	}
	left := c.expr(s.Left)
	if left.Type.Kind != Ref {
		fail(s.Left.At(), "cannot assign to expression of type '%s': it is not a reference to memory", left.Type)
	}
	t := left.Type.Elem
	if s.Step && !t.isInt() {
		fail(s.Pos, "increment statement can only be applied to an integer scalar")
	}
	var right *Expr
	if s.Op == "=" {
		right = c.value(s.Right)
	} else {
		x := c.load(left)
		y := c.value(s.Right)
		if right = c.operation(s.Op, s.Pos, x, y); right == nil {
			fail(s.Pos, "no matching overload for 'operator %s= (%s, %s)'", s.Op, t, y.Type)
		}
	}
	if left.Type.Access == Read {
		fail(s.Left.At(), "cannot store into a read-only type '%s'", left.Type)
	}
	v := c.convertible(right, t)
	if v == nil || !t.constructible() {
		fail(s.Pos, "cannot assign '%s' to '%s'", right.Type, t)
	}
	c.touch(left, access{writes: true})
	return &Stmt{Op: Store, Pos: s.Pos, X: left, Y: v}
}

func (c *checker) callStatement(s *syntax.CallStmt) *Stmt {
	x := c.expr(s.Call)
	name := s.Call.Fn.Text
	switch {
	case x.Op == Call:
		for _, a := range x.Fn.decl.Attributes {
			if a.Name == "must_use" {
				fail(s.At(), "ignoring return value of function '%s' annotated with @must_use", name)
			}
		}
	case x.Op == Builtin && rules[x.Name].effect && x.Name != "atomicLoad" && x.Name != "workgroupUniformLoad":
	case builtinNames(name) && c.lookup(name, s.At()) == nil:
		if name == "atomicLoad" || name == "workgroupUniformLoad" {
			break
		}
		fail(s.At(), "ignoring return value of builtin '%s'", name)
	default:
		fail(s.At(), "value constructor evaluated but not used")
	}
	return &Stmt{Op: Eval, Pos: s.At(), X: x}
}

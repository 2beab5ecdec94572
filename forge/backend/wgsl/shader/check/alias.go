package check

// Two names of one memory: a function that is given pointers may not be given
// two into one variable, or one into a variable that it names itself, where it
// writes through either.

// root is the variable that memory or a pointer is a part of: for a pointer
// parameter the parameter.
func root(x *Expr) *Var {
	switch x.Op {
	case VarRef:
		return x.Var
	case Value:
		if x.Var.root != nil {
			return x.Var.root
		}
		return x.Var
	case Index, Member, AddressOf, Deref:
		return root(x.Args[0])
	}
	return nil
}

// access is how a function uses a variable of the module or what a parameter
// points to.
type access struct{ reads, writes bool }

// touch notes that the function being checked reads or writes memory.
func (c *checker) touch(x *Expr, a access) {
	v := root(x)
	if c.fn == nil || v == nil || v.Keyword == "var" && v.Space == Function {
		return
	}
	have := c.fn.access[v]
	c.fn.access[v] = access{have.reads || a.reads, have.writes || a.writes}
}

// conflict says whether two accesses to one memory may not come by two names.
func (a access) conflict(b access) bool {
	return a.writes && (b.reads || b.writes) || b.writes && a.reads
}

// aliases checks a call's pointers, and notes what the call touches.
func (c *checker) aliases(x *Expr) {
	passed := map[*Var]access{}
	for i, p := range x.Fn.Params {
		if p.Type.Kind != Ptr {
			continue
		}
		arg, a := x.Args[i], x.Fn.access[p]
		v := root(arg)
		if a.conflict(passed[v]) {
			fail(arg.Pos, "invalid aliased pointer argument")
		}
		if a.conflict(x.Fn.access[v]) {
			fail(arg.Pos, "invalid aliased pointer argument: '%s' also uses variable '%s'", x.Fn.Name, v.Name)
		}
		have := passed[v]
		passed[v] = access{have.reads || a.reads, have.writes || a.writes}
		c.touch(arg, a)
	}
	for v, a := range x.Fn.access {
		if v.Keyword != "param" {
			have := c.fn.access[v]
			c.fn.access[v] = access{have.reads || a.reads, have.writes || a.writes}
		}
	}
}

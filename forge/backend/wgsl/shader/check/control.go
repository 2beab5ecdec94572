package check

import "forgekernel/forge/backend/wgsl/shader/syntax"

func (c *checker) condition(e syntax.Expr, what string) *Expr {
	x := c.value(e)
	if x.Type.Kind != Bool {
		fail(e.At(), "%s condition must be bool, got '%s'", what, x.Type)
	}
	return x
}

func (c *checker) ifElse(s *syntax.If) (*Stmt, behavior) {
	x := &Stmt{Op: If, Pos: s.Pos, X: c.condition(s.Cond, "if statement")}
	var end, other behavior
	x.Then, end = c.block(s.Then)
	switch e := s.Else.(type) {
	case nil:
		other = next
	case *syntax.Block:
		x.Else, other = c.block(e)
	case *syntax.If:
		x.Else = &Stmt{Op: Block, Pos: e.Pos}
		var inner *Stmt
		inner, other = c.ifElse(e)
		x.Else.add(inner)
	}
	return x, end | other
}

func (c *checker) switchCase(s *syntax.Switch) (*Stmt, behavior) {
	x := &Stmt{Op: Switch, Pos: s.Pos, X: c.value(s.X)}
	if !x.X.Type.isInt() {
		fail(s.X.At(), "switch statement selector expression must be of a scalar integer type")
	}
	t, selectors := c.selectors(s, x.X.Type)
	x.X = c.converted(x.X, t)
	outer := c.flow
	c.flow.breakable = true
	end, seen, hasDefault := behavior(0), map[uint64]bool{}, false
	for _, clause := range s.Cases {
		var k Case
		for _, e := range clause.Selectors {
			if e == nil {
				if hasDefault {
					fail(clause.Pos, "switch statement must have exactly one default clause")
				}
				k.Default, hasDefault = true, true
				continue
			}
			w := c.converted(selectors[e], t).Words[0]
			if seen[w] {
				fail(e.At(), "duplicate switch case '%d'", integer(t.Kind, w))
			}
			seen[w] = true
			k.Words = append(k.Words, w)
		}
		var b behavior
		if k.Body, b = c.block(clause.Body); b&breaks != 0 {
			b = b&^breaks | next
		}
		end |= b
		x.Cases = append(x.Cases, k)
	}
	c.flow = outer
	if !hasDefault {
		fail(s.Pos, "switch statement must have a default clause")
	}
	return x, end
}

// selectors checks the constants of a switch, and gives the type that they and
// the value of type t have in common.
func (c *checker) selectors(s *syntax.Switch, t *Type) (*Type, map[syntax.Expr]*Expr) {
	values := map[syntax.Expr]*Expr{}
	for _, clause := range s.Cases {
		for _, e := range clause.Selectors {
			if e == nil {
				continue
			}
			v := c.value(e)
			if v.Op != Const || !v.Type.isInt() {
				fail(e.At(), "case selector must be a constant integer")
			}
			if t = unify(t, v.Type); t == nil {
				fail(e.At(), "the case selector values must have the same type as the selector expression")
			}
			values[e] = v
		}
	}
	return c.concreteType(t), values
}

// loop lowers loop, while and for to one form: a body and a continuing block
// that run until a break.
func (c *checker) loop(s *syntax.Loop) (*Stmt, behavior) {
	block := &Stmt{Op: Block, Pos: s.Pos}
	c.open()
	defer c.close()
	if s.Init != nil {
		c.statement(block, s.Init)
	}
	x := &Stmt{Op: Loop, Pos: s.Pos, Then: &Stmt{Op: Block, Pos: s.Body.Pos}}
	block.add(x)
	if s.Cond != nil {
		cond := c.condition(s.Cond, s.Keyword+"-loop")
		leave := &Stmt{Op: Block, Pos: s.Pos, Body: []*Stmt{{Op: Break, Pos: s.Pos}}}
		x.Then.add(&Stmt{Op: If, Pos: s.Cond.At(), X: cond, Then: &Stmt{Op: Block, Pos: s.Pos}, Else: leave})
	}
	outer := c.flow
	c.open()
	c.flow = flow{loop: true, breakable: true, noReturn: outer.noReturn, body: &loopBody{scope: c.scope}}
	var end behavior
	if s.Keyword == "loop" {
		end = c.statements(x.Then, s.Body.Stmts)
	} else {
		var body *Stmt
		body, end = c.block(s.Body)
		x.Then.add(body)
		c.close()
	}
	c.flow.continuing, c.flow.noReturn, c.flow.loop, c.flow.breakable = true, true, false, false
	if s.Update != nil {
		x.Continuing = &Stmt{Op: Block, Pos: s.Update.At()}
		c.flow.body = nil
		c.statement(x.Continuing, s.Update)
	}
	if s.Continuing != nil {
		end |= c.continuing(x, s)
	}
	if s.Keyword == "loop" {
		c.close()
	}
	c.flow = outer
	if s.Cond != nil || s.BreakIf != nil || end&breaks != 0 {
		return block, end&returns | next
	}
	if end&returns == 0 {
		fail(s.Pos, "%s does not exit", map[string]string{"loop": "loop", "for": "for-loop", "while": "while-loop"}[s.Keyword])
	}
	return block, returns
}

func (c *checker) continuing(x *Stmt, s *syntax.Loop) behavior {
	x.Continuing = &Stmt{Op: Block, Pos: s.Continuing.Pos}
	c.open()
	defer c.close()
	end := c.statements(x.Continuing, s.Continuing.Stmts)
	if s.BreakIf != nil {
		x.Y = c.condition(s.BreakIf, "break-if statement")
	}
	return end & returns
}

func (c *checker) jump(to *Stmt, s *syntax.Jump) behavior {
	f := c.flow
	switch s.Keyword {
	case "discard":
		fail(s.Pos, "discard statement cannot be used in compute pipeline stage")
	case "break":
		if !f.breakable {
			if f.continuing {
				fail(s.Pos, "break must not be used to exit from a continuing block. Use break-if instead")
			}
			fail(s.Pos, "break statement must be in a loop or switch case")
		}
		to.add(&Stmt{Op: Break, Pos: s.Pos})
		return breaks
	}
	if !f.loop {
		if f.continuing {
			fail(s.Pos, "continuing blocks must not contain a continue statement")
		}
		fail(s.Pos, "continue statement must be in a loop")
	}
	if b := f.body; b != nil && b.continued == nil {
		b.continued, b.declared = s, map[*Var]bool{}
		for _, v := range b.scope.names {
			b.declared[v] = true
		}
	}
	to.add(&Stmt{Op: Continue, Pos: s.Pos})
	return continues
}

func (c *checker) returned(to *Stmt, s *syntax.Return) behavior {
	if c.flow.noReturn {
		fail(s.Pos, "continuing blocks must not contain a return statement")
	}
	r := &Stmt{Op: Return, Pos: s.Pos}
	got := void
	if s.X != nil {
		x := c.value(s.X)
		got = x.Type
		if r.X = c.convertible(x, c.fn.Result); r.X != nil {
			got = c.fn.Result
		}
	}
	if got != c.fn.Result {
		fail(s.Pos, "return statement type must match its function return type, returned '%s', expected '%s'", got, c.fn.Result)
	}
	to.add(r)
	return returns
}

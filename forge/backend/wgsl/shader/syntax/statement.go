package syntax

func (p *parser) block(what string) *Block {
	defer p.nest()()
	b := &Block{Pos: p.expect("{", what).Pos}
	for !p.next("}") {
		if p.peek().Kind == EOF {
			p.expect("}", what)
		}
		if s := p.statement(); s != nil {
			b.Stmts = append(b.Stmts, s)
		}
	}
	b.End = p.take().Pos
	return b
}

// statement reads one statement; nil is an empty one.
func (p *parser) statement() Stmt {
	if p.accept(";") {
		return nil
	}
	p.diagnosticAttributes()
	t := p.peek()
	switch {
	case t.is("{"):
		return p.block("block statement")
	case t.is("if"):
		return p.ifElse()
	case t.is("switch"):
		return p.switchCase()
	case t.is("loop"):
		return p.loop()
	case t.is("while"):
		p.take()
		return &Loop{Pos: t.Pos, Keyword: "while", Cond: p.expr(), Body: p.body("while loop")}
	case t.is("for"):
		return p.forLoop()
	case t.is("const_assert"):
		return p.constAssert()
	}
	s := p.simple()
	p.expect(";", "statement")
	return s
}

// body is a block that may have attributes before it.
func (p *parser) body(what string) *Block {
	p.diagnosticAttributes()
	return p.block(what)
}

// diagnosticAttributes goes over @diagnostic, the one attribute that
// statements may have; it only filters what this package never reports.
func (p *parser) diagnosticAttributes() {
	for _, a := range p.attributes() {
		if a.Name != "diagnostic" {
			p.fail(a.Pos, "@%s is not valid for statements", a.Name)
		}
	}
}

// simple reads the statements that end with a semicolon.
func (p *parser) simple() Stmt {
	t := p.peek()
	switch {
	case t.is("var"), t.is("let"), t.is("const"):
		return p.variable(nil)
	case t.is("break"), t.is("continue"), t.is("discard"):
		p.take()
		if t.is("break") && p.next("if") {
			p.fail(t.Pos, "a break-if must be the last statement of a 'continuing' block")
		}
		return &Jump{Pos: t.Pos, Keyword: t.Text}
	case t.is("return"):
		p.take()
		if p.next(";") {
			return &Return{Pos: t.Pos}
		}
		return &Return{Pos: t.Pos, X: p.expr()}
	}
	return p.assignment()
}

// assignment reads assignments, increments and calls.
func (p *parser) assignment() Stmt {
	t := p.peek()
	if p.accept("_") {
		p.expect("=", "assignment")
		return &Assign{Pos: t.Pos, Op: "=", Right: p.expr()}
	}
	left := p.left()
	if call, ok := left.(*Call); ok {
		return &CallStmt{call}
	}
	if p.accept("++") {
		return &Assign{Pos: t.Pos, Left: left, Op: "+", Right: one(t.Pos), Step: true}
	}
	if p.accept("--") {
		return &Assign{Pos: t.Pos, Left: left, Op: "-", Right: one(t.Pos), Step: true}
	}
	op, n := p.operator()
	switch op {
	case "=":
		p.at += n
		return &Assign{Pos: t.Pos, Left: left, Op: "=", Right: p.expr()}
	case "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=":
		p.at += n
		return &Assign{Pos: t.Pos, Left: left, Op: op[:len(op)-1], Right: p.expr()}
	}
	p.fail(p.peek().Pos, "expected '=' for assignment, found %s", p.peek().describe())
	return nil
}

func one(at Pos) Expr { return &Literal{Pos: at, Kind: Integer, Text: "1"} }

// left reads the left side of an assignment, or a call.
func (p *parser) left() Expr {
	defer p.nest()()
	t := p.peek()
	switch {
	case t.is("*"), t.is("&"):
		p.take()
		return &Unary{Pos: t.Pos, Op: t.Text, X: p.left()}
	case t.is("("):
		p.take()
		if n := p.peek(); n.Kind != Identifier && !n.is("(") && !n.is("*") && !n.is("&") {
			p.fail(t.Pos, "invalid expression")
		}
		x := p.left()
		p.expect(")", "assignment")
		return p.postfix(x)
	}
	name := p.ident("statement")
	n := p.name(name)
	if p.next("(") {
		return p.postfix(&Call{Fn: n, Args: p.arguments()})
	}
	return p.postfix(n)
}

func (p *parser) ifElse() Stmt {
	defer p.nest()()
	t := p.take()
	s := &If{Pos: t.Pos, Cond: p.expr(), Then: p.body("if statement")}
	if p.accept("else") {
		if p.next("if") {
			s.Else = p.ifElse()
		} else {
			s.Else = p.body("else statement")
		}
	}
	return s
}

func (p *parser) switchCase() Stmt {
	t := p.take()
	s := &Switch{Pos: t.Pos, X: p.expr()}
	p.diagnosticAttributes()
	p.expect("{", "switch statement")
	for !p.accept("}") {
		c := Case{Pos: p.peek().Pos}
		switch {
		case p.accept("default"):
			c.Selectors = []Expr{nil}
		case p.accept("case"):
			c.Selectors = p.selectors()
		default:
			p.fail(p.peek().Pos, "expected 'case' or 'default' for switch statement, found %s", p.peek().describe())
		}
		p.accept(":")
		c.Body = p.body("case statement")
		s.Cases = append(s.Cases, c)
	}
	return s
}

func (p *parser) selectors() []Expr {
	var list []Expr
	for !p.next(":") && !p.next("{") && !p.next("@") {
		if p.accept("default") {
			list = append(list, nil)
		} else {
			list = append(list, p.expr())
		}
		if !p.accept(",") {
			break
		}
	}
	if len(list) == 0 {
		p.fail(p.peek().Pos, "expected case selector expression or 'default'")
	}
	return list
}

func (p *parser) forLoop() Stmt {
	t := p.take()
	s := &Loop{Pos: t.Pos, Keyword: "for"}
	p.expect("(", "for loop")
	if !p.next(";") {
		s.Init = p.simple()
	}
	p.expect(";", "for loop")
	if !p.next(";") {
		s.Cond = p.expr()
	}
	p.expect(";", "for loop")
	if !p.next(")") {
		s.Update = p.assignment()
	}
	p.expect(")", "for loop")
	switch i := s.Init.(type) {
	case *Jump, *Return:
		p.fail(i.At(), "expected initializer for for loop")
	}
	s.Body = p.body("for loop")
	return s
}

// loop reads loop { … continuing { … break if x; } }.
func (p *parser) loop() Stmt {
	defer p.nest()()
	t := p.take()
	s := &Loop{Pos: t.Pos, Keyword: "loop"}
	p.diagnosticAttributes()
	s.Body = &Block{Pos: p.expect("{", "loop").Pos}
	for !p.next("}") {
		if p.peek().Kind == EOF {
			p.expect("}", "loop")
		}
		if p.accept("continuing") {
			p.continuing(s)
			if !p.next("}") {
				p.fail(p.peek().Pos, "expected '}' for loop: 'continuing' must be its last statement")
			}
			break
		}
		if x := p.statement(); x != nil {
			s.Body.Stmts = append(s.Body.Stmts, x)
		}
	}
	s.Body.End = p.take().Pos
	return s
}

func (p *parser) continuing(s *Loop) {
	defer p.nest()()
	p.diagnosticAttributes()
	s.Continuing = &Block{Pos: p.expect("{", "continuing block").Pos}
	for !p.next("}") {
		if p.peek().Kind == EOF {
			p.expect("}", "continuing block")
		}
		if p.next("break") && p.tokens[p.at+1].is("if") {
			p.at += 2
			s.BreakIf = p.expr()
			p.expect(";", "break-if statement")
			break
		}
		if x := p.statement(); x != nil {
			s.Continuing.Stmts = append(s.Continuing.Stmts, x)
		}
	}
	s.Continuing.End = p.expect("}", "continuing block").Pos
}

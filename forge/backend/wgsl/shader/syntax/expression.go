package syntax

// operator is the binary operator that begins here, with how many tokens it
// takes: ">" is put together with what follows.
func (p *parser) operator() (op string, tokens int) {
	t := p.peek()
	if t.Kind != Symbol {
		return "", 0
	}
	if t.Text != ">" {
		return t.Text, 1
	}
	op, tokens = ">", 1
	for joined := t.Joined; joined && tokens < 3; tokens++ {
		n := p.tokens[p.at+tokens]
		if n.Kind != Symbol || n.Text != ">" && n.Text != "=" {
			break
		}
		op += n.Text
		if joined = n.Joined; n.Text == "=" {
			return op, tokens + 1
		}
	}
	if op == ">>>" {
		return ">>", 2
	}
	return op, tokens
}

// binaryOperator takes the operator if it is one of the list.
func (p *parser) binaryOperator(ops ...string) (string, Pos, bool) {
	op, n := p.operator()
	for _, o := range ops {
		if o == op && n > 0 {
			at := p.peek().Pos
			p.at += n
			return op, at, true
		}
	}
	return "", Pos{}, false
}

// expr reads an expression. WGSL groups by fewer rules than C: the bitwise
// operators, the logical ones, shifts and comparisons do not mix without
// parentheses.
func (p *parser) expr() Expr {
	defer p.nest()()
	x := p.unary()
	if op, at, ok := p.binaryOperator("&", "|", "^"); ok {
		for n := 0; ; n++ {
			p.chain(n)
			x = &Binary{Pos: at, Op: op, X: x, Y: p.unary()}
			next, _ := p.operator()
			if next != op {
				p.refuseMix(op)
				return x
			}
			at = p.take().Pos
		}
	}
	x = p.relational(x)
	if op, at, ok := p.binaryOperator("&&", "||"); ok {
		for n := 0; ; n++ {
			p.chain(n)
			x = &Binary{Pos: at, Op: op, X: x, Y: p.relational(p.unary())}
			next, _ := p.operator()
			if next != op {
				p.refuseMix(op)
				return x
			}
			at = p.take().Pos
		}
	}
	p.refuseMix("")
	return x
}

// chain fails where operators in a row are too many.
func (p *parser) chain(n int) {
	if n > MaxChain {
		p.fail(p.peek().Pos, "reached max expression depth of %d", MaxChain)
	}
}

var binary = set("+ - * / % & | ^ && || << >> < > <= >= == !=")

// refuseMix fails where a binary operator follows that the last one cannot
// stand beside.
func (p *parser) refuseMix(op string) {
	next, _ := p.operator()
	if !binary[next] {
		return
	}
	if op == "" {
		p.fail(p.peek().Pos, "'%s' after this expression requires parenthesis", next)
	}
	p.fail(p.peek().Pos, "mixing '%s' and '%s' requires parenthesis", op, next)
}

func (p *parser) relational(x Expr) Expr {
	x = p.shift(x)
	if op, at, ok := p.binaryOperator("<", ">", "<=", ">=", "==", "!="); ok {
		return &Binary{Pos: at, Op: op, X: x, Y: p.shift(p.unary())}
	}
	return x
}

func (p *parser) shift(x Expr) Expr {
	if op, at, ok := p.binaryOperator("<<", ">>"); ok {
		return &Binary{Pos: at, Op: op, X: x, Y: p.unary()}
	}
	x = p.multiplicative(x)
	for n := 0; ; n++ {
		p.chain(n)
		op, at, ok := p.binaryOperator("+", "-")
		if !ok {
			return x
		}
		x = &Binary{Pos: at, Op: op, X: x, Y: p.multiplicative(p.unary())}
	}
}

func (p *parser) multiplicative(x Expr) Expr {
	for n := 0; ; n++ {
		p.chain(n)
		op, at, ok := p.binaryOperator("*", "/", "%")
		if !ok {
			return x
		}
		x = &Binary{Pos: at, Op: op, X: x, Y: p.unary()}
	}
}

func (p *parser) unary() Expr {
	t := p.peek()
	switch {
	case t.Kind == Symbol && (t.Text == "-" || t.Text == "!" || t.Text == "~" || t.Text == "&" || t.Text == "*"):
		defer p.nest()()
		p.take()
		return &Unary{Pos: t.Pos, Op: t.Text, X: p.unary()}
	case t.is("--"), t.is("&&"):
		// Two signs in a row are two operators here.
		defer p.nest()()
		p.take()
		inner := &Unary{Pos: Pos{t.Pos.Line, t.Pos.Col + 1}, Op: t.Text[1:], X: p.unary()}
		if t.is("--") {
			p.fail(t.Pos, "prefix increment and decrement operators are reserved for a future WGSL version")
		}
		return &Unary{Pos: t.Pos, Op: t.Text[:1], X: inner}
	case t.is("++"):
		p.fail(t.Pos, "prefix increment and decrement operators are reserved for a future WGSL version")
	}
	return p.postfix(p.primary())
}

func (p *parser) primary() Expr {
	t := p.peek()
	switch {
	case t.Kind == Integer, t.Kind == Float, t.is("true"), t.is("false"):
		p.take()
		return &Literal{Pos: t.Pos, Kind: t.Kind, Text: t.Text}
	case t.is("("):
		p.take()
		x := p.expr()
		p.expect(")", "expression")
		return x
	case t.Kind == Identifier:
		p.take()
		n := p.name(t)
		if p.next("(") {
			return &Call{Fn: n, Args: p.arguments()}
		}
		return n
	}
	p.fail(t.Pos, "expected expression, found %s", t.describe())
	return nil
}

func (p *parser) postfix(x Expr) Expr {
	for n := 0; ; n++ {
		if n > MaxDepth {
			p.fail(p.peek().Pos, "maximum nesting depth of %d has been reached", MaxDepth)
		}
		switch t := p.peek(); {
		case t.is("["):
			p.take()
			x = &Index{Pos: t.Pos, X: x, I: p.expr()}
			p.expect("]", "index accessor")
		case t.is("."):
			p.take()
			name := p.ident("member accessor")
			x = &Member{Pos: name.Pos, X: x, Name: name.Text}
		default:
			return x
		}
	}
}

package syntax

// MaxDepth bounds how deep expressions and blocks may nest, so that hostile
// text cannot exhaust the stack.
const MaxDepth = 127

// MaxChain bounds how many operators of one level an expression may have in a
// row, and MaxBytes how long a text may be.
const (
	MaxChain = 512
	MaxBytes = 16 << 20
)

// Parse reads a module.
func Parse(src string) (m *Module, err error) {
	if len(src) > MaxBytes {
		return nil, Errorf(Pos{1, 1}, "the text has %d bytes, the limit is %d", len(src), MaxBytes)
	}
	tokens, err := Scan(src)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	defer func() {
		if r := recover(); r != nil {
			e, ours := r.(*Error)
			if !ours {
				panic(r)
			}
			m, err = nil, e
		}
	}()
	return p.module(), nil
}

// parser goes over the tokens once. It leaves by a panic with an *Error, which
// Parse catches.
type parser struct {
	tokens []Token
	at     int
	depth  int
}

func (p *parser) fail(at Pos, format string, args ...any) { panic(Errorf(at, format, args...)) }

func (p *parser) peek() Token { return p.tokens[p.at] }

func (p *parser) take() Token {
	t := p.tokens[p.at]
	if t.Kind != EOF {
		p.at++
	}
	return t
}

func (t Token) is(text string) bool {
	return t.Text == text && (t.Kind == Symbol || t.Kind == Keyword)
}

func (p *parser) next(text string) bool { return p.peek().is(text) }

// accept takes the token if it is next.
func (p *parser) accept(text string) bool {
	if p.next(text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(text, where string) Token {
	t := p.peek()
	if !t.is(text) {
		p.fail(t.Pos, "expected '%s' for %s, found %s", text, where, t.describe())
	}
	return p.take()
}

func (t Token) describe() string {
	if t.Kind == EOF {
		return "the end of the text"
	}
	return "'" + t.Text + "'"
}

func (p *parser) ident(where string) Token {
	t := p.peek()
	if t.Kind != Identifier {
		p.fail(t.Pos, "expected identifier for %s, found %s", where, t.describe())
	}
	return p.take()
}

// nest guards one level of nesting; the result ends it.
func (p *parser) nest() func() {
	if p.depth++; p.depth > MaxDepth {
		p.fail(p.peek().Pos, "maximum nesting depth of %d has been reached", MaxDepth)
	}
	return func() { p.depth-- }
}

func (p *parser) module() *Module {
	m := &Module{}
	for p.peek().Kind != EOF {
		if p.accept(";") {
			continue
		}
		t := p.peek()
		if t.is("enable") || t.is("requires") || t.is("diagnostic") {
			if len(m.Decls) > 0 {
				p.fail(t.Pos, "directives must come before all global declarations")
			}
			m.Directives = append(m.Directives, p.directive())
			continue
		}
		m.Decls = append(m.Decls, p.declaration())
	}
	return m
}

func (p *parser) directive() Directive {
	t := p.take()
	d := Directive{Pos: t.Pos, Keyword: t.Text}
	parens := p.accept("(")
	for !p.next(";") && !p.next(")") {
		d.Words = append(d.Words, p.ident(t.Text+" directive"))
		for p.accept(".") {
			d.Words = append(d.Words, p.ident(t.Text+" directive"))
		}
		if !p.accept(",") {
			break
		}
	}
	if parens {
		p.expect(")", t.Text+" directive")
	}
	if len(d.Words) == 0 {
		p.fail(p.peek().Pos, "expected identifier for %s directive", t.Text)
	}
	p.expect(";", t.Text+" directive")
	return d
}

func (p *parser) declaration() Stmt {
	attributes := p.attributes()
	t := p.peek()
	switch {
	case t.is("fn"):
		return p.function(attributes)
	case t.is("var"), t.is("const"), t.is("override"):
		d := p.variable(attributes)
		p.expect(";", "variable declaration")
		return d
	case t.is("let"):
		p.fail(t.Pos, "module-scope 'let' is invalid, use 'const'")
	}
	if len(attributes) > 0 {
		p.fail(t.Pos, "expected declaration after attributes")
	}
	switch {
	case t.is("struct"):
		return p.structure()
	case t.is("alias"):
		p.take()
		name := p.ident("type alias")
		p.expect("=", "type alias")
		a := &Alias{Pos: t.Pos, NamePos: name.Pos, Name: name.Text, Type: p.typeName("type alias")}
		p.expect(";", "type alias")
		return a
	case t.is("const_assert"):
		return p.constAssert()
	}
	p.fail(t.Pos, "unexpected token %s, expected a declaration", t.describe())
	return nil
}

func (p *parser) constAssert() Stmt {
	t := p.take()
	a := &ConstAssert{Pos: t.Pos, X: p.expr()}
	p.expect(";", "const_assert")
	return a
}

func (p *parser) attributes() []Attribute {
	var list []Attribute
	for p.next("@") {
		p.take()
		t := p.take()
		if !attributes[t.Text] {
			p.fail(t.Pos, "expected attribute, found %s", t.describe())
		}
		a := Attribute{Pos: t.Pos, Name: t.Text}
		if p.next("(") {
			a.Args = p.arguments()
		}
		list = append(list, a)
	}
	return list
}

// variable reads var, let, const and override up to the semicolon.
func (p *parser) variable(attributes []Attribute) *VarDecl {
	t := p.take()
	d := &VarDecl{Pos: t.Pos, Keyword: t.Text, Attributes: attributes}
	what := "'" + t.Text + "' declaration"
	if t.Text == "var" && p.peek().Kind == TemplateStart {
		d.Template = p.template()
	}
	name := p.ident(what)
	d.Name, d.NamePos = name.Text, name.Pos
	if p.accept(":") {
		d.Type = p.typeName(what)
	}
	if p.accept("=") {
		d.Init = p.expr()
	}
	if d.Init == nil && (t.Text == "let" || t.Text == "const") {
		p.expect("=", what)
	}
	return d
}

func (p *parser) params(end, what string) []Param {
	var list []Param
	for !p.next(end) {
		attributes := p.attributes()
		name := p.ident(what)
		p.expect(":", what)
		list = append(list, Param{Pos: name.Pos, Name: name.Text, Type: p.typeName(what), Attributes: attributes})
		if !p.accept(",") {
			break
		}
	}
	p.expect(end, what)
	return list
}

func (p *parser) function(attributes []Attribute) *Function {
	t := p.take()
	name := p.ident("function declaration")
	f := &Function{Pos: t.Pos, NamePos: name.Pos, Name: name.Text, Attributes: attributes}
	p.expect("(", "function declaration")
	f.Params = p.params(")", "function parameter")
	if p.accept("->") {
		f.ResultAttributes = p.attributes()
		f.Result = p.typeName("function return type")
	}
	f.Body = p.body("function body")
	return f
}

func (p *parser) structure() *Struct {
	t := p.take()
	name := p.ident("struct declaration")
	s := &Struct{Pos: t.Pos, NamePos: name.Pos, Name: name.Text}
	p.expect("{", "struct declaration")
	s.Members = p.params("}", "struct member")
	return s
}

// typeName reads a type: a name with its template list.
func (p *parser) typeName(where string) Expr {
	t := p.ident(where)
	return p.name(t)
}

func (p *parser) name(t Token) *Name {
	n := &Name{Pos: t.Pos, Text: t.Text}
	if p.peek().Kind == TemplateStart {
		n.Template, n.Templated = p.template(), true
	}
	return n
}

func (p *parser) template() []Expr {
	defer p.nest()()
	p.take()
	var list []Expr
	for p.peek().Kind != TemplateEnd {
		list = append(list, p.expr())
		if !p.accept(",") {
			break
		}
	}
	if t := p.peek(); t.Kind != TemplateEnd || len(list) == 0 {
		p.fail(t.Pos, "expected '>' for template list, found %s", t.describe())
	}
	p.take()
	return list
}

func (p *parser) arguments() []Expr {
	p.expect("(", "call")
	var list []Expr
	for !p.next(")") {
		list = append(list, p.expr())
		if !p.accept(",") {
			break
		}
	}
	p.expect(")", "call")
	return list
}

package symbolic

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// Limits of an expression.
const (
	MaxText  = 64 << 10 // bytes
	MaxDepth = 200      // of nesting
)

// Parse reads an expression.
func Parse(text string) (*Expr, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("an expression has %d bytes; %d are supported", len(text), MaxText)
	}
	p := &parser{text: text}
	p.next()
	e := p.expr(0, 0)
	if p.err == nil && p.token != "" {
		p.fail("%q is left over", p.token)
	}
	if p.err != nil {
		return nil, fmt.Errorf("expression %q, byte %d: %w", cut(text), p.start, p.err)
	}
	return e, nil
}

func cut(text string) string {
	if len(text) > 80 {
		return text[:80] + "…"
	}
	return text
}

type parser struct {
	text       string
	token      string // empty at the end
	start, end int    // of the token
	err        error
}

func (p *parser) fail(format string, args ...any) *Expr {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
	p.token = ""
	return &Expr{num: new(big.Rat)}
}

func letter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// next reads a token: a name with its dots, a number, a string, or an operator.
func (p *parser) next() {
	at := p.end
	for at < len(p.text) && (p.text[at] == ' ' || p.text[at] == '\n') {
		at++
	}
	p.start = at
	rest := p.text[at:]
	n := 1
	switch {
	case rest == "":
		p.token, p.end = "", at
		return
	case letter(rest[0]):
		for n < len(rest) && (letter(rest[n]) || digit(rest[n]) || rest[n] == '.') {
			n++
		}
	case digit(rest[0]):
		for n < len(rest) && (letter(rest[n]) || digit(rest[n]) || rest[n] == '.' || rest[n-1] == 'e' && (rest[n] == '-' || rest[n] == '+')) {
			n++
		}
	case rest[0] == '\'' || rest[0] == '"':
		i := strings.IndexByte(rest[1:], rest[0])
		if i < 0 {
			p.fail("a string has no end")
			return
		}
		n = i + 2
	default:
		for _, op := range []string{"//", "**", "<=", ">=", "==", "!="} {
			if strings.HasPrefix(rest, op) {
				n = 2
			}
		}
	}
	p.token, p.end = rest[:n], at+n
}

func (p *parser) take(token string) {
	if p.token != token {
		p.fail("%q stands where %q should", p.token, token)
		return
	}
	p.next()
}

// binary operators bind tighter the higher their level; their functions are those of
// [Apply].
var binary = map[string]struct {
	level int
	name  string
}{
	"<": {1, "StrictLessThan"}, "<=": {1, "LessThan"}, ">": {1, "StrictGreaterThan"}, ">=": {1, "GreaterThan"}, "==": {1, "Equality"}, "!=": {1, "Unequality"},
	"+": {2, "Add"}, "-": {2, "Sub"}, "*": {3, "Mul"}, "/": {3, "IntTrueDiv"}, "//": {3, "FloorDiv"}, "%": {3, "Mod"}, "**": {5, "Pow"},
}

const unary = 4 // the level of a sign

func (p *parser) expr(level, depth int) *Expr {
	left := p.operand(depth)
	for {
		op, ok := binary[p.token]
		if !ok || op.level <= level {
			return left
		}
		p.next()
		next := op.level
		if op.name == "Pow" { // from the right
			next--
		}
		left = &Expr{name: op.name, args: []*Expr{left, p.expr(next, depth+1)}, call: true}
	}
}

func (p *parser) operand(depth int) *Expr {
	if depth > MaxDepth {
		return p.fail("it is nested more than %d deep", MaxDepth)
	}
	token := p.token
	switch {
	case token == "":
		return p.fail("it ends too early")
	case token == "-":
		p.next()
		return &Expr{name: "Neg", args: []*Expr{p.expr(unary, depth+1)}, call: true}
	case token == "(":
		p.next()
		e := p.expr(0, depth+1)
		p.take(")")
		return e
	case digit(token[0]):
		p.next()
		return p.number(token)
	case letter(token[0]):
		p.next()
		if p.token == "(" {
			return p.call(token, depth)
		}
		return named(token)
	}
	return p.fail("%q is unexpected", token)
}

func named(token string) *Expr {
	switch token {
	case "True", "true":
		return &Expr{num: truth(true)}
	case "False", "false":
		return &Expr{num: truth(false)}
	}
	return &Expr{name: token}
}

// number reads decimal digits. An exponent is bounded, so that the number is.
func (p *parser) number(token string) *Expr {
	if _, exponent, ok := strings.Cut(token, "e"); len(token) > 64 || ok && len(strings.TrimLeft(exponent, "+-0")) > 2 {
		return p.fail("the number %s is too long", cut(token))
	}
	v, ok := new(big.Rat).SetString(token)
	if !ok {
		return p.fail("%s is no number", token)
	}
	return &Expr{num: v}
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// call reads the operands of a function. Those with names are hints for SymPy.
func (p *parser) call(name string, depth int) *Expr {
	e := &Expr{name: name[strings.LastIndexByte(name, '.')+1:], call: true}
	switch e.name {
	case "sym_max":
		e.name = "Max"
	case "sym_min":
		e.name = "Min"
	}
	p.take("(")
	var text string
	for p.token != ")" && p.err == nil {
		if p.token != "" && (p.token[0] == '\'' || p.token[0] == '"') {
			text = p.token[1 : len(p.token)-1]
			p.next()
		} else if a := p.expr(0, depth+1); p.token == "=" {
			p.next()
			p.expr(0, depth+1)
		} else {
			e.args = append(e.args, a)
		}
		if p.token != ")" {
			p.take(",")
		}
	}
	p.take(")")
	return p.finish(e, text)
}

// finish makes numbers and symbols of the calls that write them.
func (p *parser) finish(e *Expr, text string) *Expr {
	switch {
	case p.err != nil:
		return e
	case (e.name == "Symbol" || e.name == "Dummy") && len(e.args) == 0:
		if !plainName.MatchString(text) || named(text).num != nil {
			return p.fail("%q is no name of a symbol", cut(text))
		}
		return &Expr{name: text}
	case e.name == "Float" && text != "":
		return p.number(text)
	case text != "":
		return p.fail("the string %q is unexpected", cut(text))
	case e.name == "Integer" && len(e.args) == 1:
		if v, err := e.args[0].eval(nil); err == nil {
			return &Expr{num: v}
		}
	}
	return e
}

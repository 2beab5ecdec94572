package script

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// expr parses a sum of terms.
func (p *parser) expr() Expr {
	start := p.tok()
	x := p.term()
	for p.is("+") || p.is("-") {
		x = p.binary(start, x, p.term)
	}
	return x
}

// term parses a product of operands.
func (p *parser) term() Expr {
	start := p.tok()
	x := p.unary()
	for p.is("*") || p.is("/") || p.is("@") {
		x = p.binary(start, x, p.unary)
	}
	if _, refused := refusedOperators[p.tok().text]; refused {
		p.refuse(p.tok())
	}
	return x
}

// binary parses the operator after x, which began at start, and its right
// operand.
func (p *parser) binary(start token, x Expr, operand func() Expr) Expr {
	t := p.tok()
	p.i++
	y := operand()
	return &Binary{Span: p.since(start), Op: Ident{t.Span, t.text}, X: x, Y: y}
}

// enter counts one level of nesting and fails when there are too many; the
// stack of the parser and of everything that walks expressions stays bounded.
func (p *parser) enter() bool {
	if p.depth >= p.limits.Nesting {
		p.fail(p.tok().Span, fmt.Sprintf("this expression is nested more than %d levels deep", p.limits.Nesting), "give inner parts names of their own")
		return false
	}
	p.depth++
	return true
}

func (p *parser) unary() Expr {
	t := p.tok()
	switch {
	case p.is("-"):
		if !p.enter() {
			return &invalid{t.Span}
		}
		defer func() { p.depth-- }()
		p.i++
		x := p.unary()
		return &Neg{p.since(t), x}
	case p.is("+"):
		p.fail(t.Span, "a plus sign before an operand does nothing", "remove it")
		return &invalid{t.Span}
	}
	return p.primary()
}

// primary parses an atom and the method calls on it.
func (p *parser) primary() Expr {
	start := p.tok()
	x := p.atom()
	for !p.failed {
		switch t := p.tok(); {
		case p.is("."):
			x = p.method(start, x)
		case p.is("["):
			p.fail(t.Span, "a tensor has no subscripts", "reduce it with sum, mean, max or min along an axis, or pass the part you need as an input of its own")
		case p.is("("):
			p.fail(t.Span, "only a named function can be called", "write name(arguments); * multiplies")
		case t.kind == word && p.refuse(t):
		default:
			return x
		}
	}
	return x
}

// method parses .name(args) after its receiver, which began at start.
func (p *parser) method(start token, x Expr) Expr {
	p.i++ // the dot
	fun := p.ident("a method", "write x.relu() or relu(x)")
	if !p.is("(") {
		p.attribute(x, fun)
		return x
	}
	call := &Call{Fun: fun, Args: []Expr{x}, Method: true}
	p.arguments(call)
	call.Span = p.since(start)
	return call
}

// attribute refuses x.name without a call.
func (p *parser) attribute(x Expr, attr Ident) {
	if n, ok := x.(*Name); ok && modules[n.Name] && !p.isParam(n.Name) {
		p.fail(n.Span, noModules(n.Name), attributeOfModule(attr.Name))
		return
	}
	hint := "tensors have methods only: write " + attr.Name + "(x) if it is a function"
	switch attr.Name {
	case "T", "mT":
		hint = "write transpose(x)"
	case "shape", "ndim", "size", "dtype":
		hint = "shapes are static: write the numbers themselves"
	}
	if _, ok := builtins[attr.Name]; ok {
		hint = fmt.Sprintf("call it: .%s()", attr.Name)
	}
	p.fail(attr.Span, fmt.Sprintf("a tensor has no attribute %q", attr.Name), hint)
}

// attributeOfModule says what to write for math.pi and the like.
func attributeOfModule(name string) string {
	if value, ok := numbers[name]; ok {
		return "write the number: " + value
	}
	return "every function is built in, and numbers are written out"
}

func (p *parser) atom() Expr {
	t := p.tok()
	switch {
	case t.kind == number:
		p.i++
		return p.number(t)
	case p.is("("):
		return p.parenthesised()
	case t.kind == word && !keywords[t.text]:
		p.i++
		if !p.is("(") {
			return &Name{Ident{t.Span, t.text}}
		}
		call := &Call{Fun: Ident{t.Span, t.text}}
		p.arguments(call)
		call.Span = p.since(t)
		return call
	case p.refuse(t):
	case p.is("["):
		p.fail(t.Span, "a list is not a tensor", "pass the tensor as an input")
	case t.kind == str:
		p.fail(t.Span, "a string is not a tensor", "a string is allowed only as the first line of a function, to document it")
	default:
		p.fail(t.Span, fmt.Sprintf("found %s where a value belongs", t.describe()), "write a name, a number, a call or an expression in parentheses")
	}
	return &invalid{t.Span}
}

// parenthesised parses "(" Expr ")".
func (p *parser) parenthesised() Expr {
	open := p.tok()
	if !p.enter() {
		return &invalid{open.Span}
	}
	defer func() { p.depth-- }()
	p.i++
	if p.is(")") {
		p.fail(open.to(p.tok().Span), "these parentheses are empty", "write an expression between them")
		return &invalid{open.Span}
	}
	x := p.expr()
	if t := p.tok(); p.is(",") {
		p.fail(t.Span, "a tuple is not a tensor", "write one expression; a function returns several tensors as return a, b")
	}
	p.expect(")", "close the parenthesis")
	return x
}

// arguments parses "(" Args ")" into call.
func (p *parser) arguments(call *Call) {
	if !p.enter() {
		return
	}
	defer func() { p.depth-- }()
	p.i++
	for !p.failed && !p.is(")") {
		p.argument(call)
		if !p.take(",") {
			break
		}
	}
	p.expect(")", "separate arguments by commas, and close the list with )")
}

func (p *parser) argument(call *Call) {
	t := p.tok()
	next := p.toks[min(p.i+1, len(p.toks)-1)]
	switch {
	case p.is("*") || p.is("**"):
		p.fail(t.Span, "arguments are written one by one", "name each tensor")
	case t.kind == word && next.kind == punct && next.text == "=":
		p.i += 2
		call.Named = append(call.Named, NamedArg{Ident{t.Span, t.text}, p.static()})
	case len(call.Named) > 0:
		p.fail(t.Span, "a positional argument follows a named one", "write it first")
	default:
		call.Args = append(call.Args, p.static())
	}
}

// static parses an argument: an expression, or one of the constants that only
// arguments can be.
func (p *parser) static() Expr {
	t := p.tok()
	switch {
	case p.is("True") || p.is("False"):
		p.i++
		return &Const{t.Span, t.text == "True"}
	case p.is("None"):
		p.fail(t.Span, "None is not a value of ForgeScript", "leave the argument out")
		return &invalid{t.Span}
	case p.is("[") || p.is("(") && p.tupleAhead():
		return p.tuple()
	}
	return p.expr()
}

// tupleAhead reports whether the parentheses that open here hold a comma at
// their own depth.
func (p *parser) tupleAhead() bool {
	depth := 0
	for _, t := range p.toks[p.i:] {
		switch {
		case t.kind == newline || t.kind == eof:
			return false
		case t.kind != punct:
		case t.text == "(" || t.text == "[":
			depth++
		case t.text == ")" || t.text == "]":
			if depth--; depth == 0 {
				return false
			}
		case t.text == "," && depth == 1:
			return true
		}
	}
	return false
}

// tuple parses (2, 3) or [2, 3].
func (p *parser) tuple() Expr {
	open := p.tok()
	p.i++
	list := &Tuple{}
	for !p.failed && !p.is(closing[open.text]) {
		list.Elems = append(list.Elems, p.expr())
		if !p.take(",") {
			break
		}
	}
	p.expect(closing[open.text], "separate the numbers by commas")
	list.Span = p.since(open)
	return list
}

// number judges a numeric literal.
func (p *parser) number(t token) Expr {
	n := &Number{Span: t.Span, Text: t.text}
	value, err := strconv.ParseFloat(t.text, 64)
	lower := strings.ToLower(t.text)
	switch {
	case len(t.text) > maxNumber:
		p.fail(t.Span, fmt.Sprintf("this number has %d characters", len(t.text)), fmt.Sprintf("a number has at most %d; float32 keeps 9 digits", maxNumber))
	case strings.Contains(t.text, "_"):
		p.fail(t.Span, "a number has no underscores", "write "+strings.ReplaceAll(t.text, "_", ""))
	case strings.HasPrefix(lower, "0x"), strings.HasPrefix(lower, "0b"), strings.HasPrefix(lower, "0o"):
		p.fail(t.Span, fmt.Sprintf("%s is not a decimal number", t.text), p.decimal(t.text))
	case strings.HasSuffix(lower, "j"):
		p.fail(t.Span, "there are no complex numbers", "tensors are float32: write a real number")
	case errors.Is(err, strconv.ErrSyntax):
		p.fail(t.Span, fmt.Sprintf("%s is not a number", t.text), "write digits with at most one point and one exponent, such as 0.5 or 1e-5")
	case len(t.text) > 1 && t.text[0] == '0' && isDigit(t.text[1]):
		p.fail(t.Span, "a number does not start with extra zeros", "write "+strings.TrimLeft(t.text[:len(t.text)-1], "0")+t.text[len(t.text)-1:])
	case math.IsInf(float64(float32(value)), 0):
		p.fail(t.Span, fmt.Sprintf("%s is not finite in float32", t.text), "the largest value is 3.4028235e38")
	case float32(value) == 0 && strings.Trim(mantissa(lower), "0.") != "":
		p.fail(t.Span, fmt.Sprintf("%s becomes zero in float32", t.text), "the smallest positive value is 1.4e-45")
	}
	n.Value = value
	n.Whole = !strings.ContainsAny(lower, ".e")
	return n
}

// mantissa is a lower-case literal up to its exponent.
func mantissa(lower string) string {
	m, _, _ := strings.Cut(lower, "e")
	return m
}

// decimal suggests the decimal form of a literal in another base.
func (p *parser) decimal(text string) string {
	if v, err := strconv.ParseUint(text, 0, 64); err == nil {
		return fmt.Sprintf("write %d", v)
	}
	return "write digits in base ten"
}

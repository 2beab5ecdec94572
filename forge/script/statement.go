package script

import (
	"fmt"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/spelling"
)

// body parses the indented lines under a def.
func (p *parser) body(f *Func) {
	depth := p.indent()
	for p.tok().kind != eof && p.indent() > 0 {
		t := p.tok()
		switch n := p.indent(); {
		case n > depth:
			p.fail(t.Span, "this line is indented deeper than the one before", fmt.Sprintf("indent every line of the body by %d spaces; nothing nests", depth))
		case n < depth:
			p.fail(t.Span, "this line is indented less than the body's first", fmt.Sprintf("indent every line of the body by %d spaces", depth))
		case f.Return != nil:
			p.fail(t.Span, "this statement can never run: the function has returned", "delete it, or move it before the return")
			p.skipBody()
			return
		}
		p.statement(f)
	}
	if f.Return == nil && !p.anyFrom(f) {
		p.unfinished = p.tok().kind == eof
		p.report(f.Name.Span, fmt.Sprintf("function %s returns nothing", f.Name.Name), "end its body with return and an expression, indented by four spaces")
	}
}

// anyFrom reports whether a problem lies in f or after it. The scanner runs
// first, so its problems are already there.
func (p *parser) anyFrom(f *Func) bool {
	line, _ := p.src.Position(f.Start)
	return p.full || slices.ContainsFunc(p.errs, func(d *display.Diagnostic) bool { return d.Line >= line })
}

// statement parses one line of a body.
func (p *parser) statement(f *Func) {
	t := p.tok()
	refusedBlock := blocks[t.text] && t.kind == word
	switch {
	case p.failed:
	case p.take("return"):
		f.Return = p.result(t)
		f.End = p.since(t).End
	case t.kind == str && isPlain(t.text):
		p.docstring(f, t)
	case p.binds():
		p.assign(f)
	case p.refuse(t):
	default:
		p.useless()
	}
	depth := p.indentOf(t)
	p.endLine("the statement")
	for refusedBlock && p.tok().kind != eof && p.indent() > depth {
		p.skipLine()
	}
}

func (p *parser) indentOf(t token) int {
	_, col := p.src.Position(t.Start)
	return col - 1
}

// result parses what follows return: an expression, or several for a tuple.
func (p *parser) result(t token) []Expr {
	if p.tok().kind == newline || p.tok().kind == eof {
		p.fail(t.Span, "this return has no value", "write the tensor that the function computes after it")
	}
	list := []Expr{p.expr()}
	for !p.failed && p.is(",") {
		comma := p.tok()
		p.i++
		if k := p.tok().kind; k == newline || k == eof {
			p.fail(comma.Span, "this comma makes a tuple of one tensor", "remove it, or write another result after it")
		}
		list = append(list, p.expr())
		if p.limits.Outputs < len(list) {
			p.fail(list[len(list)-1].span(), fmt.Sprintf("this return has more than %d results", p.limits.Outputs), "pack some together, or split the function")
		}
	}
	return list
}

// binds reports whether an assignment comes next: NAME { "," NAME } "=".
func (p *parser) binds() bool {
	for i := p.i; p.toks[i].kind == word; i += 2 {
		switch next := p.toks[i+1]; {
		case next.kind == punct && next.text == "=":
			return true
		case next.kind != punct || next.text != ",":
			return false
		}
	}
	return false
}

// assign parses NAME { "," NAME } = Expr.
func (p *parser) assign(f *Func) {
	var targets []Ident
	for {
		targets = append(targets, p.ident("a name", "write name = expression"))
		if !p.take(",") {
			break
		}
	}
	p.take("=")
	x := p.expr()
	switch t := p.tok(); {
	case p.is("="):
		p.fail(t.Span, "one line has one equals sign", "write a line for each assignment")
	case p.is(",") && len(targets) == 1:
		p.fail(t.Span, "a name holds one tensor", "write a line for each value")
	case p.is(","):
		p.fail(t.Span, "the values of one line come from one call", "write a line for each value")
	}
	if !p.failed {
		f.Body = append(f.Body, Assign{targets, x})
	}
}

// useless reports a line that is neither an assignment nor a return, as
// precisely as its first tokens allow.
func (p *parser) useless() {
	start := p.tok()
	x := p.expr()
	t := p.tok()
	call, _ := x.(*Call)
	switch _, named := x.(*Name); {
	case p.failed:
	case named && t.kind != newline && spelling.Nearest(start.text, slices.Values([]string{"return"})) != "":
		p.fail(start.Span, fmt.Sprintf("%q starts no statement", start.text), "did you mean return?")
	case call != nil && call.Fun.Name == "print":
		p.fail(x.span(), "ForgeScript prints nothing", "return the tensor, and print it in a Go cell")
	case p.is(",") && named:
		p.fail(t.Span, "only names separated by commas can be assigned together", "write a, b = f(x)")
	case p.is(":") && named:
		p.fail(t.Span, "only parameters and results are annotated", "write name = expression")
	case p.is("="):
		p.fail(p.since(start), "only a name can be assigned", "values never change: bind the new tensor to a name")
	case p.refuse(t):
	default:
		p.fail(p.since(start), "the value of this expression is not used", "assign it to a name, or return it")
	}
}

// docstring keeps the string that opens a body.
func (p *parser) docstring(f *Func, t token) {
	p.i++
	switch next := p.tok(); {
	case f.Doc != "" || len(f.Body) > 0 || f.Return != nil:
		p.fail(t.Span, "a string is allowed only as the first line of a function, to document it", "write a comment with #")
	case next.kind != newline && next.kind != eof:
		p.fail(t.Span, "a string is not a tensor", "a string is allowed only as the first line of a function, to document it")
	default:
		f.Doc = unquote(t.text)
	}
}

// isPlain reports whether a string literal has no prefix.
func isPlain(literal string) bool { return literal[0] == '"' || literal[0] == '\'' }

// unquote removes quotes and the common indentation of the later lines.
// Backslashes are kept: documentation writes them as they are.
func unquote(literal string) string {
	n := 1
	if len(literal) >= 6 && literal[1] == literal[0] && literal[2] == literal[0] {
		n = 3
	}
	lines := strings.Split(strings.ReplaceAll(literal[n:len(literal)-n], "\r\n", "\n"), "\n")
	common := -1
	for _, line := range lines[1:] {
		if text := strings.TrimLeft(line, " "); text != "" && (common < 0 || len(line)-len(text) < common) {
			common = len(line) - len(text)
		}
	}
	for i, line := range lines {
		if i > 0 && len(line) >= common && common > 0 {
			line = line[common:]
		}
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

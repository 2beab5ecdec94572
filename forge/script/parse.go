package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"forgekernel/display"
)

// Parse parses and checks source text called name ("mlp.fs", "cell 3").
// Functions of scope may be called; nil is the empty scope. The error is an
// [Errors].
func Parse(name, text string, scope Scope, limits Limits) (*File, error) {
	limits = limits.withDefaults()
	if len(text) > limits.Source {
		return nil, Errors{{
			Source:  name,
			Message: fmt.Sprintf("the source has %d bytes, and the limit is %d", len(text), limits.Source),
			Hint:    "split it into several cells or files",
		}}
	}
	file, r := parse(name, text, limits)
	if len(r.errs) == 0 {
		check(file, scope, r)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return file, nil
}

// parse does everything but the checks of names.
func parse(name, text string, limits Limits) (*File, *reporter) {
	src := newSource(name, text)
	r := &reporter{src: src, limit: limits.Errors}
	p := &parser{reporter: r, toks: scan(r).tokens, limits: limits}
	file := &File{Source: src, limits: limits}
	p.file(file)
	return file, r
}

// parser is a recursive-descent parser. The first problem of a logical line
// moves it to the end of that line, and further ones on the line are
// consequences that nobody hears of; so every parsing function may go on as if
// nothing had happened.
type parser struct {
	*reporter
	toks   []token
	i      int
	depth  int
	limits Limits
	fn     *Func // whose text is being read
	failed bool  // this logical line has had its problem
	// unfinished says that the source ends where the body of a function should
	// go on.
	unfinished bool
}

func (p *parser) tok() token { return p.toks[p.i] }

// is reports whether the current token is the operator or keyword text.
func (p *parser) is(text string) bool {
	t := p.tok()
	return t.text == text && (t.kind == punct || t.kind == word)
}

// take passes the operator or keyword text if it comes next.
func (p *parser) take(text string) bool {
	if !p.is(text) {
		return false
	}
	p.i++
	return true
}

// fail reports a problem and gives up the rest of the logical line. A token
// that the scanner refused has been reported already.
func (p *parser) fail(span Span, message, hint string, notes ...string) {
	if !p.failed {
		p.failed = true
		if p.tok().kind != bad {
			p.report(span, message, hint, notes...)
		}
	}
	for p.tok().kind != newline && p.tok().kind != eof {
		p.i++
	}
}

// since is the span from a token to the last one passed.
func (p *parser) since(t token) Span { return Span{t.Start, max(t.End, p.toks[max(p.i, 1)-1].End)} }

// expect passes the operator text or fails.
func (p *parser) expect(text, context string) {
	if p.take(text) {
		return
	}
	t := p.tok()
	if !p.refuse(t) {
		p.fail(t.Span, fmt.Sprintf("found %s where %q belongs", t.describe(), text), context)
	}
}

// describe names a token in a message.
func (t token) describe() string {
	switch t.kind {
	case eof:
		return "the end of the source"
	case newline:
		return "the end of the line"
	case str:
		return "a string"
	}
	return strconv.Quote(t.text)
}

// endLine passes the end of a logical line.
func (p *parser) endLine(context string) {
	if t := p.tok(); t.kind != newline && t.kind != eof && !p.refuse(t) {
		p.fail(t.Span, fmt.Sprintf("found %s after the end of %s", t.describe(), context), "write one statement on each line")
	}
	if p.tok().kind == newline {
		p.i++
	}
	p.failed = false
}

// indent is the number of columns before the token that starts a line.
func (p *parser) indent() int {
	_, col := p.src.Position(p.tok().Start)
	return col - 1
}

func (p *parser) file(f *File) {
	for p.tok().kind != eof {
		switch t := p.tok(); {
		case p.is("def") && p.indent() == 0:
			fn := p.function()
			fn.file = f
			f.Funcs = append(f.Funcs, fn)
		case p.is("def"):
			p.fail(t.Span, "this function is indented", "start def in the first column; functions do not nest")
			p.skipLine()
			p.skipBody()
		default:
			p.outside(f, t)
		}
	}
	if len(f.Funcs) == 0 && len(p.errs) == 0 {
		p.report(Span{}, "there is no function here", "write def name(x): and a body that returns a tensor")
	}
}

// outside reports a statement of f that is not in a function.
func (p *parser) outside(f *File, t token) {
	switch {
	case p.is("return"):
		p.fail(t.Span, "this return is outside a function", "indent it like the body of its function")
	case p.refuse(t):
	case t.kind == str:
		p.fail(t.Span, "a string outside a function documents nothing", "write a comment with #, or move it to the start of a function's body")
	case t.kind == word && nearest(t.text, []string{"def"}) != "":
		p.fail(t.Span, fmt.Sprintf("%q starts no definition", t.text), "did you mean def?")
		p.endLine("the line")
		p.skipBody()
		return
	default:
		hint := "write it in the body of a def, indented by four spaces"
		if len(f.Funcs) > 0 && t.kind == word {
			hint = "write it in the body of a def, indented by four spaces; a def cell has nothing but functions, so call them in a Go cell of its own"
		}
		p.fail(t.Span, "this statement is outside a function", hint)
	}
	p.endLine("the statement")
	if t.kind == word && blocks[t.text] {
		p.skipBody()
	}
}

// skipLine passes the rest of a logical line without a word.
func (p *parser) skipLine() {
	for p.tok().kind != newline && p.tok().kind != eof {
		p.i++
	}
	p.endLine("the line")
}

// skipBody passes the indented lines that follow without a word.
func (p *parser) skipBody() {
	for p.tok().kind != eof && p.indent() > 0 {
		p.skipLine()
	}
}

func (p *parser) function() *Func {
	f := &Func{}
	p.fn = f
	f.Span = p.tok().Span
	p.i++ // def
	f.Name = p.ident("the function's name", "write def name(x):")
	p.expect("(", "write the parameters in parentheses: def name(x):")
	p.params(f)
	if p.take("->") {
		f.Result = p.results()
	}
	p.expect(":", "end the first line of a function with a colon")
	if t := p.tok(); t.kind != newline && t.kind != eof && !p.failed {
		p.oneLine(f)
		return f
	}
	p.endLine("the function's first line")
	p.body(f)
	return f
}

// oneLine parses a body on the line of its def.
func (p *parser) oneLine(f *Func) {
	if t := p.tok(); !p.is("return") && !p.refuse(t) {
		p.fail(t.Span, "a function on one line has only a return", "write the body on lines of its own, indented by four spaces")
	}
	p.statement(f)
}

// params parses the parameters and the closing parenthesis.
func (p *parser) params(f *Func) {
	for !p.failed && !p.is(")") {
		if t := p.tok(); p.is("*") || p.is("**") {
			p.fail(t.Span, "a function takes a fixed number of tensors", "name each parameter")
		}
		param := Param{Name: p.ident("a parameter", "write names separated by commas")}
		if p.take(":") {
			param.Type = p.annotation()
		}
		if t := p.tok(); p.is("=") {
			p.fail(t.Span, "a parameter has no default value", "write the number where it is used, or pass it in every call")
		}
		if !p.failed {
			f.Params = append(f.Params, param)
		}
		if !p.take(",") {
			break
		}
	}
	p.expect(")", "separate parameters by commas, and close the list with )")
}

// isParam reports whether the function being read has a parameter of the name.
func (p *parser) isParam(name string) bool {
	return slices.ContainsFunc(p.fn.Params, func(a Param) bool { return a.Name.Name == name })
}

// ident parses a name that is being bound.
func (p *parser) ident(what, hint string) Ident {
	t := p.tok()
	switch {
	case t.kind != word:
		if !p.refuse(t) {
			p.fail(t.Span, fmt.Sprintf("found %s where %s belongs", t.describe(), what), hint)
		}
	case keywords[t.text]:
		p.fail(t.Span, fmt.Sprintf("%q is a word of the language and cannot be a name", t.text), "choose another name")
	default:
		p.i++
	}
	return Ident{t.Span, t.text}
}

// results parses the annotation of the result: a type, or several in
// parentheses for a tuple.
func (p *parser) results() []*Type {
	open := p.tok()
	if !p.take("(") {
		return []*Type{p.annotation()}
	}
	var list []*Type
	for !p.failed && !p.is(")") {
		if t := p.tok(); p.is("(") {
			p.fail(t.Span, "a tuple of results is flat", "write the types one after another: (f32[8], f32[16])")
			break
		}
		list = append(list, p.annotation())
		if !p.take(",") {
			break
		}
	}
	p.expect(")", "separate types by commas, and close the list with )")
	if len(list) < 2 && !p.failed {
		p.fail(p.since(open), "a tuple has two or more results", "write one type without parentheses")
	}
	return list
}

// annotation parses f32[dims...].
func (p *parser) annotation() *Type {
	t := p.tok()
	typ := &Type{Span: t.Span}
	switch {
	case t.kind != word:
		p.fail(t.Span, fmt.Sprintf("found %s where a type belongs", t.describe()), "write f32[8,16], or f32 for a scalar")
		return typ
	case t.text != "f32":
		p.fail(t.Span, fmt.Sprintf("%s is not a type of ForgeScript", t.describe()), "tensors are float32: write f32[8,16], or f32 for a scalar")
		return typ
	}
	p.i++
	if !p.take("[") {
		return typ
	}
	for !p.failed && !p.is("]") {
		typ.Shape = append(typ.Shape, p.dim())
		if !p.take(",") {
			break
		}
	}
	typ.End = p.tok().End
	p.expect("]", "separate dimensions by commas, and close the list with ]")
	if len(typ.Shape) > maxRank && !p.failed {
		p.fail(typ.Span, fmt.Sprintf("this type has %d dimensions", len(typ.Shape)), fmt.Sprintf("a tensor has at most %d", maxRank))
	}
	return typ
}

func (p *parser) dim() int {
	t := p.tok()
	n, err := strconv.Atoi(t.text)
	switch {
	case t.kind != number:
		p.fail(t.Span, fmt.Sprintf("found %s where a dimension belongs", t.describe()), "shapes are static: write a positive whole number")
	case err != nil || n < 1 || t.text[0] == '0':
		p.fail(t.Span, fmt.Sprintf("%s is not a dimension", t.text), "write a positive whole number")
	case n > p.limits.Elements:
		p.fail(t.Span, fmt.Sprintf("a dimension of %d is too large", n), fmt.Sprintf("a tensor has at most %d elements", p.limits.Elements))
	default:
		p.i++
	}
	return n
}

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
	case named && t.kind != newline && nearest(start.text, []string{"return"}) != "":
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

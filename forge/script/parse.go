package script

import (
	"fmt"
	"slices"
	"strconv"

	"forgekernel/forge/spelling"
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
	case t.kind == word && spelling.Nearest(t.text, slices.Values([]string{"def"})) != "":
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

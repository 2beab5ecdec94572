package script

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Status is how far a source is from something that can run.
type Status string

// Statuses, in Jupyter's words.
const (
	Complete   Status = "complete"
	Incomplete Status = "incomplete"
	Invalid    Status = "invalid"
)

// Completeness says whether source can run as it stands, needs more lines, or
// is wrong whatever follows. indent is the indentation of the next line of an
// incomplete source. Names are not looked up.
func Completeness(src string) (status Status, indent string) {
	if len(src) > MaxSource {
		return Invalid, ""
	}
	if strings.TrimSpace(src) == "" {
		return Complete, ""
	}
	r := &reporter{src: newSource("", src), limit: 2}
	p := &parser{reporter: r, limits: Limits{}.withDefaults()}
	s := scan(r)
	p.toks = s.tokens
	p.file(&File{})
	switch {
	case len(r.errs) == 0:
		return Complete, ""
	case len(r.errs) == 1 && (s.unfinished || p.unfinished):
		return Incomplete, nextIndent(r.src, s.unfinished)
	}
	return Invalid, ""
}

// nextIndent is the indentation after the last line that has text: deeper
// after a def line or inside an open bracket.
func nextIndent(src *Source, open bool) string {
	for n := len(src.lines); n > 0; n-- {
		line := src.Line(n)
		text := strings.TrimLeft(line, " ")
		if text == "" || text[0] == '#' {
			continue
		}
		indent := line[:len(line)-len(text)]
		if open || strings.HasPrefix(text, "def ") {
			indent += "    "
		}
		return indent
	}
	return ""
}

// Candidate is one way to complete the text at the cursor.
type Candidate struct {
	Text      string
	Kind      string // "function", "variable", "keyword", "argument", "type"
	Signature string // of a function
}

// Completions lists what may stand at the cursor, a position in code points,
// in place of the text from start to end.
func Completions(src string, cursor int, scope Scope) (list []Candidate, start, end int) {
	c := newCursor(src, cursor)
	start, end = cursor-len(c.prefix), cursor
	if c.silent {
		return nil, start, end
	}
	for _, candidate := range c.candidates(scope) {
		if strings.HasPrefix(candidate.Text, c.prefix) {
			list = append(list, candidate)
		}
	}
	slices.SortStableFunc(list, func(a, b Candidate) int { return strings.Compare(a.Text, b.Text) })
	return slices.CompactFunc(list, func(a, b Candidate) bool { return a.Text == b.Text }), start, end
}

// cursor is the text before a position, and what it means for the next name.
type cursor struct {
	toks   []token // of the text before the name being typed
	prefix string  // the part of the name that is there
	silent bool    // inside a comment, a string or a number
	names  []string
	fns    []string
}

func newCursor(src string, at int) *cursor {
	text := upTo(src, at)
	head := strings.TrimRightFunc(text, func(r rune) bool { return r < utf8.RuneSelf && isWord(byte(r)) })
	c := &cursor{prefix: text[len(head):]}
	s := scan(&reporter{src: newSource("", head), limit: 1})
	c.toks = slices.DeleteFunc(s.tokens, func(t token) bool { return t.kind == eof || t.kind == bad && t.text == "" })
	if n := len(c.toks); n > 0 && c.toks[n-1].kind == newline && (s.unfinished || !strings.Contains(head[c.toks[n-1].End:], "\n")) {
		c.toks = c.toks[:n-1] // the line that the cursor is in has not ended
	}
	c.silent = s.unterminated || c.inText(head) || c.prefix != "" && isDigit(c.prefix[0])
	c.collect(src)
	return c
}

// upTo is the text before a position in code points.
func upTo(src string, at int) string {
	for i := range src {
		if at == 0 {
			return src[:i]
		}
		at--
	}
	return src
}

// inText reports whether head ends inside a comment or an open string.
func (c *cursor) inText(head string) bool {
	last := token{}
	if len(c.toks) > 0 {
		last = c.toks[len(c.toks)-1]
	}
	line := head[strings.LastIndexByte(head, '\n')+1:]
	rest := head[max(last.End, len(head)-len(line)):]
	return last.kind == bad && last.End == len(head) || strings.Contains(rest, "#")
}

// collect finds the tensors of the function around the cursor and the
// functions of the source.
func (c *cursor) collect(src string) {
	for i, t := range c.toks {
		if i > 0 && c.toks[i-1].kind != newline {
			continue
		}
		switch {
		case t.text == "def":
			c.names = params(c.toks[i:])
		case t.kind == word && i+1 < len(c.toks) && c.toks[i+1].text == "=":
			c.names = append(c.names, t.text)
		}
	}
	all := scan(&reporter{src: newSource("", src), limit: 1}).tokens
	for i, t := range all[:len(all)-1] {
		if t.text == "def" && all[i+1].kind == word {
			c.fns = append(c.fns, all[i+1].text)
		}
	}
}

// params are the names in the parentheses of a def line.
func params(toks []token) []string {
	var names []string
	for i, t := range toks {
		if t.kind == newline || t.text == ")" {
			break
		}
		if t.kind == word && i > 1 && (toks[i-1].text == "(" || toks[i-1].text == ",") {
			names = append(names, t.text)
		}
	}
	return names
}

// last is the n-th token from the end, or an empty one.
func (c *cursor) last(n int) token {
	if i := len(c.toks) - 1 - n; i >= 0 {
		return c.toks[i]
	}
	return token{kind: newline}
}

// candidates are all names that fit at the cursor, whatever has been typed of
// them.
func (c *cursor) candidates(scope Scope) []Candidate {
	callee, inDef := c.enclosing()
	switch previous := c.last(0); {
	case previous.text == ".":
		return builtinCandidates()
	case inDef && previous.text == ":":
		return []Candidate{{Text: "f32", Kind: "type"}}
	case inDef, previous.text == "def", previous.text == "->":
		return nil
	case previous.text == "=" && c.last(1).text == "keepdims":
		return []Candidate{{Text: "True", Kind: "keyword"}, {Text: "False", Kind: "keyword"}}
	case previous.kind == newline:
		return []Candidate{{Text: "def", Kind: "keyword"}, {Text: "return", Kind: "keyword"}}
	}
	list := builtinCandidates()
	if b := builtins[callee]; b != nil {
		for _, o := range b.options {
			list = append(list, Candidate{Text: o + "=", Kind: "argument"})
		}
	}
	for _, n := range c.names {
		list = append(list, Candidate{Text: n, Kind: "variable"})
	}
	for _, n := range c.fns {
		list = append(list, Candidate{Text: n, Kind: "function"})
	}
	if scope != nil {
		for _, n := range scope.Names() {
			if f := scope.Lookup(n); f != nil {
				list = append(list, Candidate{n, "function", f.Signature()})
			}
		}
	}
	return list
}

func builtinCandidates() []Candidate {
	var list []Candidate
	for _, n := range builtinNames() {
		list = append(list, Candidate{n, "function", builtins[n].signature()})
	}
	return list
}

// enclosing is the function whose parentheses the cursor is in, and whether
// they are those of a definition.
func (c *cursor) enclosing() (callee string, inDef bool) {
	depth := 0
	for n := range c.toks {
		switch t := c.last(n); {
		case t.kind == newline:
			return "", false
		case t.text == ")":
			depth++
		case t.text == "(" && depth > 0:
			depth--
		case t.text == "(":
			if f := c.last(n + 1); f.kind == word {
				return f.text, c.last(n+2).text == "def"
			}
		}
	}
	return "", false
}

// NameAt is the name at a position in code points: the one it touches, or the
// function whose arguments it is in.
func NameAt(src string, at int) string {
	c := newCursor(src, at)
	if c.silent {
		return ""
	}
	rest := src[len(upTo(src, at)):]
	end := 0
	for end < len(rest) && isWord(rest[end]) {
		end++
	}
	if name := c.prefix + rest[:end]; name != "" && !isDigit(name[0]) {
		return name
	}
	callee, _ := c.enclosing()
	return callee
}

// Info describes a name of the language or a function.
type Info struct {
	Name      string
	Kind      string // "function", "keyword", "type"
	Signature string
	Doc       string
	Source    string // of a function written in ForgeScript
}

// words documents the words of the language.
var words = map[string]Info{
	"def":    {Kind: "keyword", Signature: "def name(x: f32[8,16], y):", Doc: "Defines a pure function of tensors. Its body assigns names and ends with one return."},
	"return": {Kind: "keyword", Signature: "return expression", Doc: "Ends a function with its result, one tensor."},
	"f32":    {Kind: "type", Signature: "x: f32[8,16]", Doc: "The type of a float32 tensor with its static shape; f32 alone is a scalar. Annotations give the shapes that a function is compiled for when nobody names others; a call may bring other shapes."},
	"True":   {Kind: "keyword", Signature: "keepdims=True", Doc: "A value of keepdims."},
	"False":  {Kind: "keyword", Signature: "keepdims=False", Doc: "A value of keepdims."},
}

// Inspect describes a builtin, a word of the language or a function of scope.
func Inspect(name string, scope Scope) (Info, bool) {
	if info, ok := words[name]; ok {
		info.Name = name
		return info, true
	}
	if b := builtins[name]; b != nil {
		doc := b.doc() + fmt.Sprintf("\n\nAlso a method: x.%s(…).", name)
		return Info{Name: name, Kind: "function", Signature: b.signature(), Doc: doc}, true
	}
	if scope == nil {
		return Info{}, false
	}
	f := scope.Lookup(name)
	if f == nil {
		return Info{}, false
	}
	return Info{Name: name, Kind: "function", Signature: f.Signature(), Doc: f.Doc, Source: f.Source()}, true
}

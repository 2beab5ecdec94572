package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// symbols are the operators of more than one character, the longest first. A
// ">" is always a token of its own: it may close a template list, and the
// parser joins it with what follows where it does not.
var symbols = []string{"<<=", "->", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "&&", "||",
	"<<", "<=", "==", "!="}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

type lexer struct {
	src       string
	at        int
	line      int
	lineStart int
	lastEnd   Pos // of the line before
}

// Scan splits a module into tokens, the last of kind EOF, with the brackets of
// template lists marked.
func Scan(src string) ([]Token, error) {
	l := &lexer{src: src, line: 1}
	tokens := make([]Token, 0, len(src)/4+1)
	for {
		before := l.at
		if err := l.space(); err != nil {
			return nil, err
		}
		if n := len(tokens); n > 0 {
			tokens[n-1].Joined = before == l.at
		}
		t, err := l.next()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		if t.Kind == EOF {
			tokens[len(tokens)-1].Pos = l.end()
			markTemplates(tokens)
			return tokens, nil
		}
	}
}

func (l *lexer) pos() Pos { return Pos{l.line, l.at - l.lineStart + 1} }

// end is the place of the end of the text: a line break there begins no line.
func (l *lexer) end() Pos {
	if l.at == l.lineStart && l.line > 1 {
		return l.lastEnd
	}
	return l.pos()
}

// lineBreak is the length of the line break here, or 0.
func (l *lexer) lineBreak() int {
	switch rest := l.src[l.at:]; {
	case rest == "":
		return 0
	case strings.HasPrefix(rest, "\r\n"):
		return 2
	case rest[0] >= '\n' && rest[0] <= '\r':
		return 1
	case strings.HasPrefix(rest, "\u0085"):
		return 2
	case strings.HasPrefix(rest, "\u2028"), strings.HasPrefix(rest, "\u2029"):
		return 3
	}
	return 0
}

// step goes over one character, counting lines.
func (l *lexer) step() {
	if n := l.lineBreak(); n > 0 {
		l.lastEnd = l.pos()
		l.at += n
		l.line, l.lineStart = l.line+1, l.at
		return
	}
	_, n := utf8.DecodeRuneInString(l.src[l.at:])
	l.at += n
}

func (l *lexer) space() error {
	for l.at < len(l.src) {
		rest := l.src[l.at:]
		switch {
		case l.lineBreak() > 0 || rest[0] == ' ' || rest[0] == '\t':
			l.step()
		case strings.HasPrefix(rest, "\u200e") || strings.HasPrefix(rest, "\u200f"):
			l.at += 3
		case strings.HasPrefix(rest, "//"):
			for l.at < len(l.src) && l.lineBreak() == 0 {
				l.step()
			}
		case strings.HasPrefix(rest, "/*"):
			if err := l.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// comment goes over a block comment; they nest.
func (l *lexer) comment() error {
	start, depth := l.pos(), 0
	for l.at < len(l.src) {
		switch rest := l.src[l.at:]; {
		case strings.HasPrefix(rest, "/*"):
			l.at, depth = l.at+2, depth+1
		case strings.HasPrefix(rest, "*/"):
			if l.at, depth = l.at+2, depth-1; depth == 0 {
				return nil
			}
		default:
			l.step()
		}
	}
	return Errorf(start, "unterminated block comment")
}

func (l *lexer) next() (Token, error) {
	t := Token{Pos: l.pos()}
	if l.at == len(l.src) {
		return t, nil
	}
	rest := l.src[l.at:]
	r, n := utf8.DecodeRuneInString(rest)
	switch {
	case r == utf8.RuneError && n == 1:
		return t, Errorf(t.Pos, "invalid UTF-8")
	case r == 0:
		return t, Errorf(t.Pos, "null character found")
	case r >= '0' && r <= '9', r == '.' && len(rest) > 1 && digit(rest[1]):
		return l.number()
	case r == '_' || unicode.IsLetter(r):
		return l.word()
	}
	t.Kind, t.Text = Symbol, rest[:n]
	for _, s := range symbols {
		if strings.HasPrefix(rest, s) {
			t.Text = s
			break
		}
	}
	if n == len(t.Text) && !strings.ContainsRune("&@/!~[]{}:,=.%-+|(); *<>^", r) {
		return t, Errorf(t.Pos, "invalid character found: %q", r)
	}
	l.at += len(t.Text)
	return t, nil
}

func (l *lexer) word() (Token, error) {
	t, start := Token{Kind: Identifier, Pos: l.pos()}, l.at
	for l.at < len(l.src) {
		r, n := utf8.DecodeRuneInString(l.src[l.at:])
		if r != '_' && !unicode.In(r, unicode.L, unicode.Nl, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc) {
			break
		}
		l.at += n
	}
	t.Text = l.src[start:l.at]
	switch {
	case keywords[t.Text]:
		t.Kind = Keyword
	case reserved[t.Text]:
		return t, Errorf(t.Pos, "'%s' is a reserved keyword", t.Text)
	case t.Text == "_":
		t.Kind = Symbol
	case strings.HasPrefix(t.Text, "__"):
		return t, Errorf(t.Pos, "identifiers must not start with two or more underscores")
	}
	return t, nil
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func hexDigit(c byte) bool { return digit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// digits goes over the characters that is accepts and says how many there were.
func (l *lexer) digits(is func(byte) bool) int {
	start := l.at
	for l.at < len(l.src) && is(l.src[l.at]) {
		l.at++
	}
	return l.at - start
}

// take goes over one character of a set if it is next.
func (l *lexer) take(chars string) bool {
	if l.at < len(l.src) && strings.IndexByte(chars, l.src[l.at]) >= 0 {
		l.at++
		return true
	}
	return false
}

func (l *lexer) number() (Token, error) {
	t, start := Token{Kind: Integer, Pos: l.pos()}, l.at
	is, exponent := digit, "eE"
	hex := strings.HasPrefix(l.src[l.at:], "0x") || strings.HasPrefix(l.src[l.at:], "0X")
	if hex {
		l.at += 2
		is, exponent = hexDigit, "pP"
	}
	whole := l.digits(is)
	leadingZero := !hex && whole > 1 && l.src[start] == '0'
	n := whole
	if l.take(".") {
		t.Kind = Float
		n += l.digits(is)
	}
	if n == 0 {
		return t, Errorf(t.Pos, "hex literal has no digits")
	}
	if mark := l.at; l.take(exponent) {
		l.take("+-")
		if l.digits(digit) == 0 {
			l.at = mark
		} else {
			t.Kind = Float
		}
	}
	if !hex || t.Kind == Float && strings.ContainsAny(l.src[start:l.at], "pP") {
		if l.take("fh") {
			t.Kind = Float
		}
	}
	if t.Kind == Integer {
		l.take("iu")
	}
	t.Text = l.src[start:l.at]
	if leadingZero && t.Kind == Integer {
		return t, Errorf(t.Pos, "integer literal cannot have leading 0s")
	}
	if l.at < len(l.src) && (hexDigit(l.src[l.at]) || l.src[l.at] == '_') {
		return t, Errorf(t.Pos, "invalid number literal '%s'", l.src[start:l.at+1])
	}
	return t, nil
}

// markTemplates finds the "<" and ">" that are the brackets of template lists,
// by the language's own rule: a "<" right after a name opens one if its ">"
// comes at the same depth of brackets before anything that a list cannot hold.
func markTemplates(tokens []Token) {
	type open struct{ token, depth int }
	var pending []open
	depth := 0
	drop := func(to int) {
		for len(pending) > 0 && pending[len(pending)-1].depth >= to {
			pending = pending[:len(pending)-1]
		}
	}
	for i, t := range tokens {
		if t.Kind != Symbol {
			continue
		}
		switch t.Text {
		case "<":
			if i > 0 && (tokens[i-1].Kind == Identifier || tokens[i-1].Text == "var") {
				pending = append(pending, open{i, depth})
			}
		case ">":
			if n := len(pending); n > 0 && pending[n-1].depth == depth {
				tokens[pending[n-1].token].Kind, tokens[i].Kind = TemplateStart, TemplateEnd
				pending = pending[:n-1]
			}
		case "(", "[":
			depth++
		case ")", "]":
			drop(depth)
			depth = max(0, depth-1)
		case "&&", "||":
			drop(depth)
		case "=":
			// In ">=" the "=" belongs to the comparison.
			if i > 0 && tokens[i-1].Kind == Symbol && tokens[i-1].Text == ">" && tokens[i-1].Joined {
				continue
			}
			depth, pending = 0, pending[:0]
		case ";", "{", ":":
			depth, pending = 0, pending[:0]
		}
	}
}

package script

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind classifies a token.
type kind uint8

const (
	eof     kind = iota
	newline      // end of a logical line
	word         // identifier or keyword
	number       // numeric literal, not yet judged
	str          // string literal with its prefix and quotes
	punct        // operator or delimiter, also those ForgeScript refuses
	bad          // text already reported by the scanner
)

// token is one lexical element; its text is src.Text[Start:End].
type token struct {
	Span
	kind kind
	text string
}

// operators, longest first: a prefix must not hide a longer one. Those that
// the language refuses are scanned whole, so that the parser can name them.
var operators = []string{
	"**=", "//=", ">>=", "<<=", "...",
	"**", "//", "==", "!=", "<=", ">=", "<>", "<<", ">>", "->", ":=", "++", "--",
	"+=", "-=", "*=", "/=", "@=", "%=", "&=", "|=", "^=", "&&", "||",
	"+", "-", "*", "/", "@", "(", ")", "[", "]", "{", "}", ",", ":", ".", "=",
	"<", ">", "%", "&", "|", "^", "~", "!", "?", ";", "$", "`", "\\",
}

// scanner splits source into tokens. Newlines inside brackets vanish, and so
// do blank lines and comments.
type scanner struct {
	*reporter
	text   string
	pos    int
	open   []token // brackets not yet closed
	tokens []token
	// unterminated says that the text ends inside a triple-quoted string, and
	// unfinished that it ends inside one or inside brackets.
	unterminated, unfinished bool
}

func scan(r *reporter) *scanner {
	s := &scanner{reporter: r, text: r.src.Text}
	for s.pos < len(s.text) {
		s.next()
	}
	s.unfinished = s.unterminated || len(s.open) > 0
	if len(s.open) > 0 {
		s.unclosed()
	}
	s.endLine()
	s.emit(eof, s.pos)
	return s
}

// emit appends the token from start to the current position.
func (s *scanner) emit(k kind, start int) {
	s.tokens = append(s.tokens, token{Span{start, s.pos}, k, s.text[start:s.pos]})
}

// endLine ends a logical line that has any token.
func (s *scanner) endLine() {
	if n := len(s.tokens); n > 0 && s.tokens[n-1].kind != newline {
		end := s.tokens[n-1].End
		s.tokens = append(s.tokens, token{Span{end, end}, newline, ""})
	}
}

func (s *scanner) next() {
	start := s.pos
	switch c := s.text[s.pos]; {
	case c == ' ':
		s.pos++
	case c == '\n', strings.HasPrefix(s.text[s.pos:], "\r\n"):
		s.lineEnd()
	case c == '\t':
		for s.pos < len(s.text) && s.text[s.pos] == '\t' {
			s.pos++
		}
		s.report(Span{start, s.pos}, "ForgeScript does not allow tabs", "use spaces, four for each level of indentation")
	case c == '#':
		s.comment()
	case isLetter(c):
		s.name()
	case isDigit(c), c == '.' && s.pos+1 < len(s.text) && isDigit(s.text[s.pos+1]):
		s.number()
	case c == '"' || c == '\'':
		s.str(start)
	case c == '\\' && s.continuation():
		s.report(Span{start, start + 1}, "a backslash does not continue a line", "put the expression in parentheses, and break it anywhere inside them")
	default:
		s.operator()
	}
}

// lineEnd passes the end of a physical line. Outside brackets it ends the
// logical line as well. A line that starts like a new statement while a
// bracket is open means that the bracket was forgotten.
func (s *scanner) lineEnd() {
	if len(s.open) > 0 && startsStatement(s.text[s.pos:]) {
		s.unclosed()
	}
	start := s.pos
	if len(s.open) == 0 {
		s.endLine()
	}
	s.pos = start + 1
	if s.text[start] == '\r' {
		s.pos++
	}
}

// startsStatement reports whether the line after this line end begins with
// def or return.
func startsStatement(rest string) bool {
	line := strings.TrimLeft(rest[strings.IndexByte(rest, '\n')+1:], " ")
	for _, word := range []string{"def", "return"} {
		if after, ok := strings.CutPrefix(line, word); ok && (after == "" || !isWord(after[0])) {
			return true
		}
	}
	return false
}

// unclosed reports the innermost open bracket and forgets all of them.
func (s *scanner) unclosed() {
	last := s.open[len(s.open)-1]
	s.report(last.Span, fmt.Sprintf("%q is never closed", last.text), fmt.Sprintf("write the matching %q", closing[last.text]))
	s.open = s.open[:0]
	s.emit(bad, s.pos)
}

func (s *scanner) comment() {
	end := strings.IndexByte(s.text[s.pos:], '\n')
	if end < 0 {
		end = len(s.text) - s.pos
	}
	comment := strings.TrimSuffix(s.text[s.pos:s.pos+end], "\r")
	s.checkText(s.pos, comment)
	s.pos += len(comment)
}

// checkText reports invalid UTF-8 in a comment or string.
func (s *scanner) checkText(at int, text string) {
	for i, r := range text {
		if r != utf8.RuneError {
			continue
		}
		if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
			s.report(Span{at + i, at + i + 1}, fmt.Sprintf("byte 0x%02x is not valid UTF-8", text[i]), "save the file as UTF-8")
			return
		}
	}
}

func (s *scanner) name() {
	start := s.pos
	for s.pos < len(s.text) && isWord(s.text[s.pos]) {
		s.pos++
	}
	if s.pos < len(s.text) && (s.text[s.pos] == '"' || s.text[s.pos] == '\'') && s.pos-start <= 2 {
		s.str(start) // a prefix, as in f"…"
		return
	}
	if s.pos-start > maxName {
		s.report(Span{start, s.pos}, fmt.Sprintf("this name has %d characters", s.pos-start), fmt.Sprintf("a name has at most %d", maxName))
	}
	s.emit(word, start)
}

// number scans everything that can belong to a numeric literal of Python; the
// parser judges it, so that 0x1F or 1_000 is one wrong number and not two
// surprising tokens.
func (s *scanner) number() {
	start := s.pos
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		afterExp := c == '+' || c == '-'
		if afterExp && (s.text[s.pos-1]|0x20 != 'e' || strings.HasPrefix(s.text[start:s.pos], "0x")) {
			break
		}
		if !afterExp && c != '.' && !isWord(c) {
			break
		}
		// 2.relu() is a method of a number, not one odd number.
		if c == '.' && s.pos+1 < len(s.text) && isLetter(s.text[s.pos+1]) && !isExponent(s.text[s.pos+1:]) {
			break
		}
		s.pos++
	}
	s.emit(number, start)
}

// isExponent reports whether text continues a number as an exponent: e5, e-5.
func isExponent(text string) bool {
	if text[0]|0x20 != 'e' {
		return false
	}
	digits := strings.TrimLeft(text[1:], "+-")
	return digits != "" && isDigit(digits[0])
}

// str scans a string literal whose prefix, if any, starts at start and whose
// opening quote is at the current position.
func (s *scanner) str(start int) {
	quote := s.text[s.pos : s.pos+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s.text[s.pos:], triple) {
		quote = triple
	}
	s.pos += len(quote)
	body := s.pos
	for s.pos < len(s.text) {
		switch {
		case strings.HasPrefix(s.text[s.pos:], quote):
			s.checkText(body, s.text[body:s.pos])
			s.pos += len(quote)
			s.emit(str, start)
			return
		case s.text[s.pos] == '\\' && s.pos+1 < len(s.text):
			s.pos += 2
		case s.text[s.pos] == '\n' && len(quote) == 1:
			s.openString(start, quote)
			return
		default:
			s.pos++
		}
	}
	s.unterminated = len(quote) == 3
	s.openString(start, quote)
}

func (s *scanner) openString(start int, quote string) {
	s.report(Span{start, endOfLine(s.text, start)}, "this string is never closed", "end it with "+quote)
	s.emit(bad, start)
}

// endOfLine is the offset at which the line that holds offset at ends.
func endOfLine(text string, at int) int {
	if i := strings.IndexAny(text[at:], "\r\n"); i >= 0 {
		return at + i
	}
	return len(text)
}

func (s *scanner) continuation() bool {
	rest := s.text[s.pos+1:]
	if rest != "" && rest[0] != '\n' && !strings.HasPrefix(rest, "\r\n") {
		return false
	}
	// The line end is passed over, so that what follows still belongs to the
	// statement and does not cause errors of its own.
	s.pos++
	if strings.HasPrefix(rest, "\r") {
		s.pos++
	}
	if rest != "" {
		s.pos++
	}
	return true
}

var closing = map[string]string{"(": ")", "[": "]", "{": "}"}

func (s *scanner) operator() {
	start := s.pos
	for _, o := range operators {
		if strings.HasPrefix(s.text[s.pos:], o) {
			// Two signs in a row are two tokens: a--b is a - (-b).
			if o == "--" || o == "++" {
				o = o[:1]
			}
			s.pos += len(o)
			s.emit(punct, start)
			s.bracket(s.tokens[len(s.tokens)-1])
			return
		}
	}
	s.stray(start)
}

// bracket keeps the stack of open brackets.
func (s *scanner) bracket(t token) {
	switch t.text {
	case "(", "[", "{":
		s.open = append(s.open, t)
	case ")", "]", "}":
		s.close(t)
	}
}

// close matches a closing bracket with the innermost open one of its kind.
func (s *scanner) close(t token) {
	last := len(s.open) - 1
	match := last
	for match >= 0 && closing[s.open[match].text] != t.text {
		match--
	}
	switch {
	case last < 0:
		s.report(t.Span, fmt.Sprintf("%q closes nothing", t.text), "remove it, or write the opening bracket")
	case match < last:
		s.report(t.Span, fmt.Sprintf("%q does not match %q", t.text, s.open[last].text), fmt.Sprintf("write %q", closing[s.open[last].text]))
	}
	if match < last || last < 0 {
		s.tokens[len(s.tokens)-1].kind = bad
	}
	s.open = s.open[:max(match, 0)]
}

// stray reports a character that starts no token, with what a person most
// likely meant by it.
func (s *scanner) stray(start int) {
	r, size := utf8.DecodeRuneInString(s.text[start:])
	s.pos += size
	span := Span{start, s.pos}
	switch hint := lookalikes[r]; {
	case r == utf8.RuneError && size == 1:
		s.report(span, fmt.Sprintf("byte 0x%02x is not valid UTF-8", s.text[start]), "save the file as UTF-8")
	case r == '\r':
		s.report(span, "a carriage return stands alone", "end lines with LF or CR LF")
	case hint != "":
		s.report(span, fmt.Sprintf("%q is not an operator of ForgeScript", r), fmt.Sprintf("write %s", hint))
	case unicode.IsLetter(r):
		for s.pos < len(s.text) {
			r, size := utf8.DecodeRuneInString(s.text[s.pos:])
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '_' {
				break
			}
			s.pos += size
		}
		s.report(Span{start, s.pos}, fmt.Sprintf("%q is not a name: it has letters outside ASCII", s.text[start:s.pos]), "use a-z, A-Z, 0-9 and _")
	case unicode.IsSpace(r):
		s.report(span, fmt.Sprintf("character U+%04X is not a plain space", r), "replace it with a space")
	default:
		s.report(span, fmt.Sprintf("character %q (U+%04X) has no meaning here", r, r), "remove it")
	}
	s.emit(bad, start)
}

// lookalikes are characters that word processors and web pages put in place of
// operators.
var lookalikes = map[rune]string{
	'−': "-", '–': "-", '—': "-", '×': "*", '·': "*", '∗': "*", '⋅': "*", '÷': "/",
	'“': `"`, '”': `"`, '‘': "'", '’': "'", '（': "(", '）': ")", '，': ",",
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) }

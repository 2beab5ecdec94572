package ir

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"forgekernel/display"
)

// SyntaxError is a mistake in the text form.
type SyntaxError struct{ display.Diagnostic }

// Error is "source:line:column: message".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.Source, e.Line, e.Col, e.Message)
}

type tokenKind uint8

const (
	tokEOF    tokenKind = iota
	tokIdent            // graph, f32, true, inf
	tokNumber           // 12, -3, 0.5, 1e-07
	tokString           // "…", unquoted in text
	tokValue            // %name; text is the name
	tokPunct            // one of ( ) { } [ ] , : = @
)

type token struct {
	kind tokenKind
	text string
	off  int
}

func (t token) String() string {
	switch t.kind {
	case tokEOF:
		return "the end"
	case tokValue:
		return "%" + t.text
	case tokString:
		return "a string"
	}
	return strconv.Quote(t.text)
}

// scanner splits the text form into tokens. Blanks and comments from # to the
// end of the line separate them.
type scanner struct {
	src string
	off int
}

func (s *scanner) next() (token, error) {
	s.skip()
	start := s.off
	if start == len(s.src) {
		return token{kind: tokEOF, off: start}, nil
	}
	switch c := s.src[start]; {
	case strings.IndexByte("(){}[],:=@", c) >= 0:
		s.off++
		return token{tokPunct, s.src[start:s.off], start}, nil
	case c == '%':
		s.off++
		name := s.run(isNameRune)
		if name == "" {
			return token{}, s.errorf(start, "%% must be followed by a value name")
		}
		return token{tokValue, name, start}, nil
	case c == '"':
		return s.str()
	case c == '-' || c >= '0' && c <= '9':
		s.off++
		s.run(func(r rune) bool {
			return isNameRune(r) || r == '.' || (r == '-' || r == '+') && (s.src[s.off-1] == 'e')
		})
		return token{tokNumber, s.src[start:s.off], start}, nil
	}
	if word := s.run(isNameRune); word != "" {
		return token{tokIdent, word, start}, nil
	}
	r, _ := utf8.DecodeRuneInString(s.src[start:])
	return token{}, s.errorf(start, "unexpected character %q", r)
}

func (s *scanner) skip() {
	for s.off < len(s.src) {
		switch c := s.src[s.off]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			s.off++
		case c == '#':
			if end := strings.IndexByte(s.src[s.off:], '\n'); end >= 0 {
				s.off += end
			} else {
				s.off = len(s.src)
			}
		default:
			return
		}
	}
}

// run consumes the runes that ok accepts.
func (s *scanner) run(ok func(rune) bool) string {
	start := s.off
	for s.off < len(s.src) {
		r, size := utf8.DecodeRuneInString(s.src[s.off:])
		if r == utf8.RuneError && size <= 1 || !ok(r) {
			break
		}
		s.off += size
	}
	return s.src[start:s.off]
}

func isNameRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func (s *scanner) str() (token, error) {
	start := s.off
	quoted, err := strconv.QuotedPrefix(s.src[start:])
	if err != nil {
		return token{}, s.errorf(start, "unterminated or malformed string")
	}
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return token{}, s.errorf(start, "malformed string")
	}
	s.off += len(quoted)
	return token{tokString, text, start}, nil
}

// errorf describes a mistake at a byte offset.
// The message is a *SyntaxError.
func (s *scanner) errorf(off int, format string, args ...any) error {
	lineStart := strings.LastIndexByte(s.src[:off], '\n') + 1
	line := s.src[lineStart:]
	if end := strings.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	return &SyntaxError{display.Diagnostic{
		Source:  "ir",
		Line:    1 + strings.Count(s.src[:off], "\n"),
		Col:     1 + utf8.RuneCountInString(s.src[lineStart:off]),
		Text:    line,
		Message: fmt.Sprintf(format, args...),
	}}
}

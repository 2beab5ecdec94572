package cell

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A cell is directives, then code:
//
//	%%magic arguments       at most one, on the first line that is not blank
//	%magic arguments        any number of these, with blank lines and comments
//	!command                between them
//	name?  ?name  name??
//	code                    ForgeScript when its first token is def, else Go
//
// Below %%magic stands whatever that magic makes of it; for %%time, %%go and
// %%forge that is again directives and code.

// Language is what the code of a cell is written in.
type Language string

// Languages of cells.
const (
	Go          Language = "go"
	ForgeScript Language = "forgescript"
)

// directiveKind tells the lines that may precede code apart.
type directiveKind int

const (
	lineMagic directiveKind = iota
	cellMagic
	shellLine
	helpLine
)

// directive is one such line.
type directive struct {
	kind   directiveKind
	name   string // of a magic, or what help is asked for
	args   string // arguments of a magic, the text of a command
	detail int    // of help: 1 for name??
	line   int    // 1-based
	text   string // the line as it was typed, for messages
}

// parts is a cell taken apart. Body holds the cell's remaining lines at their
// own places: every line before them is empty, so that positions found in Body
// are positions in the cell.
type parts struct {
	magic      *directive // %%magic
	directives []directive
	body       string
	line       int      // first line of body that is not blanked out, 1-based
	lang       Language // of body, where a magic says so; else its content does
}

// language says what the code of body is written in.
func (p parts) language() Language {
	if p.lang != "" {
		return p.lang
	}
	return language(p.body)
}

// split takes a cell apart. It accepts every string; what a directive means is
// looked at when it runs.
func split(code string) parts { return splitter{rest: code}.cell() }

// inner takes apart what stands below a %%magic whose body is code. Lines still
// count from the top of the cell.
func (p parts) inner() parts {
	s := splitter{rest: p.body}
	for s.line < p.line-1 {
		s.next()
	}
	return s.cell()
}

// splitter walks over the lines of a cell.
type splitter struct {
	rest string
	line int // lines consumed
}

// peek returns the next line, without its ending and trailing blanks.
func (s *splitter) peek() (string, bool) {
	if s.rest == "" {
		return "", false
	}
	text, _, _ := strings.Cut(s.rest, "\n")
	return strings.TrimRight(text, " \t\r"), true
}

func (s *splitter) next() {
	_, s.rest, _ = strings.Cut(s.rest, "\n")
	s.line++
}

func (s *splitter) skipBlank() {
	for {
		text, ok := s.peek()
		if !ok || text != "" {
			return
		}
		s.next()
	}
}

// cell consumes %%magic or, if there is none, directives.
func (s splitter) cell() parts {
	first := s
	first.skipBlank()
	text, _ := first.peek()
	d, ok := parseDirective(text)
	if !ok || d.kind != cellMagic {
		return s.directives()
	}
	first.next()
	d.line = first.line
	return parts{magic: &d, body: first.body(), line: first.line + 1}
}

// body is what is left, below as many empty lines as were consumed.
func (s *splitter) body() string { return strings.Repeat("\n", s.line) + s.rest }

// directives consumes directives up to the first line of code. Blank lines and
// comments in front of code belong to it: they may document it.
func (s splitter) directives() parts {
	var list []directive
	code := s // where code starts if no further directive is found
	for {
		text, ok := s.peek()
		if !ok {
			break
		}
		if text == "" || isComment(text) {
			s.next()
			continue
		}
		d, ok := parseDirective(text)
		if !ok {
			break
		}
		d.line = s.line + 1
		s.next()
		for strings.HasSuffix(d.args, `\`) { // continued
			more, ok := s.peek()
			if !ok {
				break
			}
			s.next()
			d.args = d.continued(more)
		}
		list = append(list, d)
		code = s
	}
	return parts{directives: list, body: code.body(), line: code.line + 1}
}

// continued joins a directive and its next line. A shell joins its own lines.
func (d *directive) continued(more string) string {
	if d.kind == shellLine {
		return d.args + "\n" + more
	}
	return strings.TrimSpace(strings.TrimSuffix(d.args, `\`)) + " " + strings.TrimSpace(more)
}

// isComment reports whether a line is nothing but a comment of either language.
func isComment(text string) bool {
	text = strings.TrimLeft(text, " \t")
	return strings.HasPrefix(text, "//") || strings.HasPrefix(text, "#")
}

func parseDirective(text string) (directive, bool) {
	if d, ok := parseHelp(text); ok {
		return d, true
	}
	switch {
	case strings.HasPrefix(text, "!"):
		return directive{kind: shellLine, args: strings.TrimSpace(text[1:]), text: text}, true
	case strings.HasPrefix(text, "%") && isNameStart(text[1:]):
		name, args := cutName(text[1:])
		return directive{kind: lineMagic, name: name, args: args, text: text}, true
	case strings.HasPrefix(text, "%%") && isNameStart(text[2:]):
		name, args := cutName(text[2:])
		return directive{kind: cellMagic, name: name, args: args, text: text}, true
	}
	return directive{}, false
}

// parseHelp recognises name?, name??, ?name and ??name, where name may be
// qualified and may be a magic with its per cent signs.
func parseHelp(text string) (directive, bool) {
	name := strings.Trim(text, "?")
	marks := len(text) - len(name)
	before := len(text) - len(strings.TrimLeft(text, "?"))
	after := marks - before
	if name == "" || marks == 0 || before > 2 || after > 2 || before > 0 && after > 0 {
		return directive{}, false
	}
	name = strings.TrimSpace(name)
	bare := strings.TrimPrefix(strings.TrimPrefix(name, "%"), "%")
	for part := range strings.SplitSeq(bare, ".") {
		if !isName(part) {
			return directive{}, false
		}
	}
	return directive{kind: helpLine, name: name, detail: marks - 1, text: text}, true
}

// language says what code is written in.
func language(code string) Language {
	rest, found := strings.CutPrefix(firstToken(code), "def")
	if r, _ := utf8.DecodeRuneInString(rest); found && !isNameRune(r) {
		return ForgeScript
	}
	return Go
}

// firstToken returns code from its first token on; comments of both languages
// are skipped, for which language it is has yet to be seen.
func firstToken(code string) string {
	for {
		code = strings.TrimLeft(code, " \t\r\n\f\ufeff")
		var end string
		switch {
		case strings.HasPrefix(code, "#"), strings.HasPrefix(code, "//"):
			end = "\n"
		case strings.HasPrefix(code, "/*"):
			code, end = code[2:], "*/"
		default:
			return code
		}
		_, code, _ = strings.Cut(code, end)
	}
}

// cutName splits "name arguments".
func cutName(s string) (name, args string) {
	end := strings.IndexFunc(s, func(r rune) bool { return !isNameRune(r) })
	if end < 0 {
		return s, ""
	}
	return s[:end], strings.TrimSpace(s[end:])
}

func isName(s string) bool {
	name, rest := cutName(s)
	return rest == "" && len(name) == len(s) && isNameStart(s)
}

func isNameStart(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r == '_' || unicode.IsLetter(r)
}

func isNameRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

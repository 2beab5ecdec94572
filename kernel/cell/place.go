package cell

import (
	"strings"
	"unicode/utf8"
)

// place is where in a cell a cursor stands, and so what can stand there.
type place struct {
	kind   placeKind
	text   string   // the line up to the cursor
	line   int      // its number, 1-based
	start  int      // byte offset of the line in the cell
	source string   // of code, from its first line on
	offset int      // of the cursor in source
	lang   Language // of code
}

type placeKind int

const (
	inText      placeKind = iota // nothing is known about what may stand here
	inMagic                      // %name arguments
	inShell                      // !command, or a line of %%bash
	inDirective                  // name? and the like
	inCode
)

// locate finds the place of a byte offset in a cell.
func locate(code string, offset int) place {
	start := strings.LastIndexByte(code[:offset], '\n') + 1
	at := place{text: code[start:offset], start: start, line: 1 + strings.Count(code[:offset], "\n")}
	p := split(code)
	for p.magic != nil {
		if at.line <= p.magic.line {
			at.kind = inMagic
			return at
		}
		m := lookup(p.magic.name)
		if m == nil || !m.code {
			if p.magic.name == "bash" {
				at.kind = inShell
			}
			return at
		}
		p = p.inner()
		p.lang = m.lang
	}
	switch {
	case strings.HasPrefix(at.text, "%"): // neither language has such a line
		at.kind = inMagic
	case at.line < p.line && strings.HasPrefix(at.text, "!"):
		at.kind = inShell
	case at.line < p.line:
		at.kind = inDirective
	default:
		at.kind = inCode
		at.source = p.body[p.line-1:]
		at.offset = offset - (len(code) - len(at.source))
		at.lang = p.language()
	}
	return at
}

// byteOffset turns a position in code points into one in bytes.
func byteOffset(code string, points int) int {
	for i := range code {
		if points <= 0 {
			return i
		}
		points--
	}
	return len(code)
}

func pointOffset(code string, bytes int) int {
	return utf8.RuneCountInString(code[:max(0, min(bytes, len(code)))])
}

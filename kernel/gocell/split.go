package gocell

import (
	"go/scanner"
	"go/token"
	"strings"
)

// A cell mixes declarations, which Go keeps outside of functions, with
// statements, which it keeps inside. The splitter finds the declarations by
// their first tokens; it does not need to understand anything else.

// span is a piece of a cell's source, in bytes.
type span struct{ from, to int }

// sections are the two halves of a cell: its source with everything but the
// declarations blanked out, and with everything but the statements blanked
// out. Both keep every remaining byte at its offset.
type sections struct {
	declarations string
	statements   string
	hasStatement bool
}

// lexeme is one token of a cell.
type lexeme struct {
	tok  token.Token
	lit  string
	from int // offset in bytes
}

// scan cuts source into tokens. Faults of single tokens are left to the parser.
func scan(src string) (list []lexeme, errs scanner.ErrorList) {
	var s scanner.Scanner
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(src))
	s.Init(file, []byte(src), func(pos token.Position, msg string) { errs.Add(pos, msg) }, 0)
	for {
		pos, tok, lit := s.Scan()
		list = append(list, lexeme{tok, lit, file.Offset(pos)})
		if tok == token.EOF {
			return list, errs
		}
	}
}

// splitCell separates the declarations of a cell from its statements.
func splitCell(src string, list []lexeme) sections {
	var decls []span
	depth, start := 0, -1 // start of the declaration at hand
	first := true         // at the beginning of an item
	statement := false
	for i, l := range list {
		if first && depth == 0 && l.tok != token.SEMICOLON && l.tok != token.EOF {
			if beginsDeclaration(list[i:]) {
				start = l.from
			} else {
				statement = true
			}
		}
		first = false
		depth += l.nesting()
		if l.tok != token.EOF && (l.tok != token.SEMICOLON || depth > 0) {
			continue
		}
		first = true
		if start >= 0 {
			end := l.from
			if l.lit == ";" {
				end++
			}
			decls = append(decls, span{start, end})
			start = -1
		}
	}
	s := sections{hasStatement: statement, statements: blank(src, decls)}
	var rest []span
	at := 0
	for _, d := range decls {
		rest = append(rest, span{at, d.from})
		at = d.to
	}
	s.declarations = blank(src, append(rest, span{at, len(src)}))
	return s
}

// beginsDeclaration reports whether a declaration begins with these tokens. A
// statement may begin with func as well: a literal that is called at once.
func beginsDeclaration(list []lexeme) bool {
	switch list[0].tok {
	case token.PACKAGE, token.IMPORT, token.CONST, token.VAR, token.TYPE:
		return true
	case token.FUNC:
	default:
		return false
	}
	if list[1].tok != token.LPAREN {
		return true
	}
	depth := 0
	for i, l := range list[1:] {
		switch l.tok {
		case token.LPAREN:
			depth++
		case token.RPAREN:
			if depth--; depth == 0 {
				rest := list[i+2:]
				return len(rest) > 1 && rest[0].tok == token.IDENT && rest[1].tok == token.LPAREN
			}
		case token.EOF:
			return false
		}
	}
	return false
}

// blank replaces the given pieces by spaces and keeps the lines.
func blank(src string, pieces []span) string {
	var b strings.Builder
	b.Grow(len(src))
	at := 0
	for _, p := range pieces {
		b.WriteString(src[at:p.from])
		for i := p.from; i < p.to; i++ {
			if src[i] == '\n' {
				b.WriteByte('\n')
			} else {
				b.WriteByte(' ')
			}
		}
		at = p.to
	}
	b.WriteString(src[at:])
	return b.String()
}

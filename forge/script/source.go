package script

import (
	"sort"
	"strings"
	"unicode/utf8"

	"forgekernel/forge/ir"
)

// Span is a stretch of source text in bytes, End exclusive.
type Span struct{ Start, End int }

// to is the span from the start of s to the end of t.
func (s Span) to(t Span) Span { return Span{s.Start, t.End} }

// Source is named source text with an index of its lines.
type Source struct {
	Name  string // "mlp.fs", "cell 3"
	Text  string // without a byte order mark
	lines []int  // offset at which each line starts
}

func newSource(name, text string) *Source {
	s := &Source{Name: name, Text: strings.TrimPrefix(text, "\ufeff"), lines: []int{0}}
	for i := 0; i < len(s.Text); i++ {
		if s.Text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// Position returns the line and column of a byte offset, both from 1, the
// column in code points.
func (s *Source) Position(offset int) (line, col int) {
	line = sort.SearchInts(s.lines, offset+1)
	start := s.lines[line-1]
	return line, utf8.RuneCountInString(s.Text[start:offset]) + 1
}

// Line returns the text of a line, numbered from 1, without its end.
func (s *Source) Line(n int) string {
	end := len(s.Text)
	if n < len(s.lines) {
		end = s.lines[n] - 1
	}
	return strings.TrimSuffix(s.Text[s.lines[n-1]:end], "\r")
}

// Pos is the position that the compiler carries along for a span.
func (s *Source) Pos(span Span) ir.Pos {
	line, col := s.Position(span.Start)
	return ir.Pos{Source: s.Name, Line: line, Col: col}
}

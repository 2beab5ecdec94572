package ir

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Widths of a listing, in columns.
const (
	noteColumn   = 80 // notes stand at most this far to the right
	headerWidth  = 96 // a longer header has a line for each input
	listedPlaces = 3  // source positions shown of one node
)

// Listing returns the text form for reading. The source is named once, at the
// top, and each node's place in it is a comment at the right:
//
//	graph layer(%x: f32[8,16], %w: f32[16,12]) {   # layer.fs:1
//	  %0: f32[8,12] = matmul %x, %w                # 2:14
//	  %y: f32[8,12] = relu %0                      # 2:9
//	  return %y
//	}
//
// Large constants are shown by their spec only, so that it cannot be parsed if
// there are any.
func (g *Graph) Listing() string {
	p := &printer{notes: &noteWriter{home: g.home()}}
	p.b.WriteString("graph " + g.Name)
	p.scope(g, "")
	return p.notes.align(g.foldHeader(p.b.String()))
}

// home is where the graph's source begins: the place of its first input, or of
// its first node.
func (g *Graph) home() Pos {
	for v := range g.Values {
		if pos := v.Pos(); pos.IsKnown() {
			return pos
		}
	}
	return Pos{}
}

// foldHeader gives each input a line of its own if the first line is long.
func (g *Graph) foldHeader(text string) string {
	header, rest, _ := strings.Cut(text, "\n")
	if width, _, _ := strings.Cut(header, noteMark); utf8.RuneCountInString(width) <= headerWidth {
		return text
	}
	var b strings.Builder
	b.WriteString("graph " + g.Name + "(")
	for i, v := range g.Inputs {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n    " + v.String() + ": " + v.Spec.String())
	}
	_, note, _ := strings.Cut(header, noteMark)
	return b.String() + ") {" + noteMark + note + "\n" + rest
}

// noteMark separates a line from its note until both are aligned. No text form
// holds it: strings are quoted, and names are letters and digits.
const noteMark = "\x00"

// noteWriter writes the source positions of a listing as notes.
type noteWriter struct{ home Pos }

// header is the note of the graph itself.
func (w *noteWriter) header() string {
	if !w.home.IsKnown() {
		return ""
	}
	return noteMark + oneLine(w.home.Source) + ":" + strconv.Itoa(w.home.Line)
}

// places writes "2:14, 3:9, 4 more". A place in another source than the
// graph's is written with its name.
func (w *noteWriter) places(list []Pos) string {
	var texts []string
	for i, p := range list {
		switch {
		case i == listedPlaces && len(list) > listedPlaces+1:
			texts = append(texts, fmt.Sprintf("%d more", len(list)-i))
			return noteMark + strings.Join(texts, ", ")
		case p.Source != w.home.Source:
			texts = append(texts, oneLine(p.String()))
		default:
			texts = append(texts, strconv.Itoa(p.Line)+":"+strconv.Itoa(p.Col))
		}
	}
	if texts == nil {
		return ""
	}
	return noteMark + strings.Join(texts, ", ")
}

// align puts the notes under one another.
func (w *noteWriter) align(text string) string {
	lines := strings.Split(text, "\n")
	column := 0
	for _, line := range lines {
		if code, _, noted := strings.Cut(line, noteMark); noted {
			if n := utf8.RuneCountInString(code); n <= noteColumn {
				column = max(column, n)
			}
		}
	}
	for i, line := range lines {
		if code, note, noted := strings.Cut(line, noteMark); noted {
			gap := max(0, column-utf8.RuneCountInString(code))
			lines[i] = code + strings.Repeat(" ", gap) + "  # " + note
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// oneLine keeps the name of a source from breaking the comment that it is in.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

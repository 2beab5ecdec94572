package explain

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode"

	"forgekernel/forge/ir"
)

// source writes the column of the program text. Each line has the hue of what
// became of it, and each word that made a node can be chosen.
func (c *columns) source(list []Source) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(c.b, `<div style="%s">`, columnStyle)
	c.head("source", "What the program was made from.")
	fmt.Fprintf(c.b, `<div class="fx-col" style="%s">`, codeStyle)
	for i, s := range list {
		if i > 0 {
			c.b.WriteString(`<div>&#8203;</div>`)
		}
		if i == 0 || list[i-1].Name != s.Name {
			fmt.Fprintf(c.b, `<div style="color:#8c959f;padding:0 10px">%s</div>`, html.EscapeString(s.Name))
		}
		for j, text := range strings.Split(strings.TrimRight(s.Text, "\n"), "\n") {
			c.sourceLine(s.Name, s.Line+j, strings.TrimRight(text, "\r"))
		}
	}
	c.b.WriteString("</div></div>")
}

func (c *columns) sourceLine(name string, number int, text string) {
	places := c.palette.on(line{name, number})
	edge := "#ffffff"
	if len(places) > 0 {
		edge = c.palette.at(places[0]).edge
	}
	fmt.Fprintf(c.b, `<div style="border-left:3px solid %s;padding:0 10px 0 4px"%s><span style="color:#8c959f">%3d</span>  `, edge, c.placeData(places), number)
	at, runes := 0, []rune(text)
	for _, p := range places {
		start := p.Col - 1
		if start < at || start >= len(runes) {
			continue
		}
		end := wordEnd(runes, start)
		c.b.WriteString(html.EscapeString(string(runes[at:start])))
		fmt.Fprintf(c.b, `<span style="font-weight:600" data-s="%d">%s</span>`, c.palette.number(p), html.EscapeString(string(runes[start:end])))
		at = end
	}
	c.b.WriteString(html.EscapeString(string(runes[at:])) + "</div>")
}

// wordEnd is the end of the word or sign at start.
func wordEnd(text []rune, start int) int {
	isWord := func(r rune) bool { return r == '_' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	end := start + 1
	for isWord(text[start]) && end < len(text) && isWord(text[end]) {
		end++
	}
	return end
}

// on lists the places on a line that made something, from left to right.
func (p *palette) on(at line) []ir.Pos {
	var list []ir.Pos
	for pos := range p.places {
		if pos.Source == at.source && pos.Line == at.number {
			list = append(list, pos)
		}
	}
	slices.SortFunc(list, func(a, b ir.Pos) int { return a.Col - b.Col })
	return list
}

// survey meets every place of every snapshot in order, so that hues and numbers
// are dealt out before the first line is written.
func (p *palette) survey(list []column) {
	for _, col := range list {
		for _, l := range col.lines {
			if len(l.places) > 0 {
				p.at(l.places[0])
			}
			for _, pos := range l.places {
				p.number(pos)
			}
		}
	}
}

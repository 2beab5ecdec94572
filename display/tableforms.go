package display

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"forgekernel/display/internal/cells"
)

// unbroken is how many characters of a right-aligned cell stay on one line: a number
// with its unit, or a ratio with its interval.
const unbroken = 24

var cssAlign = map[Align]string{AlignLeft: "left", AlignRight: "right", AlignCentre: "center"}

// html uses the class that front ends know from data frames. The alignment is
// inline: style sheets do not survive. A number stays on one line with its unit.
func (g *grid) html() string {
	var b strings.Builder
	b.WriteString(`<table class="dataframe ` + noMath + `">` + "\n")
	if g.title != "" {
		b.WriteString(`<caption style="text-align:left">` + html.EscapeString(g.title) + "</caption>\n")
	}
	cells := func(tag string, row []string) {
		b.WriteString("<tr>")
		for c, s := range row {
			style := "text-align:" + cssAlign[g.align[c]]
			if tag == "td" && g.align[c] == AlignRight && utf8.RuneCountInString(s) <= unbroken {
				style += ";white-space:nowrap"
			}
			fmt.Fprintf(&b, `<%s style="%s">%s</%s>`, tag, style, html.EscapeString(s), tag)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("<thead>")
	cells("th", g.heads)
	b.WriteString("</thead>\n<tbody>\n")
	for _, row := range g.rows {
		cells("td", row)
	}
	b.WriteString("</tbody>\n</table>\n")
	return b.String()
}

func (g *grid) text() string {
	widths := g.widths()
	rule := make([]string, len(widths))
	for c, width := range widths {
		rule[c] = strings.Repeat("-", width)
	}
	var b strings.Builder
	if g.title != "" {
		b.WriteString(g.title + "\n")
	}
	line := func(row []string) {
		cells := make([]string, len(row))
		for c, s := range row {
			cells[c] = alignCell(s, widths[c], g.align[c])
		}
		b.WriteString(strings.TrimRight(strings.Join(cells, "  "), " ") + "\n")
	}
	line(g.heads)
	for _, row := range g.more {
		line(row)
	}
	line(rule)
	for _, row := range g.rows {
		line(row)
	}
	return b.String()
}

// widths are those of the columns, in cells.
func (g *grid) widths() []int {
	widths := make([]int, len(g.heads))
	for c, head := range g.heads {
		widths[c] = cells.Width(head)
		for _, row := range g.more {
			widths[c] = max(widths[c], cells.Width(row[c]))
		}
		for _, row := range g.rows {
			widths[c] = max(widths[c], cells.Width(row[c]))
		}
	}
	return widths
}

func alignCell(s string, width int, a Align) string {
	switch a {
	case AlignRight:
		return cells.PadLeft(s, width)
	case AlignCentre:
		return cells.PadRight(cells.PadLeft(s, cells.Width(s)+(width-cells.Width(s))/2), width)
	}
	return cells.PadRight(s, width)
}

func (g *grid) latex() string {
	var b strings.Builder
	for _, a := range g.align {
		b.WriteString(cssAlign[a][:1])
	}
	spec := b.String()
	b.Reset()
	line := func(row []string) {
		cells := make([]string, len(row))
		for c, s := range row {
			cells[c] = latexText(s)
		}
		b.WriteString(strings.Join(cells, " & ") + ` \\` + "\n")
	}
	b.WriteString(`\begin{tabular}{` + spec + "}\n\\toprule\n")
	line(g.heads)
	b.WriteString("\\midrule\n")
	for _, row := range g.rows {
		line(row)
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	return b.String()
}

var latexSpecial = strings.NewReplacer(
	`\`, `\textbackslash{}`, `{`, `\{`, `}`, `\}`, `$`, `\$`, `&`, `\&`, `#`, `\#`, `%`, `\%`,
	`_`, `\_`, `^`, `\textasciicircum{}`, `~`, `\textasciitilde{}`, `<`, `\textless{}`, `>`, `\textgreater{}`,
)

func latexText(s string) string { return latexSpecial.Replace(s) }

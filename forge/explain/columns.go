package explain

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"

	"forgekernel/display"
	"forgekernel/forge/ir"
	"forgekernel/forge/pass"
)

// Bounds of the columns, so that a graph of a thousand nodes stays a page that
// a browser opens at once.
const (
	fullLines    = 2500 // of all columns together, before they show changes only
	columnLines  = 3000 // of one column; the rest is counted
	contextLines = 2    // shown around a change
	shownSites   = 200  // decisions listed of one pass
)

// columns writes the passes side by side.
type columns struct {
	b       *strings.Builder
	palette *palette
	brief   bool // show changes only, but for the first and last column
}

// column is a snapshot that differs from the one before.
type column struct {
	pass  *Pass
	lines []irLine
	same  []string // passes after it that changed nothing
}

// columnsOf joins each snapshot with the passes after it that changed nothing.
func columnsOf(r *Report) []column {
	var list []column
	for i := range r.Passes {
		if p := &r.Passes[i]; i == 0 || p.Changed {
			list = append(list, column{pass: p, lines: linesOf(r.snapshots[i].Graph)})
		} else {
			last := &list[len(list)-1]
			last.same = append(last.same, p.Name)
		}
	}
	return list
}

func (c *columns) write(list []column, r *Report) {
	total := 0
	for _, col := range list {
		total += len(col.lines)
	}
	c.brief = total > fullLines
	c.b.WriteString(`<div style="display:flex;align-items:flex-start;gap:10px;overflow-x:auto;padding:2px 2px 10px 2px">`)
	c.source(r.sources)
	for i, col := range list {
		before, after := map[string]bool(nil), map[string]bool(nil)
		if i > 0 {
			before = codes(list[i-1].lines)
		}
		if i+1 < len(list) {
			after = codes(list[i+1].lines)
		}
		c.column(col, before, after)
		if len(col.same) > 0 {
			c.unchanged(r, col.same)
		}
	}
	c.b.WriteString("</div>\n")
}

func codes(lines []irLine) map[string]bool {
	set := make(map[string]bool, len(lines))
	for _, l := range lines {
		set[l.code] = true
	}
	return set
}

const (
	columnStyle = "flex:none;border:1px solid #d0d7de;border-radius:6px;background-color:#ffffff;overflow:hidden"
	headStyle   = "padding:6px 10px;border-bottom:1px solid #d0d7de;background-color:#f6f8fa"
	codeStyle   = "font-family:" + monospace + ";font-size:11.5px;line-height:1.5;white-space:pre;overflow:auto;max-height:520px;max-width:540px;padding:6px 0"
)

const monospace = "SFMono-Regular,Menlo,Consolas,monospace"

func (c *columns) head(title, note string) {
	fmt.Fprintf(c.b, `<div style="%s"><div style="font-weight:600">%s</div><div style="color:#57606a;font-size:12px;max-width:420px">%s</div></div>`,
		headStyle, html.EscapeString(title), html.EscapeString(note))
}

func (c *columns) column(col column, before, after map[string]bool) {
	fmt.Fprintf(c.b, `<div style="%s">`, columnStyle)
	c.head(col.pass.Name, col.pass.Doc)
	c.sites(col.pass.Sites)
	fmt.Fprintf(c.b, `<div class="fx-col" style="%s">`, codeStyle)
	width := 0
	for _, l := range col.lines {
		if n := utf8.RuneCountInString(l.code); n <= 72 {
			width = max(width, n)
		}
	}
	c.lines(col.lines, before, after, width)
	c.b.WriteString("</div></div>")
}

// lines writes the lines of a column: all, or of a long one between two others
// those that are new.
func (c *columns) lines(lines []irLine, before, after map[string]bool, width int) {
	show := visible(lines, before, c.brief && before != nil && after != nil)
	hidden := 0
	for i, l := range lines {
		if !show[i] {
			hidden++
			continue
		}
		c.skipped(hidden, "as before")
		hidden = 0
		c.line(l, width, before != nil && !before[l.code], after != nil && !after[l.code])
	}
	if len(lines) > columnLines {
		c.skipped(hidden, "more")
	} else {
		c.skipped(hidden, "as before")
	}
}

// visible says which lines of a column are shown: all, or those near a new one.
func visible(lines []irLine, before map[string]bool, brief bool) []bool {
	show := make([]bool, len(lines))
	for i, l := range lines {
		if i >= columnLines {
			break
		}
		if !brief {
			show[i] = true
			continue
		}
		if i == 0 || !before[l.code] {
			for j := max(0, i-contextLines); j <= min(len(lines)-1, i+contextLines); j++ {
				show[j] = true
			}
		}
	}
	return show
}

func (c *columns) skipped(n int, how string) {
	if n > 0 {
		fmt.Fprintf(c.b, `<div style="color:#8c959f;padding:0 10px">   … %s %s</div>`, display.Count(n, "line"), how)
	}
}

// line writes one line of IR: an edge in the hue of the source line, a mark if
// it is new, the code, its place, and a mark if the next pass takes it away.
func (c *columns) line(l irLine, width int, isNew, isGone bool) {
	hue := plain
	if l.key != "" {
		hue = c.palette.of(l.made)
	}
	ground, mark := "", " "
	if isNew {
		ground, mark = ";background-color:#e9fbee", `<span style="color:#1a7f37">+</span>`
	}
	fmt.Fprintf(c.b, `<div style="border-left:3px solid %s;padding:0 10px 0 4px%s"%s>%s `, hue.edge, ground, c.lineData(l), mark)
	c.code(l)
	gap := max(0, width-utf8.RuneCountInString(l.code))
	place := ""
	if len(l.places) > 0 {
		place = fmt.Sprintf("%d:%d", l.places[0].Line, l.places[0].Col)
	}
	gone := ""
	if isGone {
		gone = `<span style="color:#cf222e" title="the next pass takes this line away">−</span>`
	}
	if place != "" || gone != "" {
		fmt.Fprintf(c.b, `%s <span style="color:#8c959f">%6s</span> %s`, strings.Repeat(" ", gap), place, gone)
	}
	c.b.WriteString("</div>")
}

// lineData is what the script knows of a line: its value and the numbers of its
// places.
func (c *columns) lineData(l irLine) string {
	if l.key == "" {
		return ""
	}
	return fmt.Sprintf(` data-d="%s"%s`, html.EscapeString(l.key), c.placeData(l.places))
}

func (c *columns) placeData(places []ir.Pos) string {
	if len(places) == 0 {
		return ""
	}
	numbers := make([]string, len(places))
	for i, p := range places {
		numbers[i] = strconv.Itoa(c.palette.number(p))
	}
	return ` data-p="` + strings.Join(numbers, " ") + `"`
}

// code writes the code of a line with its values coloured.
func (c *columns) code(l irLine) {
	at, params := 0, l.bodyParams()
	for _, m := range valueName.FindAllStringIndex(l.code, -1) {
		name := l.code[m[0]+1 : m[1]]
		key := l.keyOf(name)
		if m[0] >= params {
			key = l.key + "/" + name
		}
		c.b.WriteString(html.EscapeString(l.code[at:m[0]]))
		weight := ""
		if key == l.key {
			weight = ";font-weight:600"
		}
		fmt.Fprintf(c.b, `<span style="color:#0550ae%s" data-v="%s">%%%s</span>`, weight, html.EscapeString(key), html.EscapeString(name))
		at = m[1]
	}
	c.b.WriteString(html.EscapeString(l.code[at:]))
}

// sites lists the decisions of a pass, folded.
func (c *columns) sites(sites []pass.Rewrite) {
	if len(sites) == 0 {
		return
	}
	applied := 0
	for _, s := range sites {
		if s.Action == pass.Applied {
			applied++
		}
	}
	fmt.Fprintf(c.b, `<details style="border-bottom:1px solid #d0d7de;padding:4px 10px;font-size:12px;max-width:640px"><summary style="cursor:pointer;color:#24292f">%d applied, %d declined</summary>`, applied, len(sites)-applied)
	for _, s := range sites[:min(len(sites), shownSites)] {
		mark, colour := "+", "#1a7f37"
		if s.Action == pass.Declined {
			mark, colour = "−", "#9a6700"
		}
		fmt.Fprintf(c.b, `<div style="margin:3px 0"><b style="color:%s">%s</b> %s <span style="color:#57606a">%s</span></div>`,
			colour, mark, linked(s.Site), linked(": "+reasonText(s)))
	}
	if more := len(sites) - shownSites; more > 0 {
		fmt.Fprintf(c.b, `<div style="color:#8c959f">… %d more</div>`, more)
	}
	c.b.WriteString("</details>")
}

// linked is text as HTML in which values can be chosen.
func linked(text string) string {
	var b strings.Builder
	at := 0
	for _, m := range valueName.FindAllStringIndex(text, -1) {
		name := html.EscapeString(text[m[0]+1 : m[1]])
		b.WriteString(html.EscapeString(text[at:m[0]]))
		fmt.Fprintf(&b, `<span style="color:#0550ae;font-family:%s" data-v="%s">%%%s</span>`, monospace, name, name)
		at = m[1]
	}
	b.WriteString(html.EscapeString(text[at:]))
	return b.String()
}

// unchanged stands for passes that left the program as it was; what they
// declined is there to read.
func (c *columns) unchanged(r *Report, names []string) {
	fmt.Fprintf(c.b, `<div style="%s;background-color:#f6f8fa;padding:6px 10px;font-size:12px;color:#57606a;max-width:180px"><div style="margin-bottom:4px">unchanged by</div>`, columnStyle)
	for _, name := range names {
		for i := range r.Passes {
			p := &r.Passes[i]
			if p.Name != name {
				continue
			}
			fmt.Fprintf(c.b, `<div title="%s">%s</div>`, html.EscapeString(p.Doc), html.EscapeString(name))
			c.sites(p.Sites)
		}
	}
	c.b.WriteString("</div>")
}

package chart

import (
	"math"
	"strings"

	"forgekernel/display/internal/cells"
)

// Measures of a figure in characters.
const (
	textLine       = 78 // of all, where no other width is asked for
	textWidth      = 60 // of an area, at most, in such a line
	textLeastWidth = 36 // of an area, in such a line
	textMost       = 16 // rows of an area
	textLeast      = 4
	textPixel      = 15.0 // of a row
	textNames      = 26   // the longest label beside an area
)

// marksOf are the characters of layers, in turn.
var marksOf = []rune("*+ox#@%")

// text is the figure for terminals with lines of width cells.
func (l *laid) text(width int) string {
	if l.Text != "" {
		return l.Text
	}
	var b strings.Builder
	for _, s := range []string{l.Title, l.Note} {
		if s != "" {
			b.WriteString(cells.OneLine(s) + "\n")
		}
	}
	marks := l.marks()
	for i := range l.panels {
		l.panels[i].text(&b, marks, width)
	}
	var names []string
	for _, e := range l.legend {
		names = append(names, string(marks[e.name])+" "+cells.OneLine(e.name))
	}
	if len(names) > 0 {
		b.WriteString(strings.Join(names, "   ") + "\n")
	}
	return b.String()
}

// marks gives every name of the legend a character.
func (l *laid) marks() map[string]rune {
	marks := make(map[string]rune)
	for i, e := range l.legend {
		marks[e.name] = marksOf[i%len(marksOf)]
	}
	return marks
}

// inRows reports whether names stand below each other on the axis of y.
func (p *panel) inRows() bool { return p.Y.Ticks != nil && p.Y.Reverse }

// grid is an area of characters.
type grid struct {
	*panel
	cells  [][]rune
	width  int
	labels []string // of the rows
	named  int      // width of the longest label
}

func (p *panel) text(b *strings.Builder, marks map[string]rune, width int) {
	rows := int(min(max(p.Height/textPixel, textLeast), textMost))
	if p.inRows() {
		rows = max(1, int(math.Round(p.Y.Max-p.Y.Min)))
	}
	g := &grid{panel: p, cells: make([][]rune, rows), labels: make([]string, rows)}
	for _, t := range g.yTicks {
		label := cells.Short(t.Label, min(textNames, width/3))
		g.labels[g.row(t.At)] = label
		g.named = max(g.named, cells.Width(label))
	}
	room := width - g.named - 2
	for _, text := range g.beside() {
		if text != "" {
			room = min(room, width-g.named-4-cells.Width(text))
		}
	}
	g.width = min(textWidth*width/textLine, max(room, textLeastWidth*width/textLine))
	for i := range g.cells {
		g.cells[i] = []rune(strings.Repeat(" ", g.width))
	}
	for _, layer := range p.Layers {
		mark, named := marks[layer.Name]
		if !named {
			mark = marksOf[0]
		}
		g.layer(layer, mark)
	}
	for _, s := range []string{p.Title, p.Y.Title} {
		if s != "" {
			b.WriteString(cells.OneLine(s) + "\n")
		}
	}
	g.print(b)
}

// print writes the area with its labels.
func (g *grid) print(b *strings.Builder) {
	beside := g.beside()
	for i, row := range g.cells {
		line := cells.PadLeft(g.labels[i], g.named) + " |" + strings.TrimRight(string(row), " ")
		if beside[i] != "" {
			line = cells.PadRight(line, g.named+2+g.width) + "  " + beside[i]
		}
		b.WriteString(line + "\n")
	}
	axis := []rune(strings.Repeat(" ", g.width+1))
	end := 0
	for _, t := range g.xTicks {
		label := []rune(cells.Short(t.Label, textNames))
		at := max(min(g.column(t.At)-len(label)/2, len(axis)-len(label)), 0)
		if at < end || at+len(label) > len(axis) {
			continue
		}
		copy(axis[at:], label)
		end = at + len(label) + 1
	}
	foot := strings.Repeat(" ", g.named+1)
	b.WriteString(foot + "+" + strings.Repeat("-", g.width) + "\n")
	if labels := strings.TrimRight(string(axis), " "); labels != "" {
		b.WriteString(foot + " " + labels + "\n")
	}
	if g.X.Title != "" {
		b.WriteString(foot + " " + cells.OneLine(g.X.Title) + "\n")
	}
}

// beside are the texts at the right of the area, by row.
func (g *grid) beside() []string {
	list := make([]string, len(g.cells))
	for _, l := range g.Layers {
		for _, d := range l.Data {
			if l.Kind == Text && (g.inRows() || math.IsInf(d.X, 1)) {
				row := g.row(d.Y)
				list[row] = strings.TrimSpace(list[row] + "  " + cells.OneLine(d.Text))
			}
		}
	}
	return list
}

func (g *grid) column(x float64) int {
	return min(max(int(g.xs.at(x)/g.Width*float64(g.width)), 0), g.width-1)
}

func (g *grid) row(y float64) int {
	n := len(g.cells)
	return min(max(int(g.ys.at(y)/g.Height*float64(n)), 0), n-1)
}

func (g *grid) set(column, row int, mark rune) { g.cells[row][column] = mark }

// layer puts marks into the cells that they cover.
func (g *grid) layer(l Layer, mark rune) {
	for i, d := range l.Data {
		switch l.Kind {
		case Rect:
			g.rect(d, mark)
		case Area:
			g.slice(d, mark)
		case Point:
			if g.xs.holds(d.X) && g.ys.holds(d.Y) {
				if l.Width > 0 && l.Width < pointSize/2 {
					mark = '·'
				}
				g.set(g.column(d.X), g.row(d.Y), mark)
			}
		case Text:
			g.write(l, d)
		case Rule:
			g.rule(l, d, mark)
		case Line:
			if i > 0 {
				g.segment(l.Data[i-1], d, mark)
			}
		}
	}
}

func (g *grid) fill(left, right, top, bottom int, mark rune) {
	for row := min(top, bottom); row <= max(top, bottom); row++ {
		for column := min(left, right); column <= max(left, right); column++ {
			g.set(column, row, mark)
		}
	}
}

// rect fills a rectangle; in a single row it is a box with ends.
func (g *grid) rect(d Datum, mark rune) {
	if math.IsInf(d.X, -1) && math.IsInf(d.X2, 1) {
		return // the ground of a row
	}
	const inside = 1e-3 // rectangles that touch share no row
	left, right := g.column(d.X), g.column(d.X2)
	top, bottom := g.row(d.Y+(d.Y2-d.Y)*inside), g.row(d.Y2+(d.Y-d.Y2)*inside)
	if top != bottom || right-left < 2 || mark != marksOf[0] {
		g.fill(left, right, top, bottom, mark)
		return
	}
	g.fill(left, right, top, top, '═')
	g.set(left, top, '[')
	g.set(right, top, ']')
}

// slice is a column of an area; in a single row it is the darker the thicker.
func (g *grid) slice(d Datum, mark rune) {
	top, bottom := g.row(d.Y), g.row(d.Y2)
	if top != bottom {
		g.fill(g.column(d.X), g.column(d.X), top, bottom, mark)
		return
	}
	thick := math.Abs(g.ys.at(d.Y)-g.ys.at(d.Y2)) / g.Height * float64(len(g.cells))
	if shade := []rune(" ░▒▓█")[min(int(thick*5), 4)]; g.xs.holds(d.X) && shade != ' ' {
		g.set(g.column(d.X), top, shade)
	}
}

// write puts a text into the area if it has room there.
func (g *grid) write(l Layer, d Datum) {
	text := []rune(cells.OneLine(d.Text))
	from := g.column(d.X) + 1 - len(text)*int(l.Anchor)/2
	if g.inRows() || math.IsInf(d.X, 1) && l.Anchor == Start || from < 0 || from+len(text) > g.width || !g.ys.holds(d.Y) {
		return
	}
	copy(g.cells[g.row(d.Y)][from:], text)
}

// rule draws a horizontal rule as a line, a vertical one as a bar.
func (g *grid) rule(l Layer, d Datum, mark rune) {
	upright := '│'
	if l.Width > 2 {
		upright = '┃'
	}
	switch {
	case d.Y == d.Y2:
		g.fill(g.column(d.X), g.column(d.X2), g.row(d.Y), g.row(d.Y), '─')
	case d.X == d.X2:
		g.fill(g.column(d.X), g.column(d.X), g.row(d.Y), g.row(d.Y2), upright)
	default:
		g.segment(d, Datum{X: d.X2, Y: d.Y2}, mark)
	}
}

// segment marks the part of a segment inside the area.
func (g *grid) segment(from, to Datum, mark rune) {
	for _, piece := range g.clip(g.points(Layer{Data: []Datum{from, to}}, func(d Datum) float64 { return d.Y })) {
		a, b := piece[0], piece[1]
		steps := int(max(math.Abs(b.X-a.X)/g.Width*float64(g.width), math.Abs(b.Y-a.Y)/g.Height*float64(len(g.cells)))) + 1
		for i := range steps + 1 {
			at := float64(i) / float64(steps)
			x, y := a.X+at*(b.X-a.X)-g.corner.X, a.Y+at*(b.Y-a.Y)-g.corner.Y
			g.set(min(int(x/g.Width*float64(g.width)), g.width-1), min(int(y/g.Height*float64(len(g.cells))), len(g.cells)-1), mark)
		}
	}
}

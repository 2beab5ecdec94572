package display

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"forgekernel/display/internal/cells"
)

// Fit lays out text forms of displays anew in lines of at most width cells, as far as it
// knows them: tables as by [Table.TextWithin]; what a chart has at the right of the last
// cell is cut off. All other lines stay as they are, for they may be code.
func Fit(text string, width int) string {
	lines := strings.Split(text, "\n")
	var fitted []string
	for i := 0; i < len(lines); {
		if g, n := parseGrid(lines[i:], width); n > 0 {
			indent := len(lines[i+1]) - len(strings.TrimLeft(lines[i+1], " "))
			for line := range strings.Lines(g.within(width - indent)) {
				fitted = append(fitted, strings.Repeat(" ", indent)+strings.TrimSuffix(line, "\n"))
			}
			i += n
			continue
		}
		n := chartLines(lines[i:])
		for _, line := range lines[i : i+n] {
			fitted = append(fitted, runewidth.Truncate(line, width, "…"))
		}
		i += n
		if n == 0 {
			fitted = append(fitted, lines[i])
			i++
		}
	}
	return strings.Join(fitted, "\n")
}

// Wrap breaks a text at blanks into lines of a width, in cells; a longer word stands alone.
// It is at least one line.
func Wrap(text string, width int) []string { return cells.Wrap(text, width) }

// ruled is the line between the heads of a table and its rows.
var ruled = regexp.MustCompile(`^ *-+(  -+)+$`)

// parseGrid reads a table that is wider than width from the lines that it has as text,
// and says how many there are; none if there is no such table.
func parseGrid(lines []string, width int) (*grid, int) {
	if len(lines) < 2 || !ruled.MatchString(lines[1]) {
		return nil, 0
	}
	columns := columnsOf(lines[1])
	heads, ok := columns.cut(lines[0])
	if !ok {
		return nil, 0
	}
	g, n, widest := &grid{heads: heads}, 2, cells.Width(lines[1])
	for ; n < len(lines) && strings.TrimSpace(lines[n]) != ""; n++ {
		row, ok := columns.cut(lines[n])
		if !ok {
			break
		}
		widest = max(widest, cells.Width(lines[n]))
		g.rows = append(g.rows, row)
	}
	if widest <= width {
		return nil, 0
	}
	for c, span := range columns {
		g.align = append(g.align, alignOf(append(slices.Clone(g.rows), heads), c, span[1]-span[0]))
	}
	for r, row := range g.rows {
		for c := range row {
			g.rows[r][c] = strings.TrimSpace(row[c])
		}
	}
	for c := range heads {
		heads[c] = strings.TrimSpace(heads[c])
	}
	g.joinRows()
	return g, n
}

// columns are those of a table: where each begins and ends, in cells.
type columns [][2]int

// columnsOf reads them off the line of dashes.
func columnsOf(rule string) (list columns) {
	for i := 0; i < len(rule); i++ {
		if rule[i] == '-' && (i == 0 || rule[i-1] == ' ') {
			list = append(list, [2]int{i, i})
		}
		if rule[i] == '-' {
			list[len(list)-1][1] = i + 1
		}
	}
	return list
}

// cut takes a line apart, blanks included. It is false for a line that has something
// between two columns or beyond the last.
func (list columns) cut(line string) (parts []string, ok bool) {
	row := make([]strings.Builder, len(list))
	at := 0
	for _, r := range line {
		c := slices.IndexFunc(list, func(span [2]int) bool { return span[0] <= at && at < span[1] })
		if c >= 0 {
			row[c].WriteRune(r)
		} else if r != ' ' {
			return nil, false
		}
		at += cells.Width(string(r))
	}
	for i := range row {
		parts = append(parts, row[i].String())
	}
	return parts, true
}

// alignOf says where the cells of a column stand: right, if they all end where it ends.
func alignOf(rows [][]string, c, width int) Align {
	align := AlignLeft
	for _, row := range rows {
		cell := row[c]
		switch {
		case strings.TrimSpace(cell) == "":
		case cells.Width(strings.TrimRight(cell, " ")) < width:
			return AlignLeft
		case cell[0] == ' ':
			align = AlignRight
		}
	}
	return align
}

// joinRows puts cells together again that were broken into several lines: in such a line
// nothing else stands.
func (g *grid) joinRows() {
	var rows [][]string
	for _, row := range g.rows {
		some := func(s string) bool { return s != "" }
		c := slices.IndexFunc(row, some)
		if len(rows) == 0 || c <= 0 || slices.ContainsFunc(row[c+1:], some) {
			rows = append(rows, row)
			continue
		}
		above := rows[len(rows)-1]
		above[c] = strings.TrimSpace(above[c] + " " + row[c])
	}
	g.rows = rows
}

// foot is the axis below the area of a chart.
var foot = regexp.MustCompile(`^( *)\+-+$`)

// chartLines is how many lines a chart has, from the first of its area to the name of its
// axis; 0 if none begins there.
func chartLines(lines []string) int {
	end := slices.IndexFunc(lines, func(line string) bool { return !strings.Contains(line, "|") })
	if end < 1 || !foot.MatchString(lines[end]) {
		return 0
	}
	edge := strings.Index(lines[end], "+")
	end++
	for range 2 { // ticks, and what they count
		if end < len(lines) && len(lines[end]) > edge && strings.TrimSpace(lines[end][:edge]) == "" {
			end++
		}
	}
	return end
}

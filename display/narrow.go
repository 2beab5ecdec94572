package display

import (
	"fmt"
	"slices"
	"strings"

	"forgekernel/display/internal/cells"
)

const (
	between   = 2  // cells between two columns
	leastText = 16 // of a column of text while numbers are whole
	longWord  = 24 // that may be broken in its middle, such as a hash or a path
	leastRow  = 16 // of a row of shades
)

// within is the table in at most width cells to a line: with narrower columns, or in
// several tables that have the names of its rows in common, or a line for each cell.
func (g *grid) within(width int) string {
	if narrowed := g.narrowed(width, false); narrowed != nil {
		return narrowed.text()
	}
	var b strings.Builder
	for i, part := range g.parts(width) {
		narrowed := part.narrowed(width, true)
		if narrowed == nil {
			return g.records(width)
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(narrowed.text())
	}
	return b.String()
}

// narrowed is the table with columns that have room beside each other, nil if they have
// none: columns of text are narrowed and heads broken, and numbers with more words than
// one, such as intervals, if that is allowed.
func (g *grid) narrowed(width int, numbers bool) *grid {
	natural := g.widths()
	if lineOf(natural) <= width {
		return g
	}
	heads, texts, all := g.leasts(natural)
	switch {
	case lineOf(heads) <= width:
		return g.broken(squeezed(natural, heads, width))
	case lineOf(texts) <= width:
		return g.broken(squeezed(heads, texts, width))
	case numbers && lineOf(all) <= width:
		return g.broken(squeezed(texts, all, width))
	}
	return nil
}

// leasts are how narrow columns become: with heads of numbers broken, with texts broken
// too, and with numbers that have more words than one.
func (g *grid) leasts(natural []int) (heads, texts, all []int) {
	for c, width := range natural {
		least := min(g.least(c), width)
		all = append(all, least)
		if g.align[c] == AlignLeft {
			heads, texts = append(heads, width), append(texts, min(max(least, leastText), width))
			continue
		}
		whole := longestWord(g.heads[c])
		for _, row := range g.rows {
			whole = max(whole, cells.Width(row[c]))
		}
		heads, texts = append(heads, whole), append(texts, whole)
	}
	return heads, texts, all
}

// parts are tables of some columns each; those that name the rows are in all of them.
func (g *grid) parts(width int) (list []*grid) {
	_, texts, _ := g.leasts(g.widths())
	named := g.naming()
	var part *grid
	room := 0
	for c := named; c < len(g.heads); c++ {
		if part == nil || room < between+texts[c] {
			part = &grid{heads: g.heads[:named:named], align: g.align[:named:named]}
			for _, row := range g.rows {
				part.rows = append(part.rows, row[:named:named])
			}
			room = width - lineOf(texts[:named])
			list = append(list, part)
		}
		room -= between + texts[c]
		part.heads, part.align = append(part.heads, g.heads[c]), append(part.align, g.align[c])
		for r := range part.rows {
			part.rows[r] = append(part.rows[r], g.rows[r][c])
		}
	}
	if len(list) > 0 {
		list[0].title = g.title
	}
	return list
}

// naming is how many columns name the rows: up to the first of text if that is near.
func (g *grid) naming() int {
	if c := slices.Index(g.align, AlignLeft); c >= 0 && c < min(3, len(g.align)-1) {
		return c + 1
	}
	return 1
}

// lineOf is how wide a line of columns is.
func lineOf(widths []int) int {
	sum := between * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// squeezed makes the widest columns narrower until a line has the given width, none
// narrower than its least.
func squeezed(widths, least []int, width int) []int {
	widths = slices.Clone(widths)
	for lineOf(widths) > width {
		widest := -1
		for c, w := range widths {
			if w > least[c] && (widest < 0 || w > widths[widest]) {
				widest = c
			}
		}
		widths[widest]--
	}
	return widths
}

// least is the width that a column needs: numbers and words are not broken, but for long
// words in columns of text.
func (g *grid) least(c int) int {
	if g.shaded(c) {
		return max(leastRow, longestWord(g.heads[c]))
	}
	width := longestWord(g.heads[c])
	for _, row := range g.rows {
		word := longestWord(row[c])
		if g.align[c] == AlignLeft {
			word = min(word, longWord)
		}
		width = max(width, word)
	}
	return width
}

// longestWord is the width of the longest word.
func longestWord(s string) (width int) {
	for word := range strings.FieldsSeq(s) {
		width = max(width, cells.Width(word))
	}
	return width
}

// shaded reports whether a column holds rows of fillings, which say something by their
// place and have no words.
func (g *grid) shaded(c int) bool {
	some := false
	for _, row := range g.rows {
		if strings.Trim(row[c], cells.Shades) != "" {
			return false
		}
		some = some || len(row[c]) > leastRow
	}
	return some
}

// broken is the table with cells broken into lines of the given widths.
func (g *grid) broken(widths []int) *grid {
	b := &grid{title: g.title, align: g.align, heads: make([]string, len(g.heads))}
	for i, line := range g.lines(g.heads, widths) {
		if i == 0 {
			b.heads = line
		} else {
			b.more = append(b.more, line)
		}
	}
	for _, row := range g.rows {
		b.rows = append(b.rows, g.lines(row, widths)...)
	}
	return b
}

// lines are the lines of one row.
func (g *grid) lines(row []string, widths []int) [][]string {
	var list [][]string
	for c, cell := range row {
		parts := []string{cell}
		switch {
		case cells.Width(cell) <= widths[c]:
		case strings.Trim(cell, cells.Shades) == "":
			parts[0] = coarser(cell, widths[c])
		default:
			parts = wrapCell(cell, widths[c])
		}
		for i, part := range parts {
			if i == len(list) {
				list = append(list, make([]string, len(row)))
			}
			list[i][c] = part
		}
	}
	return list
}

// coarser is a row of shades in at most width cells, each the darkest of several.
func coarser(row string, width int) string {
	levels := []rune(cells.Shades)
	all := []rune(row)
	per := (len(all) + width - 1) / width
	var b strings.Builder
	for group := range slices.Chunk(all, per) {
		darkest := 0
		for _, r := range group {
			darkest = max(darkest, slices.Index(levels, r))
		}
		b.WriteRune(levels[darkest])
	}
	return b.String()
}

// wrapCell breaks a text into lines of a width, longer words too.
func wrapCell(s string, width int) []string {
	var words []string
	for word := range strings.FieldsSeq(s) {
		for cells.Width(word) > width {
			n, used := 0, 0
			for i, r := range word {
				if used += cells.Width(string(r)); used > width && i > 0 {
					n = i
					break
				}
			}
			if n == 0 { // a single character is wider
				break
			}
			words = append(words, word[:n])
			word = word[n:]
		}
		words = append(words, word)
	}
	return cells.Wrap(strings.Join(words, " "), width)
}

// records is the table with the cells of a row below each other, each beside the head of
// its column.
func (g *grid) records(width int) string {
	named := 0
	for c, head := range g.heads {
		named = max(named, cells.Width(head)+min(c, 1)*between)
	}
	named = min(named, max(width/2, 1))
	var b strings.Builder
	if g.title != "" {
		b.WriteString(g.title + "\n")
	}
	for _, row := range g.rows {
		for c, cell := range row {
			if cell == "" {
				continue
			}
			head := strings.Repeat(" ", min(c, 1)*between) + g.heads[c]
			room := max(width-named-between, 1)
			parts := g.lines([]string{cell}, []int{room})
			for _, part := range parts {
				fmt.Fprintf(&b, "%s  %s\n", cells.PadRight(cells.Short(head, named), named), part[0])
				head = ""
			}
		}
	}
	return b.String()
}

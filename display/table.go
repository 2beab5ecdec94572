package display

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"forgekernel/display/internal/cells"
)

// Align is where a column's cells stand.
type Align uint8

// Alignments. AlignAuto puts columns of numbers right and all others left.
const (
	AlignAuto Align = iota
	AlignLeft
	AlignRight
	AlignCentre
)

// Column describes one column of a [Table].
type Column struct {
	Name  string
	Unit  string // shown beside the name: "ms", "GFLOP/s"
	Align Align
	exact bool // of a program's values: every digit counts
}

// Table is rows of values under named columns. Floating-point columns show
// at least four significant digits of their largest value and two of their
// smallest, with as many decimals in every row; nil is an empty cell. Rows may be shorter than Columns; cells
// beyond the last column get columns without a name.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]any
}

// displayedRows is how many rows Display shows.
const displayedRows = 1000

// Display shows the table as HTML that front ends style as their own, as
// aligned text, and as a LaTeX tabular with booktabs rules. After a thousand
// rows it says how many more there are.
func (t Table) Display() Bundle {
	more := len(t.Rows) - displayedRows
	if more > 0 {
		t.Rows = t.Rows[:displayedRows]
	}
	g := t.grid()
	if more > 0 && len(g.heads) > 0 {
		last := make([]string, len(g.heads))
		last[0] = fmt.Sprintf("... %d more", more)
		g.rows = append(g.rows, last)
	}
	return Bundle{Data: map[string]any{mimeHTML: g.html(), mimeText: g.text(), mimeLaTeX: g.latex()}}
}

// Text is the table in plain text, columns aligned by display width.
func (t Table) Text() string { return t.grid().text() }

// TextWithin is Text in at most width cells to a line: cells are broken into several
// lines, first those of the widest columns of text. Columns that have no room beside each
// other stand in further tables, with the columns that name the rows in all of them.
func (t Table) TextWithin(width int) string { return t.grid().within(width) }

// grid is a table with every cell written out and every alignment decided.
type grid struct {
	title string
	heads []string
	more  [][]string // lines of the heads after the first
	align []Align
	rows  [][]string
}

func (t Table) grid() *grid {
	width := len(t.Columns)
	for _, row := range t.Rows {
		width = max(width, len(row))
	}
	g := &grid{title: cells.OneLine(t.Title), rows: make([][]string, len(t.Rows))}
	for i := range g.rows {
		g.rows[i] = make([]string, width)
	}
	for c := range width {
		var column Column
		if c < len(t.Columns) {
			column = t.Columns[c]
		}
		head := cells.OneLine(column.Name)
		if column.Unit != "" {
			head = strings.TrimSpace(head + " (" + cells.OneLine(column.Unit) + ")")
		}
		cells := make([]any, len(t.Rows))
		for r, row := range t.Rows {
			if c < len(row) {
				cells[r] = row[c]
			}
		}
		for r, s := range column.format(cells) {
			g.rows[r][c] = s
		}
		if column.Align == AlignAuto {
			column.Align = naturalAlign(cells)
		}
		g.heads = append(g.heads, head)
		g.align = append(g.align, column.Align)
	}
	return g
}

// naturalAlign is right for a column of numbers, left for any other.
func naturalAlign(cells []any) Align {
	numbers := 0
	for _, c := range cells {
		switch {
		case c == nil:
		case isNumber(c):
			numbers++
		default:
			return AlignLeft
		}
	}
	if numbers == 0 {
		return AlignLeft
	}
	return AlignRight
}

func isNumber(c any) bool {
	v := reflect.ValueOf(c)
	return v.CanInt() || v.CanUint() || v.CanFloat()
}

// format writes the cells of a column.
func (column Column) format(values []any) []string {
	out := make([]string, len(values))
	decimals := columnDecimals
	if column.exact {
		decimals = exactDecimals
	}
	n := decimals(values)
	for i, c := range values {
		if x, ok := asFloat(c); ok {
			out[i] = formatFloat(x, n)
		} else if c != nil {
			out[i] = cells.OneLine(ToBundle(c).text())
		}
	}
	return out
}

// text is the plain form of a bundle, which every bundle should have.
func (b Bundle) text() string {
	s, _ := b.Data[mimeText].(string)
	return s
}

// asFloat reports whether a cell is a floating-point number without a text of
// its own.
func asFloat(c any) (float64, bool) {
	if _, ok := c.(fmt.Stringer); ok {
		return 0, false
	}
	v := reflect.ValueOf(c)
	if !v.CanFloat() {
		return 0, false
	}
	return v.Float(), true
}

// Where no number of decimals suits a column.
const (
	exponents = -1 // four digits of each number
	shortest  = -2 // each number with all its digits, as Go prints it
)

// columnDecimals is how many decimals give the largest number of a column four
// significant digits and the smallest two, less the last that are zero in
// every row; exponents if the numbers are too large or too far apart for that.
func columnDecimals(cells []any) int {
	largest, smallest := 0.0, math.Inf(1)
	for _, c := range cells {
		x, ok := asFloat(c)
		if x = math.Abs(x); !ok || x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
			continue
		}
		largest, smallest = max(largest, x), min(smallest, x)
	}
	if largest == 0 {
		return 0
	}
	if largest >= 1e7 || largest < 1e-4 || largest/smallest >= 1e6 {
		return exponents
	}
	place := func(x float64) int { return -int(math.Floor(math.Log10(x))) } // decimals of its first digit
	decimals := max(0, place(largest)+3, place(smallest)+1)
	for decimals > 0 && zeroAt(cells, decimals) {
		decimals--
	}
	return decimals
}

// exactDecimals is how many decimals the numbers of a column have that has the most,
// or shortest if that is more than a reader takes in.
func exactDecimals(cells []any) int {
	decimals := 0
	for _, c := range cells {
		x, ok := asFloat(c)
		if !ok || math.IsInf(x, 0) || math.IsNaN(x) {
			continue
		}
		if math.Abs(x) >= 1e15 {
			return shortest
		}
		_, after, _ := strings.Cut(strconv.FormatFloat(x, 'f', -1, 64), ".")
		decimals = max(decimals, len(after))
	}
	if decimals > 6 {
		return shortest
	}
	return decimals
}

// zeroAt reports whether the last of the given decimals is zero in all cells.
func zeroAt(cells []any, decimals int) bool {
	for _, c := range cells {
		if x, ok := asFloat(c); ok && !math.IsInf(x, 0) && !math.IsNaN(x) {
			if s := strconv.FormatFloat(x, 'f', decimals, 64); s[len(s)-1] != '0' {
				return false
			}
		}
	}
	return true
}

func formatFloat(x float64, decimals int) string {
	switch decimals {
	case exponents:
		return strconv.FormatFloat(x, 'g', 4, 64)
	case shortest:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

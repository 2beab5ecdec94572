package display

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
}

// Table is rows of values under named columns. Floating-point columns show
// about four significant digits, with the decimals of a column alike; nil is
// an empty cell. Rows may be shorter than Columns; cells beyond the last
// column get columns without a name.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]any
}

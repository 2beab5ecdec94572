package tensor

import (
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"

	"forgekernel/display"
)

// What String shows of a tensor.
const (
	printAll  = 1000 // a tensor with more elements is summarised
	printEdge = 3    // elements kept at each end of a summarised dimension
	lineWidth = 88   // columns before a row is wrapped
)

// String writes the type and shape, then the elements in NumPy's layout with
// at most six decimals. A tensor of more than 1000 elements is summarised.
func (t *Tensor) String() string {
	return t.formatter().layout()
}

// head is the type and shape: "f32[2,3]".
func (t *Tensor) head() string { return t.dtype.String() + FormatShape(t.shape) }

func (f *formatter) layout() string {
	t := f.t
	if len(t.shape) == 0 {
		return t.head() + " " + strings.TrimSpace(f.text(0))
	}
	if t.n == 0 {
		return t.head() + " []"
	}
	var b strings.Builder
	b.WriteString(t.head() + "\n")
	f.block(&b, 0, 0)
	return b.String()
}

// Format implements [fmt.Formatter]: %v and %s write [Tensor.String]; a verb
// for numbers, with its flags, width and precision, applies to the elements, so
// that %.2f writes each with two decimals.
func (t *Tensor) Format(s fmt.State, verb rune) {
	if verb == 'v' || verb == 's' {
		io.WriteString(s, t.String())
		return
	}
	if !t.formats(verb) {
		fmt.Fprintf(s, "%%!%c(*tensor.Tensor=%s)", verb, t.head())
		return
	}
	f := &formatter{t: t, summary: t.n > printAll, strides: t.Strides(), spec: fmt.FormatString(s, verb)}
	f.align()
	io.WriteString(s, f.layout())
}

// formats reports whether a verb other than %v suits the elements. Integers
// may be written as floating-point numbers too.
func (t *Tensor) formats(verb rune) bool {
	verbs := "eEfFgG"
	switch t.dtype {
	case I64, I32:
		verbs += "dboxX"
	case Bool:
		verbs = "t"
	}
	return strings.ContainsRune(verbs, verb)
}

// formatter writes elements in a common width.
type formatter struct {
	t        *Tensor
	spec     string // of package fmt, for each element; empty for the layout of String
	summary  bool
	strides  []int
	verb     byte // 'f' or 'e' for floating-point elements, 0 for others
	decimals int
	width    int
}

func (t *Tensor) formatter() *formatter {
	f := &formatter{t: t, summary: t.n > printAll, strides: t.Strides()}
	if t.n == 0 {
		return f
	}
	if t.dtype.IsFloat() {
		f.chooseFloat()
	}
	f.align()
	return f
}

// align finds the width that all shown elements fit in.
func (f *formatter) align() {
	if f.t.n == 0 {
		return
	}
	for i := range f.shown {
		f.width = max(f.width, len(f.raw(i)))
	}
}

// chooseFloat picks fixed or scientific notation and the number of decimals,
// by NumPy's rule: scientific when magnitudes differ by more than a thousand,
// or are large or tiny.
func (f *formatter) chooseFloat() {
	low, high := math.Inf(1), 0.0
	for i := range f.shown {
		if v := math.Abs(f.t.at(i)); v > 0 && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	f.verb = 'f'
	if high >= 1e8 || high > 0 && (low < 1e-4 || high/low > 1000 && low < 1) {
		f.verb = 'e'
	}
	for i := range f.shown {
		f.decimals = max(f.decimals, f.decimalsOf(f.t.at(i)))
	}
}

const maxDecimals = 6

// decimalsOf is the number of decimals that v needs, up to the limit.
func (f *formatter) decimalsOf(v float64) int {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	limit := maxDecimals
	if f.verb == 'e' {
		limit = 4
	}
	s := strconv.FormatFloat(v, f.verb, limit, 64)
	if e := strings.IndexByte(s, 'e'); e >= 0 {
		s = s[:e]
	}
	_, fraction, _ := strings.Cut(s, ".")
	return len(strings.TrimRight(fraction, "0"))
}

func (f *formatter) raw(i int) string {
	if f.spec != "" {
		return f.formatted(i)
	}
	switch f.t.dtype {
	case I64:
		return strconv.FormatInt(f.t.Int64()[i], 10)
	case I32:
		return strconv.FormatInt(int64(f.t.Int32()[i]), 10)
	case Bool:
		return strconv.FormatBool(f.t.Bool()[i])
	}
	v := f.t.at(i)
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'f', 0, 64), "+"))
	}
	s := strconv.FormatFloat(v, f.verb, f.decimals, 64)
	if f.decimals == 0 && f.verb == 'f' {
		s += "."
	}
	return s
}

// formatted is an element under a verb of package fmt.
func (f *formatter) formatted(i int) string {
	whole := strings.ContainsRune("dboxX", rune(f.spec[len(f.spec)-1]))
	switch {
	case f.t.dtype == Bool:
		return fmt.Sprintf(f.spec, f.t.Bool()[i])
	case whole && f.t.dtype == I64:
		return fmt.Sprintf(f.spec, f.t.Int64()[i])
	case whole && f.t.dtype == I32:
		return fmt.Sprintf(f.spec, f.t.Int32()[i])
	}
	return fmt.Sprintf(f.spec, f.t.at(i))
}

func (f *formatter) text(i int) string {
	s := f.raw(i)
	return strings.Repeat(" ", max(0, f.width-len(s))) + s
}

// indices yields the shown indices of a dimension; -1 stands for an ellipsis.
func (f *formatter) indices(dim int, yield func(int) bool) bool {
	n := f.t.shape[dim]
	for i := 0; i < n; i++ {
		if f.summary && n > 2*printEdge && i == printEdge {
			if !yield(-1) {
				return false
			}
			i = n - printEdge
		}
		if !yield(i) {
			return false
		}
	}
	return true
}

// shown yields the storage index of every element that is shown.
func (f *formatter) shown(yield func(int) bool) { f.walk(0, 0, yield) }

func (f *formatter) walk(dim, off int, yield func(int) bool) bool {
	if dim == len(f.t.shape) {
		return yield(off)
	}
	return f.indices(dim, func(i int) bool {
		return i < 0 || f.walk(dim+1, off+i*f.strides[dim], yield)
	})
}

// block writes dimension dim and those below it, starting at element off.
func (f *formatter) block(b *strings.Builder, dim, off int) {
	if dim == len(f.t.shape)-1 {
		f.row(b, off)
		return
	}
	b.WriteByte('[')
	first := true
	f.indices(dim, func(i int) bool {
		if !first {
			b.WriteString(strings.Repeat("\n", len(f.t.shape)-1-dim))
			b.WriteString(strings.Repeat(" ", dim+1))
		}
		first = false
		if i < 0 {
			b.WriteString("...")
		} else {
			f.block(b, dim+1, off+i*f.strides[dim])
		}
		return true
	})
	b.WriteByte(']')
}

func (f *formatter) row(b *strings.Builder, off int) {
	indent := len(f.t.shape)
	column := indent
	b.WriteByte('[')
	first := true
	f.indices(len(f.t.shape)-1, func(i int) bool {
		word := "..."
		if i >= 0 {
			word = f.text(off + i)
		}
		switch {
		case first:
		case column+1+len(word) > lineWidth:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		first = false
		b.WriteString(word)
		column += len(word)
		return true
	})
	b.WriteByte(']')
}

// Display shows the text form and, up to two dimensions, a table.
func (t *Tensor) Display() display.Bundle {
	b := display.Text(t.String())
	if len(t.shape) > 0 && len(t.shape) <= 2 && t.n > 0 {
		b.Data["text/html"] = t.table()
	}
	return b
}

// Longest dimensions that the table shows whole. Wide elements leave room for
// fewer columns: what does not fit on a page would be cut there.
const (
	tableRows    = 12
	tableColumns = 16
	tableWidth   = 96 // characters
)

// table writes rows under column numbers; a vector is one row.
func (t *Tensor) table() string {
	rows, cols := 1, t.shape[len(t.shape)-1]
	if len(t.shape) == 2 {
		rows = t.shape[0]
	}
	f := t.formatter()
	most := min(tableColumns, max(4, tableWidth/(f.width+3)))
	var b strings.Builder
	b.WriteString(`<table class="dataframe"><caption style="text-align:left">` + html.EscapeString(t.head()) + "</caption>\n<thead><tr><th></th>")
	for j := range excerpt(cols, most) {
		b.WriteString("<th>" + label(j) + "</th>")
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for i := range excerpt(rows, tableRows) {
		b.WriteString("<tr><th>" + label(i) + "</th>")
		for j := range excerpt(cols, most) {
			text := "…"
			if i >= 0 && j >= 0 {
				text = f.raw(i*cols + j)
			}
			b.WriteString(`<td style="text-align:right">` + html.EscapeString(text) + "</td>")
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody></table>")
	return b.String()
}

func label(i int) string {
	if i < 0 {
		return "…"
	}
	return strconv.Itoa(i)
}

// excerpt yields 0 to n-1, or both ends around a -1 when n exceeds limit.
func excerpt(n, limit int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := 0; i < n; i++ {
			if n > limit && i == limit/2 {
				if !yield(-1) {
					return
				}
				i = n - limit/2
			}
			if !yield(i) {
				return
			}
		}
	}
}

package display

import (
	"fmt"
	"forgekernel/display/internal/cells"
	"html"
	"strconv"
	"strings"
)

// Diagnostic is one problem in a piece of source, in the form every front end
// of the workbench reports: what failed, where, and what would work. Packages
// return it as an error of type *Diagnostic.
type Diagnostic struct {
	Source  string // name of the source: "cell 3", "mlp.fs"
	Line    int    // 1-based; 0 when the problem has no position
	Col     int    // 1-based, in code points
	EndCol  int    // exclusive; 0 means one code point wide
	Text    string // the source line itself, without its newline
	Message string // one sentence
	Hint    string // what to write instead; may be empty
	Notes   []string
	Warning bool // nothing has failed
}

// Error is the diagnostic on one line: "mlp.fs:3:7: message; hint".
func (d *Diagnostic) Error() string {
	s := d.Message
	if where := d.position(); where != "" {
		s = where + ": " + s
	}
	if d.Hint != "" {
		s += "; " + d.Hint
	}
	return cells.OneLine(s)
}

// Plain is the whole diagnostic as text: the message under its position, the
// source line with a caret below the place, the hint and the notes.
func (d *Diagnostic) Plain() string { return strings.Join(d.lines(plainStyle), "\n") }

// Traceback is the whole diagnostic as the coloured lines of a Jupyter error
// message.
func (d *Diagnostic) Traceback() []string { return d.lines(ansiStyle) }

// Display shows the diagnostic as an error box, and as text.
func (d *Diagnostic) Display() Bundle {
	box := `<div style="border-left:4px solid #cf222e;background-color:#fff5f5;color:#24292f;padding:8px 12px">` +
		`<pre style="font-family:` + monospace + `;font-size:13px;color:#24292f;background-color:#fff5f5;margin:0">` + strings.Join(d.lines(htmlStyle), "\n") + `</pre></div>`
	return Bundle{Data: map[string]any{mimeHTML: box, mimeText: d.Plain()}}
}

// Excerpt is the source line and, below it, the caret: the coloured lines of a Jupyter
// error message, for a place that stands beside others.
func (d *Diagnostic) Excerpt() []string { return d.excerpt(ansiStyle) }

func (d *Diagnostic) position() string {
	switch {
	case d.Line <= 0:
		return d.Source
	case d.Col <= 0:
		return fmt.Sprintf("%s:%d", d.Source, d.Line)
	}
	return fmt.Sprintf("%s:%d:%d", d.Source, d.Line, d.Col)
}

// style marks up the parts of a diagnostic. Each function also makes its text
// safe where it will stand.
type style struct {
	plain, heading, place, gutter, caret, hint, note func(string) string
}

var plainStyle = style{cells.OneLine, cells.OneLine, cells.OneLine, cells.OneLine, cells.OneLine, cells.OneLine, cells.OneLine}

var ansiStyle = style{
	plain:   cells.OneLine,
	heading: ansi("1;31"),
	place:   ansi("2"),
	gutter:  ansi("36"),
	caret:   ansi("1;31"),
	hint:    ansi("32"),
	note:    ansi("34"),
}

var htmlStyle = style{
	plain:   func(s string) string { return html.EscapeString(cells.OneLine(s)) },
	heading: coloured("#cf222e", "b"),
	place:   coloured("#57606a", "span"),
	gutter:  coloured("#57606a", "span"),
	caret:   coloured("#cf222e", "b"),
	hint:    coloured("#116329", "span"),
	note:    coloured("#0550ae", "span"),
}

func ansi(code string) func(string) string {
	return func(s string) string { return "\x1b[" + code + "m" + cells.OneLine(s) + "\x1b[0m" }
}

func coloured(hex, tag string) func(string) string {
	return func(s string) string {
		return "<" + tag + ` style="color:` + hex + `">` + html.EscapeString(cells.OneLine(s)) + "</" + tag + ">"
	}
}

func (d *Diagnostic) lines(s style) []string {
	kind := "error"
	if d.Warning {
		kind = "warning"
	}
	out := []string{s.heading(kind) + s.plain(": "+d.Message)}
	if where := d.position(); where != "" {
		out = append(out, s.place(" --> "+where))
	}
	if d.Line > 0 && d.Text != "" {
		out = append(out, d.excerpt(s)...)
	}
	if d.Hint != "" {
		out = append(out, s.hint("hint")+s.plain(": "+d.Hint))
	}
	for _, note := range d.Notes {
		out = append(out, s.note("note")+s.plain(": "+note))
	}
	return out
}

// excerpt is the source line behind its number, and a caret line under it.
func (d *Diagnostic) excerpt(s style) []string {
	number := strconv.Itoa(d.Line)
	blank := s.gutter(strings.Repeat(" ", len(number)) + " |")
	w := d.window()
	source := []string{s.gutter(number+" |") + s.plain(" "+w.text)}
	if d.Col <= 0 {
		return source
	}
	return append(source, blank+s.plain(" "+strings.Repeat(" ", w.indent))+s.caret(strings.Repeat("^", w.width)))
}

// Columns of context kept around the caret of an overlong line.
const (
	excerptBefore = 60
	excerptAfter  = 60
)

// window is the part of a source line that is shown: its text with tabs
// expanded, and the caret's indent and width in cells.
type window struct {
	text          string
	indent, width int
}

// window cuts the source line down to the surroundings of the caret, and
// measures where the caret stands: a column counts code points, a terminal
// counts cells.
func (d *Diagnostic) window() window {
	line := []rune(d.Text)
	from := min(max(d.Col-1, 0), len(line))
	to := min(max(d.EndCol-1, from+1), len(line))
	if to < from { // the caret stands behind the end of the line
		to = from
	}
	first, last := max(0, from-excerptBefore), min(len(line), max(to, from)+excerptAfter)
	if len(line) <= excerptBefore+excerptAfter { // calls on it show it alike, wherever their carets are
		first, last = 0, len(line)
	}
	if to > from+excerptAfter {
		last = min(len(line), from+excerptAfter)
		to = last
	}
	var w window
	var text strings.Builder
	if first > 0 {
		text.WriteRune('…')
	}
	text.WriteString(untab(line[first:from]))
	w.indent = cells.Width(cells.OneLine(text.String()))
	marked := untab(line[from:to])
	w.width = max(1, cells.Width(cells.OneLine(marked)))
	text.WriteString(marked)
	text.WriteString(untab(line[to:last]))
	if last < len(line) {
		text.WriteRune('…')
	}
	w.text = strings.TrimRight(text.String(), " ")
	return w
}

// untab draws every tab as four spaces, so that caret and line agree.
func untab(line []rune) string { return strings.ReplaceAll(string(line), "\t", "    ") }

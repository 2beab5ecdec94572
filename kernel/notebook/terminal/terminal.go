// Package terminal prints what a notebook shows while it runs.
//
// Each code cell begins with a line that counts it and quotes its first line;
// below, indented, comes its output as it arrives: printed text, the text form
// of displays, and errors. A display that is updated is rewritten in place on a
// screen, if it is one line and the last; otherwise its last state is printed
// before the cell's result or error, or when the cell ends. Tables and charts are fitted
// into the width of the terminal, and on a screen other lines of displays are broken at
// blanks; what a cell prints stands as it is.
package terminal

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/sys/unix"

	"forgekernel/display"
	"forgekernel/kernel/notebook"
	"forgekernel/kernel/notebook/runner"
)

// worthTelling is how long a cell must take for the time to be printed.
const worthTelling = 100 * time.Millisecond

// Printer is a runner.Observer that prints. Errors of the writer are left
// to whoever owns it.
type Printer struct {
	w      io.Writer
	screen bool // colours, and rewriting in place
	width  int  // of a line
	nb     *notebook.Notebook

	inLine  bool   // something stands on the current line
	line    string // the unfinished line of a stream, when there is no screen
	last    *notebook.Output
	oneLine bool                      // last takes one line of the screen
	stale   map[*notebook.Output]bool // updated since they were printed
}

// New returns a printer for a run of nb. If w is a terminal, colours are used
// and lines rewritten, unless the environment asks for neither with NO_COLOR or
// TERM=dumb.
func New(w io.Writer, nb *notebook.Notebook) *Printer { return newPrinter(w, nb, IsScreen(w)) }

// IsScreen reports whether colours belong on w: it is a terminal, and the environment does
// not ask for none.
func IsScreen(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), getMode)
	return err == nil
}

func newPrinter(w io.Writer, nb *notebook.Notebook, screen bool) *Printer {
	return &Printer{w: w, screen: screen, width: Width(w), nb: nb, stale: map[*notebook.Output]bool{}}
}

// total is how many cells will run. It is not known before the run begins,
// which may add a cell with parameters.
func (p *Printer) total() int {
	n := 0
	for _, c := range p.nb.Cells {
		if c.Runs() {
			n++
		}
	}
	return n
}

// Begin implements runner.Observer.
func (p *Printer) Begin(index int, c *notebook.Cell) {
	lines := strings.Split(strings.TrimSpace(c.Source), "\n")
	more := ""
	if n := len(lines) - 1; n > 0 {
		more = fmt.Sprintf("  +%d", n)
	}
	count := fmt.Sprintf("[%d/%d] ", p.nb.Place(index).Run, p.total())
	head := runewidth.Truncate(printable(lines[0], false), max(p.width-len(count)-len(more), 1), "…")
	fmt.Fprintf(p.w, "%s%s%s\n", p.paint(faint, count), p.paint(bold, head), p.paint(faint, more))
}

// Output implements runner.Observer.
func (p *Printer) Output(_ int, o *notebook.Output, update bool) {
	switch {
	case update:
		p.update(o)
	case o.Type == notebook.Stream:
		p.stream(o)
	default:
		p.endLine()
		if o.Type != notebook.DisplayData { // the last words of the cell
			p.refresh()
		}
		p.display(o)
		p.last = o
	}
}

// Clear implements runner.Observer.
func (p *Printer) Clear(int) {
	p.last = nil
	clear(p.stale)
}

// Page implements runner.Observer.
func (p *Printer) Page(_ int, text string) {
	p.endLine()
	p.last = nil
	p.block(printable(text, p.screen))
}

// End implements runner.Observer.
func (p *Printer) End(_ int, _ *notebook.Cell, took time.Duration, err error) {
	p.endLine()
	p.refresh()
	p.last = nil
	var cellErr *runner.CellError
	if err != nil && !errors.As(err, &cellErr) {
		p.block(p.paint(red, err.Error()))
	}
	if took >= worthTelling {
		p.block(p.paint(faint, took.Round(10*time.Millisecond).String()))
	}
	fmt.Fprintln(p.w)
}

// refresh prints again the displays that have changed since they were printed.
func (p *Printer) refresh() {
	for _, o := range slices.SortedFunc(maps.Keys(p.stale), func(a, b *notebook.Output) int {
		return strings.Compare(text(a), text(b))
	}) {
		p.display(o)
	}
	clear(p.stale)
}

const indent = "  "

// stream prints text as it comes. Without a screen a line is held back until
// it is complete, since a carriage return may still take it back.
func (p *Printer) stream(o *notebook.Output) {
	p.last = nil
	text := printable(o.Text, p.screen)
	for text != "" {
		end := strings.IndexAny(text, "\n\r")
		if end < 0 {
			p.put(text)
			return
		}
		p.put(text[:end])
		if text[end] == '\n' {
			p.endLine()
			if !p.screen && end == 0 && p.line == "" {
				fmt.Fprintln(p.w)
			}
		} else if !strings.HasPrefix(text[end:], "\r\n") {
			p.startOver()
		}
		text = text[end+1:]
	}
}

func (p *Printer) put(text string) {
	switch {
	case text == "":
	case !p.screen:
		p.line += text
		p.inLine = true
	default:
		if !p.inLine {
			fmt.Fprint(p.w, indent)
		}
		fmt.Fprint(p.w, text)
		p.inLine = true
	}
}

func (p *Printer) startOver() {
	if p.screen && p.inLine {
		fmt.Fprint(p.w, "\r")
	}
	p.line, p.inLine = "", false
}

// endLine ends the current line, if anything stands on it.
func (p *Printer) endLine() {
	if p.inLine {
		if !p.screen {
			fmt.Fprint(p.w, indent, p.line)
		}
		fmt.Fprintln(p.w)
	}
	p.line, p.inLine = "", false
}

func (p *Printer) update(o *notebook.Output) {
	t := printable(text(o), p.screen)
	if p.screen && o == p.last && p.oneLine && !strings.Contains(t, "\n") && !p.inLine {
		fmt.Fprintf(p.w, "\x1b[A\r\x1b[K%s%s\n", indent, p.short(t))
		return
	}
	p.stale[o] = true
}

// display prints a display, result or error.
func (p *Printer) display(o *notebook.Output) {
	t := text(o)
	switch {
	case o.Type == notebook.ExecuteResult && !strings.Contains(t, "\n"):
		t = p.paint(green, fmt.Sprintf("Out[%d]: ", o.ExecutionCount)) + t
	case o.Type == notebook.ExecuteResult:
		t = p.paint(green, fmt.Sprintf("Out[%d]:", o.ExecutionCount)) + "\n" + t
	case o.Type == notebook.Error && !strings.Contains(t, "\x1b["):
		t = p.paint(red, t)
	}
	if o.Type != notebook.Error {
		t = display.Fit(t, p.width-len(indent))
	}
	p.oneLine = !strings.Contains(t, "\n") && runewidth.StringWidth(printable(t, false)) <= p.width-len(indent)
	p.block(printable(t, p.screen))
}

// short is a line that does not run into the next one.
func (p *Printer) short(line string) string {
	plain := printable(line, false)
	if short := runewidth.Truncate(plain, p.width-len(indent), "…"); short != plain {
		return short
	}
	return line
}

func (p *Printer) block(text string) {
	if p.screen {
		text = wrapLines(text, p.width-len(indent))
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintln(p.w, strings.TrimRight(indent+line, " "))
	}
}

// text is the text form of an output.
func text(o *notebook.Output) string {
	if o.Type == notebook.Error {
		if len(o.Traceback) > 0 {
			return strings.Join(o.Traceback, "\n")
		}
		return o.ErrorName + ": " + o.ErrorValue
	}
	if t, ok := o.MIME("text/plain"); ok {
		return t
	}
	return "(" + strings.Join(slices.Sorted(maps.Keys(o.Data)), ", ") + ")"
}

const (
	bold  = "1"
	faint = "2"
	red   = "31"
	green = "32"
)

func (p *Printer) paint(style, text string) string {
	if !p.screen || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// control matches what a notebook could do to a terminal beyond colours: other
// escape sequences and control characters.
var (
	escape  = regexp.MustCompile(`\x1b\[[0-9;:?<=>]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b[@-Z\\^_]?`)
	colour  = regexp.MustCompile(`^\x1b\[[0-9;:]*m$`)
	control = regexp.MustCompile(`[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f\x{80}-\x{9f}]`)
)

// printable is text without what could disturb the terminal; colours stay if
// wanted.
func printable(text string, colours bool) string {
	text = escape.ReplaceAllStringFunc(text, func(s string) string {
		if colours && colour.MatchString(s) {
			return s
		}
		return ""
	})
	return control.ReplaceAllString(text, "")
}

// Package code writes the text of kernels. What the printers of C, CUDA, Triton and
// WGSL share is how text is laid out, in lines indented by the blocks around them, and
// the names of temporaries; what the text says is theirs.
package code

import (
	"fmt"
	"strings"
)

// Writer writes lines. The zero Writer is at the outermost block and indents by two
// spaces; emitters embed it.
type Writer struct {
	strings.Builder
	Indent string // of one block; "" stands for two spaces
	Depth  int    // the blocks around the next line
	temps  int
}

// Line writes a line.
func (w *Writer) Line(format string, args ...any) {
	indent := w.Indent
	if indent == "" {
		indent = "  "
	}
	w.WriteString(strings.Repeat(indent, w.Depth))
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// Open writes the line that begins a block of braces, which may have no head.
func (w *Writer) Open(format string, args ...any) {
	w.Line("%s", strings.TrimSpace(fmt.Sprintf(format, args...)+" {"))
	w.Depth++
}

// Close ends the innermost block of braces.
func (w *Writer) Close() {
	w.Depth--
	w.Line("}")
}

// Temp is a name, t0, t1 and so on, that no call before has given.
func (w *Writer) Temp() string {
	w.temps++
	return fmt.Sprintf("t%d", w.temps-1)
}

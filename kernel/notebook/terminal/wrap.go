package terminal

import (
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// hanging indents what a line goes on with, below its first part.
const hanging = "    "

// wrapLines breaks lines that are wider than width at their last blank before it, where a
// terminal would break words. What they go on with is indented.
func wrapLines(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))] + hanging
		for {
			end := fits(line, width)
			at := strings.LastIndexByte(line[:min(end+1, len(line))], ' ')
			if end == len(line) || strings.TrimSpace(line[:max(at, 0)]) == "" || len(indent) > width/2 {
				break
			}
			b.WriteString(strings.TrimRight(line[:at], " ") + "\n")
			line = indent + strings.TrimLeft(line[at:], " ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// fits is how many bytes of a line have room in width cells; colours take none.
func fits(line string, width int) int {
	used := 0
	for i := 0; i < len(line); {
		if at := escape.FindStringIndex(line[i:]); at != nil && at[0] == 0 {
			i += at[1]
			continue
		}
		r, size := utf8.DecodeRuneInString(line[i:])
		if used += runewidth.RuneWidth(r); used > width {
			return i
		}
		i += size
	}
	return len(line)
}

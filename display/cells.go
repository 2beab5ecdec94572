package display

import (
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// Text in a terminal or a <pre> is laid out in cells: one for most characters,
// two for wide ones, none for combining marks.

// terminal fixes the widths, which would otherwise depend on the locale of the
// process and not on that of the reader.
var terminal = &runewidth.Condition{StrictEmojiNeutral: true}

func cellWidth(s string) int { return terminal.StringWidth(s) }

// padRight fills s with spaces up to width cells.
func padRight(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-cellWidth(s)))
}

// padLeft puts spaces in front of s up to width cells.
func padLeft(s string, width int) string {
	return strings.Repeat(" ", max(0, width-cellWidth(s))) + s
}

// oneLine makes s safe to stand in one line of terminal output.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return visible(r)
	}, s)
}

// visible replaces control and bidirectional formatting characters, which
// could move the cursor or reorder a line, by something that can be seen.
func visible(r rune) rune {
	switch {
	case r < 0x20:
		return '\u2400' + r // control pictures
	case r == 0x7f:
		return '\u2421'
	case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
		return unicode.ReplacementChar
	}
	return r
}

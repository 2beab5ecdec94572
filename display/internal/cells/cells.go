// Package cells lays out text in a terminal or a <pre>, which is made of cells:
// one for most characters, two for wide ones, none for combining marks.
package cells

import (
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// Shades are the levels of a row of fillings, such as those of memory over time.
const Shades = ".░▒▓█"

// terminal fixes the widths, which would otherwise depend on the locale of the
// process and not on that of the reader.
var terminal = &runewidth.Condition{StrictEmojiNeutral: true}

// Width is the number of cells of s.
func Width(s string) int { return terminal.StringWidth(s) }

// PadRight fills s with spaces up to width cells.
func PadRight(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-Width(s)))
}

// PadLeft puts spaces in front of s up to width cells.
func PadLeft(s string, width int) string {
	return strings.Repeat(" ", max(0, width-Width(s))) + s
}

// OneLine makes s safe to stand in one line of terminal output.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return Visible(r)
	}, s)
}

// Visible replaces control and bidirectional formatting characters, which
// could move the cursor or reorder a line, by something that can be seen.
func Visible(r rune) rune {
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

// Short makes s one line of at most most characters.
func Short(s string, most int) string {
	r := []rune(OneLine(s))
	if len(r) <= most {
		return string(r)
	}
	return strings.TrimSpace(string(r[:most-1])) + "…"
}

// Wrap breaks a text at spaces into lines of a width; a longer word stands alone. It
// is at least one line.
func Wrap(s string, width int) []string {
	var list []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		if longer := strings.TrimSpace(line + " " + word); Width(longer) <= width || line == "" {
			line = longer
			continue
		}
		list = append(list, line)
		line = word
	}
	return append(list, line)
}

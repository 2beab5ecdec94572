package wire

import "unicode/utf8"

// ByteOffset converts a cursor position in code points, as the protocol counts
// since 5.2, to a byte offset in code. A position outside the text is clamped
// to its ends. Each byte of invalid UTF-8 counts as one code point.
func ByteOffset(code string, points int) int {
	if points <= 0 {
		return 0
	}
	for i := range code {
		if points == 0 {
			return i
		}
		points--
	}
	return len(code)
}

// CodePoints converts a byte offset in code to a position in code points; an
// offset outside the text is clamped, one inside a code point goes to its
// start.
func CodePoints(code string, offset int) int {
	if offset <= 0 {
		return 0
	}
	if offset >= len(code) {
		return utf8.RuneCountInString(code)
	}
	n := -1
	for i := range code {
		if i > offset {
			break
		}
		n++
	}
	return n
}

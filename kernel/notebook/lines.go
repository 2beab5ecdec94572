package notebook

import (
	"strings"
	"unicode/utf8"
)

// splitLines cuts text after every line end that Python's str.splitlines knows,
// since that is how Jupyter stores text.
func splitLines(s string) []any {
	lines := []any{}
	start := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		if !endsLine(r) {
			continue
		}
		if r == '\r' && i < len(s) && s[i] == '\n' {
			i++
		}
		lines = append(lines, s[start:i])
		start = i
	}
	if start < len(s) {
		lines = append(lines, s[start:])
	}
	return lines
}

func endsLine(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\x1c', '\x1d', '\x1e', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// joinLines is the text of a string or a list of strings.
func joinLines(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []any:
		var b strings.Builder
		for _, line := range v {
			s, ok := line.(string)
			if !ok {
				return "", false
			}
			b.WriteString(s)
		}
		return b.String(), true
	}
	return "", false
}

// isJSONType reports whether the content of a MIME type is JSON rather than
// text.
func isJSONType(mime string) bool {
	return mime == "application/json" ||
		strings.HasPrefix(mime, "application/") && strings.HasSuffix(mime, "+json")
}

// isSplitType reports whether Jupyter stores the content of a MIME type as a
// list of lines.
func isSplitType(mime string) bool {
	return strings.HasPrefix(mime, "text/") || mime == "application/javascript" || mime == "image/svg+xml"
}

func joinBundle(data map[string]any) map[string]any {
	joined := make(map[string]any, len(data))
	for mime, v := range data {
		if !isJSONType(mime) {
			if s, ok := joinLines(v); ok {
				v = s
			}
		}
		joined[mime] = v
	}
	return joined
}

func splitBundle(data map[string]any) map[string]any {
	split := make(map[string]any, len(data))
	for mime, v := range data {
		if s, ok := v.(string); ok && isSplitType(mime) {
			v = splitLines(s)
		}
		split[mime] = v
	}
	return split
}

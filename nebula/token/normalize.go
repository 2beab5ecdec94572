package token

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// normalizer changes the text of a section before it is split.
type normalizer func(string) string

// forms are the normalizers without parameters, by Unicode 15.
var forms = map[string]normalizer{
	"NFC": norm.NFC.String, "NFD": norm.NFD.String, "NFKC": norm.NFKC.String, "NFKD": norm.NFKD.String,
	"Lowercase": lower,
}

// lower writes letters small, each for itself. "İ" is the one that becomes two
// characters, which the standard library does not do.
func lower(s string) string { return strings.ToLower(strings.ReplaceAll(s, "İ", "i\u0307")) }

// prepend writes a text in front of sections that are not empty.
func prepend(prefix string) normalizer {
	return func(s string) string {
		if s == "" {
			return s
		}
		return prefix + s
	}
}

func replace(old, new string) normalizer {
	return func(s string) string { return strings.ReplaceAll(s, old, new) }
}

func trim(left, right bool) normalizer {
	return func(s string) string {
		if left {
			s = strings.TrimLeftFunc(s, unicode.IsSpace)
		}
		if right {
			s = strings.TrimRightFunc(s, unicode.IsSpace)
		}
		return s
	}
}

// Package spelling finds what a name that nobody knows may be a slip for.
package spelling

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hbollon/go-edlib"
)

// maxName bounds the names that are compared, in characters: a text may hold anything.
const maxName = 64

// Near lists the candidates that a name is most likely a slip for: those that the fewest
// slips lead to, at most one in three characters. A slip inserts, drops or replaces a
// character, or swaps neighbours; case does not count. Longer candidates come first,
// and of the same length the first of the alphabet.
func Near(name string, candidates iter.Seq[string]) []string {
	var near []string
	least := maxName
	for c := range candidates {
		slips, ok := distance(name, c)
		if !ok || slips > least || slices.Contains(near, c) {
			continue
		}
		if slips < least {
			least, near = slips, nil
		}
		near = append(near, c)
	}
	slices.SortFunc(near, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	return near
}

// Nearest is the first that Near lists, or empty.
func Nearest(name string, candidates iter.Seq[string]) string {
	if near := Near(name, candidates); len(near) > 0 {
		return near[0]
	}
	return ""
}

// distance counts the slips between two names that are near one another.
func distance(a, b string) (slips int, near bool) {
	x, y := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	most := min(x, y) / 3
	if a == b || max(x, y) > maxName || max(x, y)-min(x, y) > most {
		return 0, false
	}
	slips = edlib.OSADamerauLevenshteinDistance(strings.ToLower(a), strings.ToLower(b))
	return slips, slips <= most
}

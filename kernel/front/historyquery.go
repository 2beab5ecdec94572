package front

import (
	"fmt"
	"slices"
	"strings"

	"forgekernel/kernel/wire"
)

// query answers q for the session numbered own, oldest entry first.
//
// A unique search looks at the current session alone: its clients ask "what did
// I type here", and the answer would otherwise depend on what ran before.
//
// A range is of session 0, the current one, or -1, the one before, and so on, or
// of a number; its stop is exclusive, and none (0 or null) means to the end. So
// does n for the other accesses: 0 or null is all.
func (h *history) query(q wire.HistoryRequest, own int) ([]entry, error) {
	entries, err := h.all()
	if err != nil {
		return nil, err
	}
	switch q.HistAccessType {
	case "tail":
		return newest(entries, q.N), nil
	case "range":
		session := q.Session
		if session <= 0 {
			session += own
		}
		return slices.DeleteFunc(entries, func(e entry) bool {
			return e.Session != session || e.Line < q.Start || q.Stop > 0 && e.Line >= q.Stop
		}), nil
	case "search":
		pattern := q.Pattern
		if pattern == "" {
			pattern = "*"
		}
		found := slices.DeleteFunc(entries, func(e entry) bool {
			return q.Unique && e.Session != own || !glob(pattern, e.Input)
		})
		if q.Unique {
			found = latestOfEach(found)
		}
		return newest(found, q.N), nil
	}
	return nil, fmt.Errorf("hist_access_type %q: want tail, range or search", q.HistAccessType)
}

func newest(entries []entry, n int) []entry {
	if n <= 0 || n >= len(entries) {
		return entries
	}
	return entries[len(entries)-n:]
}

// latestOfEach keeps the last entry of every input, in their order.
func latestOfEach(entries []entry) []entry {
	seen := map[string]bool{}
	var kept []entry
	for _, e := range slices.Backward(entries) {
		if !seen[e.Input] {
			seen[e.Input] = true
			kept = append(kept, e)
		}
	}
	slices.Reverse(kept)
	return kept
}

// glob reports whether the whole of s matches pattern, in which * stands for
// any text, ? for one code point and [abc], [a-z] for one of a set. It runs in
// O(len(pattern)*len(s)): after a mismatch only the last * is widened.
func glob(pattern, s string) bool {
	p, t := []rune(pattern), []rune(s)
	pi, ti := 0, 0
	star, mark := -1, 0
	for ti < len(t) {
		if pi < len(p) && p[pi] == '*' {
			star, mark = pi, ti
			pi++
			continue
		}
		if width := matchOne(p[pi:], t[ti]); width > 0 {
			pi += width
			ti++
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		pi, ti = star+1, mark
	}
	return strings.Trim(string(p[pi:]), "*") == ""
}

// matchOne returns the length of the first element of p if it matches r, else 0.
func matchOne(p []rune, r rune) int {
	if len(p) == 0 {
		return 0
	}
	switch p[0] {
	case '?':
		return 1
	case '[':
		if end := slices.Index(p[1:], ']'); end > 0 {
			if inSet(p[1:1+end], r) {
				return end + 2
			}
			return 0
		}
	}
	if p[0] == r {
		return 1
	}
	return 0
}

func inSet(set []rune, r rune) bool {
	negated := len(set) > 1 && (set[0] == '^' || set[0] == '!')
	if negated {
		set = set[1:]
	}
	found := false
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			found = found || set[i] <= r && r <= set[i+2]
			i += 2
			continue
		}
		found = found || set[i] == r
	}
	return found != negated
}

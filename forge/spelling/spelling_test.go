package spelling

import (
	"slices"
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	long := strings.Repeat("x", maxName)
	for _, c := range []struct{ name, candidates, want string }{
		{"tiem", "time name", "time"},                                        // swapped
		{"tme", "time", "time"},                                              // dropped
		{"timee", "time", "time"},                                            // inserted
		{"timr", "time", "time"},                                             // replaced
		{"TIME", "time", "time"},                                             // case is no slip
		{"Größe", "Grösse Größen größe", "größe"},                            // counted in characters
		{"sitting", "kitten", ""},                                            // three slips in six
		{"writfile", "writefile wrtefile", "writefile"},                      // the fewest slips
		{"coumt", "count coumts court", "coumts count court"},                // longer ones first
		{"abd", "abc abe abd", "abc abe"},                                    // not itself
		{"ab", "ac b abc", ""},                                               // too short for a slip
		{"abc", "ab abcd", "abcd"},                                           //
		{"", "a b", ""},                                                      //
		{long, long[:maxName-1] + "y " + long + "x", long[:maxName-1] + "y"}, // beyond what is compared
		{long + "x", long, ""},
		{"count", "coumt coumt", "coumt"},
	} {
		list := slices.Values(strings.Fields(c.candidates))
		if got := strings.Join(Near(c.name, list), " "); got != c.want {
			t.Errorf("%s among %s: %q, want %q", c.name, c.candidates, got, c.want)
		}
		first, _, _ := strings.Cut(c.want, " ")
		if got := Nearest(c.name, list); got != first {
			t.Errorf("nearest to %s among %s is %q, want %q", c.name, c.candidates, got, first)
		}
	}
}

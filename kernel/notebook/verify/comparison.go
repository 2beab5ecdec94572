package verify

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"forgekernel/forge/capture"
	"forgekernel/kernel/notebook"
)

// comparison compares the outputs of one cell, and notes what it tolerated.
type comparison struct {
	abs, rel, pixels float64
	skipTimes        bool

	off, offAbs float64 // the most that numbers were off, relative to the stored one, or where that is tiny
	variable    bool    // durations, dates and the like differ
	pixelsOff   float64
	measured    []capture.AgreementRow
	uncompared  string // why times are not
}

func newComparison(o Options) *comparison {
	return &comparison{
		abs: cmp.Or(o.Abs, 1e-8), rel: cmp.Or(o.Rel, 1e-5), pixels: cmp.Or(o.Pixels, 0.001), skipTimes: o.SkipTimes,
	}
}

// slack words what was tolerated.
func (t *comparison) slack() string {
	var parts []string
	if n := len(t.measured); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d stated intervals overlap", n, n))
	}
	if t.off > 0 {
		parts = append(parts, fmt.Sprintf("numbers are off by at most %.1g of their size", t.off))
	}
	if t.offAbs > 0 {
		parts = append(parts, fmt.Sprintf("small numbers are off by at most %.1g", t.offAbs))
	}
	if t.pixelsOff > 0 {
		parts = append(parts, fmt.Sprintf("%.2g %% of the pixels differ", 100*t.pixelsOff))
	}
	if t.variable {
		parts = append(parts, "times, dates or addresses differ")
	}
	return cmp.Or(strings.Join(parts, "; "), "the layout differs")
}

// identical reports whether two cells show the same to the last character. Which stream
// was written to first is left to chance.
func identical(want, got []*notebook.Output) bool {
	for _, name := range []string{"stdout", "stderr"} {
		if stream(want, name) != stream(got, name) {
			return false
		}
	}
	w, g := rest(want), rest(got)
	if len(w) != len(g) {
		return false
	}
	for i := range w {
		a, b := *w[i], *g[i]
		if a.Type != b.Type || a.ErrorName != b.ErrorName || a.ErrorValue != b.ErrorValue || !reflect.DeepEqual(a.Data, b.Data) {
			return false
		}
	}
	return true
}

package verify

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// variable matches what differs from run to run, and the placeholder that
// stands for it. The order matters: longer forms first.
var variable = []struct {
	pattern *regexp.Regexp
	is      string
}{
	{regexp.MustCompile(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`), "‹uuid›"},
	{regexp.MustCompile(`\b0x[0-9a-f]{6,}\b`), "‹address›"},
	{regexp.MustCompile(`\b\d{4}[-/]\d\d[-/]\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?(Z|UTC|[+-]\d\d:?\d\d))*)?( m=[+-][0-9.]+)?`), "‹date›"},
	{regexp.MustCompile(`\b((Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?\d{0,2} ?(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* [ \d]\d( \d\d:\d\d:\d\d)?( (UTC|[A-Z]{3,4}|[+-]\d{4}))?( \d{4})?\b`), "‹date›"},
	{regexp.MustCompile(`\b\d?\d:\d\d:\d\d([.,]\d+)?\b`), "‹time›"},
	{regexp.MustCompile(`\bgoroutine \d+\b`), "goroutine ‹n›"},
	{regexp.MustCompile(`\b\d+(\.\d+)?([eE][+-]?\d+)? ?[kKMGTP]?i?[A-Za-z]+/(s|sec|second|ms|min)\b`), "‹rate›"},
	{regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)? ?(ns|us|µs|μs|ms|s|sec|seconds?|minutes?|hours?)\b`), "‹duration›"},
	{regexp.MustCompile(`\b\d+(h\d+m|h|m)\b`), "‹duration›"},
}

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// layout matches what follows the width of the widest entry, and colours.
var layout = []struct {
	pattern *regexp.Regexp
	is      string
}{
	{colour, ""},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`[─━═]{2,}|-{4,}|={4,}`), "─"},
}

// plain is a line without its layout.
func plain(line string) string {
	for _, l := range layout {
		line = l.pattern.ReplaceAllString(line, l.is)
	}
	return strings.TrimSpace(line)
}

// normal is a line without what differs from run to run.
func normal(line string) string {
	line = colour.ReplaceAllString(line, "")
	for _, v := range variable {
		line = v.pattern.ReplaceAllString(line, v.is)
	}
	return plain(line)
}

// text compares two texts line by line.
func (t *comparison) text(where, want, got string) []Difference {
	w, g := lines(want), lines(got)
	if len(w) != len(g) {
		return t.block(where, w, g)
	}
	var diffs []Difference
	differing := 0
	for i := range w {
		if t.line(w[i], g[i]) {
			continue
		}
		if differing++; differing > maxDifferences {
			continue
		}
		place := where
		if len(w) > 1 {
			place = fmt.Sprintf("%s, line %d", where, i+1)
		}
		diffs = append(diffs, Difference{Where: place, Want: w[i], Got: g[i]})
	}
	if differing > maxDifferences {
		diffs = append(diffs, Difference{Where: where, Detail: fmt.Sprintf("%d more lines differ", differing-maxDifferences)})
	}
	return diffs
}

func lines(s string) []string {
	s = strings.TrimRight(s, "\n")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// block reports texts of different lengths by what lies between their common
// beginning and end.
func (t *comparison) block(where string, w, g []string) []Difference {
	start := 0
	for start < len(w) && start < len(g) && t.line(w[start], g[start]) {
		start++
	}
	endW, endG := len(w), len(g)
	for endW > start && endG > start && t.line(w[endW-1], g[endG-1]) {
		endW, endG = endW-1, endG-1
	}
	return []Difference{{
		Where:  fmt.Sprintf("%s, from line %d", where, start+1),
		Detail: fmt.Sprintf("%d lines became %d", endW-start, endG-start),
		Want:   excerpt(strings.Join(w[start:endW], "\n")),
		Got:    excerpt(strings.Join(g[start:endG], "\n")),
	}}
}

// number is a number that is no part of a name, such as the 32 of f32 is.
var number = regexp.MustCompile(`\d+(\.\d*)?([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?`)

// line compares two lines: the text around the numbers must be the same, the
// numbers nearly so.
func (t *comparison) line(want, got string) bool {
	if plain(want) == plain(got) {
		return true
	}
	want, got = normal(want), normal(got)
	if want == got {
		t.variable = true
		return true
	}
	w, g := number.FindAllStringIndex(want, -1), number.FindAllStringIndex(got, -1)
	if len(w) != len(g) {
		return false
	}
	endW, endG := 0, 0
	for i := range w {
		before := want[endW:w[i][0]]
		between, signW := sign(before)
		betweenG, signG := sign(got[endG:g[i][0]])
		if between != betweenG {
			return false
		}
		a, b := want[w[i][0]:w[i][1]], got[g[i][0]:g[i][1]]
		if partOfName(before) {
			if signW+a != signG+b {
				return false
			}
		} else if !t.numbers(signW+a, signG+b) {
			return false
		}
		endW, endG = w[i][1], g[i][1]
	}
	return want[endW:] == got[endG:]
}

// sign takes a minus off the end of the text before a number, and a blank that
// stands in its place in aligned columns.
func sign(before string) (text, sign string) {
	if text, ok := strings.CutSuffix(before, "-"); ok {
		return strings.TrimSuffix(text, " "), "-"
	}
	return strings.TrimSuffix(before, " "), ""
}

func partOfName(before string) bool {
	if before == "" {
		return false
	}
	c := before[len(before)-1]
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// numbers compares two literals. Whole numbers count things and must be equal.
func (t *comparison) numbers(want, got string) bool {
	if want == got {
		return true
	}
	if isWhole(want) && isWhole(got) {
		return false
	}
	w, errW := strconv.ParseFloat(want, 64)
	g, errG := strconv.ParseFloat(got, 64)
	if errW != nil || errG != nil {
		return false
	}
	switch off := math.Abs(w - g); {
	case off <= t.rel*math.Abs(w):
		t.off = max(t.off, off/math.Abs(w))
	case off <= t.abs:
		t.offAbs = max(t.offAbs, off)
	default:
		return false
	}
	return true
}

func isWhole(literal string) bool { return !strings.ContainsAny(literal, ".eE") }

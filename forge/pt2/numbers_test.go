package pt2

import (
	"archive/zip"
	"regexp"
	"strings"
	"testing"
)

var anInt = regexp.MustCompile(`("as_int": |"as_ints": \[|, |"as_scalar_type": |"dtype": )(-?[0-9]+)`)

// Every integer of a program is replaced by two extreme ones: the import ends with an
// error or a valid graph, in bounded time and memory.
func TestExtremeNumbers(t *testing.T) {
	extremes := []string{"-1", "0", "2147483647", "9223372036854775807"}
	modules := []string{"mlp", "sizes", "views", "shapes", "images", "indexing", "logic"}
	if testing.Short() {
		modules, extremes = modules[:1], extremes[:2]
	}
	for _, name := range modules {
		r := readRecords(t, name)
		program := r[modelJSON]
		end := strings.Index(program, `"tensor_values"`)
		places := anInt.FindAllStringSubmatchIndex(program[:end], -1)
		for k, at := range places {
			for i := range 2 {
				v := extremes[(k+i)%len(extremes)]
				r[modelJSON] = program[:at[4]] + v + program[at[5]:]
				if m, err := Read(name+".pt2", zipped(t, r, "archive/", zip.Store)); err == nil {
					anyBinding(t, m)
				}
			}
		}
		t.Logf("%s: %d numbers", name, len(places))
	}
}

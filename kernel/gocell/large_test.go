package gocell

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"forgekernel/kernel/gocell/eval"
)

// Cells that programs write are long: tables, long sums, switches of thousands of
// cases. The work on each is proportional to its length, or this takes minutes.
func TestLargeCells(t *testing.T) {
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, c := range []struct{ name, cell, want string }{
		{"sum", "x := 1\ny := x" + strings.Repeat(" + x", 20_000) + "\ny", "20001"},
		{"calls in a chain", "type B struct{ n int }\nfunc (b B) A() B { b.n++; return b }\nB{}" + strings.Repeat(".A()", 5_000) + ".n", "5000"},
		{"table", "type P struct { a int; b string }\nlist := []P{" + many(20_000, "{%d, \"s\"},") + "}\nlist[19_999].a + len(list)", "39999"},
		{"statements", "n := 0\n" + strings.Repeat("n++\n", 50_000) + "n", "50000"},
		{"cases", "func f(x int) int {\nswitch x {\n" + many(10_000, "case %[1]d: return 2 * %[1]d\n") + "}\nreturn -1\n}\nf(0) + f(9_999) + f(10_000)", "19997"},
		{"the first of like cases", "x, y := 40, 0\n" + many(50, "if x == %d { y = 1 } else ") + "if x == 40 { y = 2 } else { y = 3 }\ny", "1"},
		{"functions", many(5_000, "func f%[1]d() int { return %[1]d }\n") + "f4999()", "4999"},
		{"variables", many(5_000, "var v%[1]d = %[1]d\n") + "v4999", "4999"},
		{"types", many(5_000, "type T%[1]d struct{ n int }\n") + "T4999{7}.n", "7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := newTestSession(t, Options{})
			if got := mustRun(t, s, c.cell); got != c.want {
				t.Errorf("shows %s, want %s", got, c.want)
			}
		})
	}
}

// The code of generic functions and types of earlier cells is looked at by the
// cells that have to do with it, or a session would get slower with each.
func TestGenericUnitsOfACell(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	for _, cell := range []string{
		"func First[T any](x, y T) T { return x }",
		"type Box[T any] struct{ v T }\nfunc (b Box[T]) Get() T { return First(b.v, b.v) }",
		"type Held struct{ b Box[string] }\nheld := Held{Box[string]{\"h\"}}",
		"func Other[T any](x T) T { return x }",
	} {
		mustRun(t, s, cell)
	}
	for cell, want := range map[string]int{
		"x := 1":                        0,
		"Other(1)":                      1,
		"First(1, 2)":                   1,
		"held.b.Get()":                  2,
		"any(held)":                     2,
		"Other(Box[int]{3})":            3,
		"var unused *Box[map[int]bool]": 2,
	} {
		s.mu.Lock()
		c, faults := s.newCheck(t.Context(), &eval.Source{Name: "cell", Line: 1, Text: cell})
		faults = append(faults, c.run()...)
		u, err := c.unit(c.newObjects())
		s.mu.Unlock()
		if err != nil || len(faults) > 0 {
			t.Fatalf("%s: %v %v", cell, err, faults)
		}
		if len(u.Generic) != want {
			t.Errorf("%s looks at %d units, want %d", cell, len(u.Generic), want)
		}
	}
}

// Each mention of a variable that is never written is a constant. One of a large
// array takes room once, not for each: Go's own tests have a function with 16,480.
func TestZerosOfLargeArrays(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "var x%[1]d [1 << 20]byte\nz = x%[1]d\n", i)
	}
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, "var z [1 << 20]byte")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	mustRun(t, s, "func f() {\n"+b.String()+"}")
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 64<<20 {
		t.Errorf("compiling it takes %d MB", got>>20)
	}
	if got := mustRun(t, s, "z[7] = 7\nbefore := z[7]\nf()\nfmt.Sprint(before, z[7], z == [1 << 20]byte{})"); got != "7 0 true" {
		t.Errorf("shows %s", got)
	}
}

package gocell

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"forgekernel/kernel/gocell/eval"
)

// visits steps through a cell from a line on and lists the lines where it halts.
func visits(t *testing.T, source string, from int, kind eval.Step) []int {
	t.Helper()
	d := newDebugged(t)
	d.start(t.Context(), source, from)
	var lines []int
	for h, ok := d.halt(t); ok; h, ok = d.halt(t) {
		stack, _ := d.Stack(h.Thread)
		lines = append(lines, stack[0].Line)
		d.Step(h.Thread, kind)
	}
	if err := <-d.ended; err != nil {
		t.Error(err)
	}
	return lines
}

// A breakpoint can be where a step halts and nowhere else: lines that end in a
// comment "no" hold none, and those in "not run" are not come to.
func TestStopLinesAgree(t *testing.T) {
	source := `x := 1
var e error
var a, b int
var ( // no
	c int
	d = 3
) // no
const k0 = 2 // no
func() {
	y := 2
	_ = 5 // no
	_ = x
	var z int
	var ( // no
		aa = 1
		bb int
		cc = aa
	) // no
	var _ = 7 // no
	const k = 3 // no
	type T int // no
	if x > 0 {
	} // no
	switch { // no
	} // no
	switch { // no
	case false: // no
		x = 5 // not run
	default: // no
		_ = true // no
	} // no
	switch {
	case x > 7: // no
		x = 5 // not run
	case x > 0: x = 1
	} // no
	if true { // no
		x = 1
	} // no
	for true { // no
		x = 1
		break // no
	} // no
	switch x {
	case 7: // no
		x = 5 // not run
	case 1: x = 1
	} // no
	switch y := x; {
	case y > 7: // no
		x = 5 // not run
	} // no
	for i := 0; i < 2; i++ {
	} // no
	for range 2 { // no
		x++
	} // no
	for x < 0 {
	} // no
	var e any = x
	switch e := e.(type) {
	case string: // no
		_ = e // not run
	case int: // no
		_ = e
	} // no
	var f func()
	if f != nil {
		f() // not run
	} else if x > 0 {
		z = 1
	} else { // no
		z = 2 // not run
	} // no
	ch := make(chan int, 1)
	ch <- 1
	<-ch
	ch <- 2
	select {
	case v := <-ch: // no
		_ = v
	case ch <- 3: x = 1 // not run
	default: // no
		x = 3 // not run
	} // no
	m := map[string][]int{
		"a": {1, // no
			2}, // no
	} // no
	delete(m,
		"a") // no
	for k, v := range m {
		_, _ = k, v // not run
	} // no
	_, _ = bb, cc
	goto end // no
end: // no
	for { // no
		break // no
	} // no
	defer func() { z++ }()
	return
}() // no
fmt.Sprint(a, b, c, d, e)`
	var want, run []int
	for i, line := range strings.Split(source, "\n") {
		if strings.HasSuffix(line, "// no") {
			continue
		}
		want = append(want, i+1)
		if !strings.HasSuffix(line, "// not run") {
			run = append(run, i+1)
		}
	}
	if got := StopLines(source, 1); !reflect.DeepEqual(got, want) {
		t.Errorf("breakpoints are on\n%v, want\n%v", got, want)
	}
	got := visits(t, source, 1, eval.StepIn)
	slices.Sort(got)
	got = slices.Compact(got)
	got = slices.DeleteFunc(got, func(line int) bool { return line == len(strings.Split(source, "\n"))-1 }) // the call's end, after it
	if !reflect.DeepEqual(got, run) {
		t.Errorf("steps halt on\n%v, want\n%v", got, run)
	}
}

// Steps over statements go through the bodies of loops, also of those over
// functions, and through what is deferred, once a line.
func TestStepOverLines(t *testing.T) {
	for _, c := range []struct {
		name, source string
		from         int
		want         string
	}{
		{"a loop with three clauses", "n := 0\nfor i := 0; i < 3; i++ {\n\tif i == 1 {\n\t\tcontinue\n\t}\n\tn++\n}", 1, "[1 2 3 6 2 3 2 3 6 2]"},
		{"a loop on one line", "n := 0\nfor n < 3 { n++ }\nn", 1, "[1 2 2 2 2 3]"},
		{"a loop with three clauses on one line", "n := 0\nfor i := 0; i < 2; i++ { n += i }\nn", 1, "[1 2 2 2 3]"},
		{"a loop over a function", `func seq(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}
sum := 0
for v := range seq(3) {
	for w := range slices.Values([]int{v}) {
		sum += w
	}
	if v == 1 {
		break
	}
}
sum`, 10, "[10 11 12 13 15 12 13 15 19]"},
		{"out of a loop over a function", "func f() int {\n\tfor v := range slices.Values([]int{1, 2}) {\n\t\tif v == 2 {\n\t\t\treturn v\n\t\t}\n\t}\n\treturn 0\n}\nx := f()\nx++", 2, "[2 3 3 4 9 10]"},
		{"deferred calls", "func f() (r int) {\n\tdefer func() {\n\t\tr++\n\t}()\n\tdefer fmt.Sprint(1)\n\treturn 1\n}\nx := f()\nx++", 5, "[5 6 3 6 8 9]"},
		{"a panic", "func f() (r int) {\n\tdefer func() {\n\t\trecover()\n\t}()\n\tvar p *int\n\tr = *p\n\treturn 1\n}\nx := f()\nx++", 5, "[5 6 3 9 10]"},
		{"a panic of a call", "func g() { panic(1) }\nfunc f() {\n\tdefer func() {\n\t\trecover()\n\t}()\n\tg()\n}\nf()\nx := 1", 6, "[6 4 8 9]"},
		{"callbacks", "xs := []int{2, 1}\nsort.Slice(xs, func(i, j int) bool {\n\treturn xs[i] < xs[j]\n})\nxs", 1, "[1 2 5]"},
	} {
		if got := fmt.Sprint(visits(t, c.source, c.from, eval.StepOver)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A step into a loop over a function of a package comes to its body, and back to
// the loop.
func TestStepIntoIterator(t *testing.T) {
	source := "sum := 0\nfor v := range slices.Values([]int{4, 5}) {\n\tsum += v\n}\nsum"
	if got := fmt.Sprint(visits(t, source, 1, eval.StepIn)); got != "[1 2 3 3 2 5]" {
		t.Error(got)
	}
}

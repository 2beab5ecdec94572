package gocell

import (
	"fmt"
	"strings"
	"testing"

	"forgekernel/kernel/gocell/eval"
)

// A function literal's parameters and named results are there from its body on and
// the variables of the body after their statements, wherever the literal stands. Each
// source halts in its lines that end in a comment, which says what is there.
func TestLiteralVariables(t *testing.T) {
	for _, c := range []struct{ name, source string }{
		{"a definition", `add := func(d int) int {
	t := d + 1 // d=4
	return t // d=4 t=5
}
add(4)`},
		{"a declaration", `var q = func(v int) (r int) {
	w := v * 2 // v=3 r=0
	r = w + v // v=3 r=0 w=6
	return r // v=3 r=9 w=6
}
q(3)`},
		{"a declaration in a function", `func f() int {
	var q = func(v int) int {
		w := v * 2 // v=3
		return w + v // v=3 w=6
	}
	return q(3)
}
f()`},
		{"an assignment's argument", `func apply(f func(int) int) int { return f(7) }
r := 0
r = apply(func(v int) int {
	u := v - 1 // v=7
	return u // v=7 u=6
})
s := apply(func(v int) int {
	u := v - 2 // v=7
	return u // v=7 u=5
})
r + s`},
		{"a conversion", `h := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
	w.WriteHeader(404) // w=nil q=nil
})
func() {
	defer func() { recover() }()
	h(nil, nil)
}()`},
		{"a map", `ops := map[string]func(a, b int) int{
	"+": func(a, b int) int {
		c := a + b // a=2 b=3
		return c // a=2 b=3 c=5
	},
}
ops["+"](2, 3)`},
		{"nested literals", `outer := func(a int) int {
	inner := func(b int) (c int) {
		d := a + b // a=1 b=2 c=0
		c = d * a // a=1 b=2 c=0 d=3
		return c // a=1 b=2 c=3 d=3
	}
	e := inner(a + 1) // a=1 inner=func(int) int
	return e // a=1 inner=func(int) int e=3
}
outer(1)`},
		{"an argument of a nested literal's call", `twice := func(f func(int) int, n int) int {
	m := f(n) // f=func(int) int n=2
	return f(m) // f=func(int) int n=2 m=12
}
k := func(by int) int {
	sum := twice(func(v int) int { // by=10
		w := v + by // by=10 v=2
		return w // by=10 v=2 w=12
	}, 2)
	return sum // by=10 sum=22
}(10)
k`},
		{"an instance", `func times[T any](v T, n int) []T {
	one := func(x T) (list []T) {
		list = append(list, x) // x="a" list=nil
		return list // x="a" list=["a"]
	}
	all := one(v) // v="a" n=1 one=func(string) []string
	return all // v="a" n=1 one=func(string) []string all=["a"]
}
times("a", 1)`},
		{"a call, a goroutine and a result", `done := make(chan int)
func(n int) {
	m := n * 2 // n=1
	_ = m // n=1 m=2
}(1)
go func(id int) {
	done <- id // id=5
}(5)
<-done
func adder(by int) func(int) int {
	return func(v int) int {
		return v + by // by=3 v=4
	}
}
adder(3)(4)`},
		{"a parameter of the name of what is defined", `func f() int {
	x := func(x int) int {
		y := x + 1 // x=2
		return y // x=2 y=3
	}(2)
	return x // x=3
}
f()`},
		{"a type switch", `func kind(v any) string {
	switch e := v.(type) {
	case int:
		return fmt.Sprint(e)
	case string:
		return e + "!" // v="a" e="a"
	}
	return ""
}
kind("a")`},
		{"a type switch in a loop", `func kinds(list ...any) (s string) {
	for i := len(list) - 1; i >= 0; i-- {
		switch e := list[i].(type) {
		case int:
			e++
			s += fmt.Sprint(e) // list=["a", 4, "a"] s="a" i=1 e=5
		case string:
			s = e // list=["a", 4, "a"] s="" i=2 e="a"
		}
	}
	return s
}
kinds("a", 4, "a")`},
		{"a type switch whose variables are captured and set", `func kind(v any) (n int) {
	switch e := v.(type) {
	case nil:
		func() { e = 1 }()
	case int, string:
		func() { e = 2 }()
		n = e.(int) // v=3 n=0 e=2
	case float64:
		for range 2 {
			e += 1
			n++ // v=1.5 n=0 e=2.5
		}
	}
	return n
}
kind(3) + kind(1.5)`},
		{"a value that is sent", `ch := make(chan func(int) int, 1)
select {
case ch <- func(n int) int {
	m := n + 1 // n=1
	return m // n=1 m=2
}:
}
(<-ch)(1)`},
	} {
		d := newDebugged(t)
		want := map[int]string{}
		var at []int
		for i, line := range strings.Split(c.source, "\n") {
			if _, vars, ok := strings.Cut(line, " // "); ok {
				at = append(at, i+1)
				want[i+1] = " " + vars
			}
		}
		d.start(t.Context(), c.source, at...)
		for h, ok := d.halt(t); ok; h, ok = d.halt(t) {
			stack, _ := d.Stack(h.Thread)
			line := stack[0].Line
			if w, first := want[line]; first && locals(stack[0]) != w {
				t.Errorf("%s, line %d:%s, want%s", c.name, line, locals(stack[0]), w)
			}
			delete(want, line)
			d.Continue()
		}
		if err := <-d.ended; err != nil || len(want) > 0 {
			t.Errorf("%s: %v, and no halt at %v", c.name, err, want)
		}
	}
}

// A switch without a tag is halted at in every turn, whichever case is taken.
func TestSwitchWithoutTag(t *testing.T) {
	for _, c := range []struct {
		name, source string
		line         int
		want         string
	}{
		{"at the top", "x := 3\nswitch {\ncase x > 5:\n\tx = 9\ncase x > 2:\n\tx = 8\n}\nx", 2, "[2 6 8]"},
		{"the default", "x := 3\nswitch {\ncase x > 5:\n\tx = 9\ndefault:\n\tx = 8\n}\nx", 2, "[2 6 8]"},
		{"no case", "x := 3\nswitch {\ncase x > 5:\n\tx = 9\n}\nx", 2, "[2 6]"},
		{"of constants", "func f() int {\n\ty := 3\n\tswitch {\n\tcase y > 5:\n\t\treturn 1\n\tcase y > 2:\n\t\treturn 2\n\t}\n\treturn 3\n}\nf()", 3, "[3 7 11]"},
		{"of a variable", "ok := false\nswitch {\ncase ok:\n\tok = false\ncase !ok:\n\tok = true\n}\nok", 2, "[2 6 8]"},
		{"of several", "x := 3\nswitch {\ncase x > 5, x == 3 && x > 1:\n\tx = 9\n}\nx", 2, "[2 4 6]"},
		{"of calls", "func is(x int) bool { return x == 2 }\nx := 2\nswitch {\ncase is(x + 1):\n\tx = 5\ncase is(x):\n\tx = 6\n}\nx", 3, "[3 7 9]"},
		{"in a loop", "n := 0\nfor i := range 3 {\n\tswitch {\n\tcase i == 1:\n\t\tn++\n\tdefault:\n\t\tn--\n\t}\n}\nn", 3, "[3 7 2 3 5 2 3 7 10]"},
		{"in a loop without end", "i := 0\nfor {\n\tswitch {\n\tcase i < 2:\n\t\ti++\n\t\tcontinue\n\t}\n\tbreak\n}\ni", 3, "[3 5 3 5 3 10]"},
		{"in a loop over a method", `type bag []int
func (b bag) all() iter.Seq[int] { return slices.Values(b) }
n := 0
for v := range (bag{1, 5, 2}).all() {
	switch {
	case v > 3:
		n += v
	default:
		n--
	}
}
n`, 5, "[5 9 5 7 5 9 12]"},
	} {
		if !strings.Contains(fmt.Sprint(StopLines(c.source, 1)), fmt.Sprintf(" %d ", c.line)) {
			t.Errorf("%s: no breakpoint can be on line %d", c.name, c.line)
		}
		if got := fmt.Sprint(visits(t, c.source, c.line, eval.StepOver)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

package peek

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

type node struct {
	name string
	next *node
}

func (node) String() string { panic("methods are not run") }

func numbered(n int) map[int]int {
	m := map[int]int{}
	for i := range n {
		m[i] = 0
	}
	return m
}

func TestText(t *testing.T) {
	ring := &node{name: "a"}
	ring.next = ring
	var none error
	for _, c := range []struct {
		value any
		want  string
	}{
		{42, "42"}, {uint8(7), "7"}, {true, "true"}, {1.5, "1.5"}, {float32(0.1), "0.1"}, {"a\"b", `"a\"b"`}, {2i, "(0+2i)"},
		{[]int(nil), "nil"}, {[]int{}, "[]"}, {[2]bool{true}, "[true, false]"}, {map[string]int{"b": 2, "a": 1}, `map["a": 1, "b": 2]`},
		{map[int]int(nil), "nil"}, {struct{ x, y int }{1, 2}, "{x: 1, y: 2}"}, {node{name: "n"}, `peek.node{name: "n", next: nil}`},
		{ring, `&peek.node{name: "a", next: &peek.node{…}}`}, {(*node)(nil), "nil"}, {make(chan int), "chan int"}, {(func())(nil), "nil"},
		{[]any{1, nil, "x"}, `[1, nil, "x"]`}, {&none, "&nil"},
		{map[float64]int{math.NaN(): 1, 2: 3}, "map[NaN: 1, 2: 3]"}, {map[any]any{1: nil}, "map[1: nil]"}, {[]map[string]int{{}}, "[map[]]"},
		{func(any) {}, "func(any)"}, {numbered(30), "map[0: 0, 1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0, 7: 0, 8: 0, 9: 0, 10: 0, 11: 0, 12: 0, 13: 0, 14: 0, 15: 0, 16: 0, 17: 0, 18: 0, 19: 0, … (30)]"},
		{numbered(maxSorted + 1), "map[… (100001)]"}, {[]any{[]any{[]any{map[int]int{1: 1}}}}, "[[[map[… (1)]]]]"},
		{make([]int, 30), "[" + strings.Repeat("0, ", 20) + "… (30)]"},
		{strings.Repeat("é", 150), `"` + strings.Repeat("é", 100) + `"… (300 bytes)`},
	} {
		if got := Text(reflect.ValueOf(c.value), true); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if got := Text(reflect.ValueOf(map[int]int{1: 1}), false); got != "map[int]int" {
		t.Errorf("a map that may change: %s", got)
	}
	if got := Text(reflect.Value{}, true); got != "nil" {
		t.Error(got)
	}
}

func TestChildren(t *testing.T) {
	for _, c := range []struct {
		value any
		start int
		count int
		want  string
	}{
		{[]string{"a", "b", "c"}, 1, 1, "[1]=b"}, {[]string{"a"}, 0, 9, "[0]=a"}, {[]string{"a"}, 5, 9, ""}, {[]string{"a"}, -3, -1, ""},
		{map[string]string{"k": "v"}, 0, 9, `"k"=v`}, {map[float64]string{math.NaN(): "v"}, 0, 9, "NaN=v"},
		{map[struct{ n int }]string{{2}: "b", {1}: "a"}, 1, 9, "{n: 2}=b"}, {&node{name: "n"}, 0, 1, "name=n"}, {struct{ s string }{"x"}, 0, 9, "s=x"}, {"text", 0, 9, ""},
	} {
		var got []string
		for _, child := range Children(reflect.ValueOf(c.value), c.start, c.count, true) {
			got = append(got, child.Name+"="+child.Value.String())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: got %v, want %s", c.value, got, c.want)
		}
	}
	// The first of many keys, in the order of them all.
	many := numbered(5000)
	for i, c := range Children(reflect.ValueOf(many), 2990, 20, true) {
		if c.Key.Int() != int64(2990+i) {
			t.Errorf("key %d is %v", 2990+i, c.Key)
		}
	}
	x := 3
	if list := Children(reflect.ValueOf(&x), 0, 9, true); len(list) != 1 || list[0].Name != "*" || list[0].Value.Int() != 3 {
		t.Errorf("%+v", list)
	}
	if n := Count(reflect.ValueOf(map[int]int{1: 1}), false); n != 0 {
		t.Errorf("a map that may change has %d parts", n)
	}
}

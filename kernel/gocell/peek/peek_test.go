package peek

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"io"
	"math"
	"math/big"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"gonum.org/v1/gonum/mat"

	"forgekernel/forge/tensor"
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
	full := make(chan int, 5)
	full <- 1
	full <- 2
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
		{full, "chan int (2 of 5)"}, {(chan int)(nil), "nil"},
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

// Of a large map some keys are shown, in any order; sorting them all would take seconds.
func TestLargeMap(t *testing.T) {
	large := map[int]struct{}{}
	for i := range maxKeys + 1 {
		large[i] = struct{}{}
	}
	got := Text(reflect.ValueOf(large), true)
	if n := strings.Count(got, ": "); n < maxItems/2 || n > maxItems || !strings.HasSuffix(got, ", … (100001)]") {
		t.Errorf("got %s", got)
	}
	if got := Text(reflect.ValueOf([][][]map[int]int{{{{1: 1}, {}}}}), true); got != "[[[map[… (1)], map[]]]]" {
		t.Errorf("within other values it is %s", got)
	}
	keys := map[any]int{uint8(2): 1, "b": 2, 10: 3, [2]int{1, 2}: 4}
	if got := Text(reflect.ValueOf(keys), true); got != `map["b": 2, 10: 3, 2: 1, [1, 2]: 4]` {
		t.Errorf("keys of several types: %s", got)
	}
}

// The names of what cells declare have no package, but others that end alike do.
func TestUnqualified(t *testing.T) {
	const text = "map[main.Key]domain.User of remain.Left, main.Pair[main.A,*main.B]"
	if got := Unqualified(text); got != "map[Key]domain.User of remain.Left, Pair[A,*B]" {
		t.Errorf("got %s", got)
	}
}

// What only a compiled type's fields would say.
func TestSummaries(t *testing.T) {
	buffer := bytes.NewBufferString("abc")
	for _, c := range []struct {
		value any
		want  string
	}{
		{1500 * time.Millisecond, "1.5s"}, {time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "2026-01-02 03:04:05 +0000 UTC"}, {time.May, "May"},
		{[]time.Duration{time.Second}, "[1s]"}, {map[string]time.Weekday{"d": time.Monday}, `map["d": Monday]`},
		{big.NewInt(-12), "-12"}, {big.NewRat(1, 3), "1/3"}, {big.NewFloat(1.5), "1.5"}, {new(big.Int).Lsh(big.NewInt(1), 1e6), "a number of 1000001 bits"},
		{regexp.MustCompile("a+"), "/a+/"}, {&url.URL{Scheme: "http", Host: "h"}, "http://h"},
		{mat.NewDense(3, 4, nil), "mat.Dense 3×4"}, {mat.NewVecDense(5, nil), "mat.VecDense 5×1"}, {*mat.NewDense(3, 4, nil), "mat.Dense 3×4"},
		{&mat.SVD{}, "&mat.SVD{"}, {(*mat.Dense)(nil), "nil"},
		{image.NewRGBA(image.Rect(0, 0, 30, 20)), "image.RGBA 30×20"}, {image.Pt(1, 2), "image.Point{X: 1, Y: 2}"},
		{buffer, "bytes.Buffer (3 bytes)"}, {*buffer, "bytes.Buffer (3 bytes)"},
		{errors.New("bad\n"), `error "bad\n"`}, {fmt.Errorf("w: %w", io.EOF), `error "w: EOF"`},
		{ones(t, 2, 3), "f32[2,3] 1 1 1 1 …"}, {ones(t), "f32[] 1"}, {ones(t, 0), "f32[0]"}, {(*tensor.Tensor)(nil), "nil"},
		{struct{ hidden time.Duration }{1}, "{hidden: 1}"}, // of a field that others do not see, no method can be called
	} {
		v := reflect.New(reflect.TypeOf(c.value)).Elem() // as a variable is
		v.Set(reflect.ValueOf(c.value))
		if got := Text(v, true); got != c.want && !(strings.HasSuffix(c.want, "{") && strings.HasPrefix(got, c.want)) {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func ones(t *testing.T, shape ...int) *tensor.Tensor {
	t.Helper()
	x, err := tensor.Full(tensor.F32, 1, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestBrief(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{make([]float64, 1_000_000), "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, … (1000000)]"},
		{strings.Repeat("héllo wörld ", 1000), `"héllo wörld héllo wörld hél"… (14000 bytes)`},
		{"a\nb", `"a\nb"`}, {3, "3"}, {&sync.Mutex{}, "&sync.Mutex{…}"}, {http.Cookie{Name: "c"}, `http.Cookie{Name: "c", Value: "", …}`},
	} {
		if got := Brief(reflect.ValueOf(c.value), true, 60); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	many := &struct{ aNameThatIsSoLongThatNothingElseHasRoomOnALineOfSixtyCharacters int }{}
	if got := Brief(reflect.ValueOf(many), true, 60); utf8.RuneCountInString(got) > 60 || !strings.HasSuffix(got, "…") {
		t.Errorf("got %s", got)
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

package display

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"
)

type point struct{ X, Y int }

type shape struct {
	Name   string
	Points []point
	Attrs  map[string]any
	Next   *shape
	weight float32 //lint:ignore U1000 shown by reflection
}

type celsius float64

func (c celsius) String() string { return fmt.Sprintf("%g °C", float64(c)) }

type byPointer struct{ n int }

func (b *byPointer) Display() Bundle { return Text(fmt.Sprint("shown ", b.n)) }

func TestGoSyntax(t *testing.T) {
	loop := &shape{Name: "loop", weight: 0}
	loop.Next = loop
	numbers := make([]int, 250)
	for i := range numbers {
		numbers[i] = i
	}
	var nilShape *shape
	tests := []struct {
		value any
		want  string
	}{
		{nil, "nil"},
		{2, "2"},
		{uint8(7), "7"},
		{1.0, "1"},
		{float32(0.1), "0.1"},
		{true, "true"},
		{2 + 3i, "(2+3i)"},
		{nilShape, "nil"},
		{[]int(nil), "[]int(nil)"},
		{[]int{}, "[]int{}"},
		{[3]string{"a", "b\n"}, `[3]string{"a", "b\n", ""}`},
		{[]any{1, 1.0, 1.5, float32(2), int64(3), "s", nil, []int{4}}, `[]any{1, 1.0, 1.5, float32(2), int64(3), "s", nil, []int{4}}`},
		{map[string]int{"b": 2, "a": 1}, `map[string]int{"a": 1, "b": 2}`},
		{map[any]bool{2: true, "x": false, 1: true}, `map[any]bool{1: true, 2: true, "x": false}`},
		{[]point{{1, 2}, {3, 4}}, "[]display.point{{X: 1, Y: 2}, {X: 3, Y: 4}}"},
		{&point{1, 2}, "&display.point{X: 1, Y: 2}"},
		{struct{ A int }{5}, "{A: 5}"},
		{[]byte("text"), `[]byte("text")`},
		{[]byte{0x89, 'P'}, "[]byte{0x89, 0x50}"},
		{[]time.Duration{time.Second, 0}, "[]time.Duration{1s, 0s}"},
		{[]celsius{20.5}, "[]display.celsius{20.5 °C}"},
		{func(int) string { return "" }, "func(int) string"},
		{make(chan int), "chan int"},
		{loop, `&display.shape{
    Name: "loop",
    Points: []display.point(nil),
    Attrs: map[string]any(nil),
    Next: &display.shape{...},
    weight: 0,
}`},
	}
	for _, test := range tests {
		want := test.want
		if got := goSyntax(test.value); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	long := goSyntax(numbers)
	if !strings.HasSuffix(long, "... 50 more,\n}") {
		t.Errorf("long slice ends %q", long[len(long)-40:])
	}
	for line := range strings.Lines(long) {
		if len(line) > syntaxWidth+1 {
			t.Errorf("line of %d columns: %q", len(line), line)
		}
	}
}

func TestGoSyntaxBoundsDepthAndTotal(t *testing.T) {
	var deep any = 1
	for range 10_000 {
		deep = []any{deep}
	}
	if got := goSyntax(deep); len(got) > 200 || !strings.Contains(got, "...") {
		t.Errorf("deep value: %d bytes", len(got))
	}
	wide := make([][]string, 1000)
	for i := range wide {
		wide[i] = make([]string, 1000)
	}
	if got := goSyntax(wide); len(got) > 64<<10 {
		t.Errorf("wide value: %d bytes", len(got))
	}
}

func TestToBundleBoundsText(t *testing.T) {
	long := strings.Repeat("é", maxText)
	want := long[:maxText] + fmt.Sprintf("… %d bytes more", maxText)
	for _, v := range []any{long, errors.New(long)} {
		if got := ToBundle(v).Data[mimeText].(string); got != want {
			t.Errorf("%T: %d bytes that end with %q", v, len(got), got[len(got)-40:])
		}
	}
	if got := ToBundle("x" + long).Data[mimeText].(string); !strings.HasSuffix(got, fmt.Sprintf("é… %d bytes more", maxText+2)) {
		t.Errorf("cut within a character: %q", got[len(got)-40:])
	}
	if got := ToBundle(Text(long)).Data[mimeText]; got != long {
		t.Error("a Text is not shown whole")
	}
}

func TestToBundle(t *testing.T) {
	tests := []struct {
		value any
		want  string
	}{
		{"two\nlines", "two\nlines"},
		{errors.New("broken"), "broken"},
		{celsius(3), "3 °C"},
		{byPointer{4}, "shown 4"},
		{&byPointer{5}, "shown 5"},
		{(*byPointer)(nil), "nil"},
		{Text("as it is"), "as it is"},
		{[][]string{{"a"}}, `[][]string{{"a"}}`},
		{1 + 1, "2"},
	}
	for _, test := range tests {
		if got := ToBundle(test.value).Data[mimeText]; got != test.want {
			t.Errorf("%T: got %q, want %q", test.value, got, test.want)
		}
	}
}

func TestToBundleOfImage(t *testing.T) {
	b := ToBundle(image.NewGray(image.Rect(0, 0, 3, 2)))
	img, err := png.Decode(bytes.NewReader(b.Data[mimePNG].([]byte)))
	if err != nil {
		t.Fatal(err)
	}
	if got := img.Bounds().Size(); got != image.Pt(3, 2) {
		t.Errorf("size %v", got)
	}
	if got := b.Data[mimeText]; got != "PNG image, 3 x 2 pixels" {
		t.Errorf("text %q", got)
	}
}

// What only a pointer knows to print is shown alike without one.
func TestValuesOfPrinters(t *testing.T) {
	m := mat.NewDense(1, 2, []float64{1, 2.5})
	u := &url.URL{Scheme: "https", Host: "example.com"}
	var b bytes.Buffer
	b.WriteString("text")
	for _, pair := range [][2]any{{m, *m}, {big.NewInt(12), *big.NewInt(12)}, {u, *u}, {&b, b}} {
		want, got := ToBundle(pair[0]).Data["text/plain"], ToBundle(pair[1]).Data["text/plain"]
		if got != want || got == "" {
			t.Errorf("%T is shown as %q, a pointer to it as %q", pair[1], got, want)
		}
	}
}

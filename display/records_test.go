package display

import (
	"fmt"
	"image"
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

type record struct {
	Name  string
	Score float64
	At    time.Duration
	Tags  []string
	Next  *record
	_     int
	own   int //lint:ignore U1000 not shown: this package is none of a cell
}

// What a list of records shows beside its text.
func TestRecords(t *testing.T) {
	ring := &record{Name: "ring"}
	ring.Next = ring
	for _, test := range []struct {
		name  string
		value any
		want  string // the table as text; empty: none
	}{
		{"structs", []record{{"a<b>", 1.5, time.Second, []string{"x", "y"}, nil, 0, 1}, {"long\nname", 12, 0, nil, &record{}, 0, 2}}, `
   Name       Score  At  Tags        Next
-  ---------  -----  --  ----------  --------------------------------------------------------------------------------
0  a<b>         1.5  1s  {"x", "y"}
1  long name   12.0  0s  nil         &display.record{Name: "", Score: 0, At: 0s, Tags: []string(nil), Next: nil, _: …
`},
		{"pointers", []*record{{Name: "p"}, nil}, `
   Name  Score  At  Tags  Next
-  ----  -----  --  ----  ----
0  p         0  0s  nil
1
`},
		{"a ring", []*record{ring}, `
   Name  Score  At  Tags  Next
-  ----  -----  --  ----  --------------------------------------------------------------------------------
0  ring      0  0s  nil   &display.record{Name: "ring", Score: 0, At: 0s, Tags: []string(nil), Next: &dis…
`},
		{"by key", map[string]point{"b": {3, 4}, "a": {1, 2}}, `
   X  Y
-  -  -
a  1  2
b  3  4
`},
		{"by number", map[int]point{10: {3, 4}, 9: {1, 2}}, `
    X  Y
--  -  -
 9  1  2
10  3  4
`},
		{"maps", []map[string]any{{"n": 1, "s": "x"}, {"s": nil, "list": []int{1}}, nil}, `
   list      n  s
-  --------  -  -
0            1  x
1  []int{1}
2
`},
		{"maps of maps", map[string]map[string]float64{"r": {"x": 1, "y": 2.5}}, `
   x    y
-  -  ---
r  1  2.5
`},
		{"arrays", [2]point{{1, 2}, {3, 4}}, `
   X  Y
-  -  -
0  1  2
1  3  4
`},
		{"every digit", []struct {
			Price, Share float64
			Weight       float32
		}{{5200.5, 0.30000000000000004, 0.1}, {80, 1e-9, 1.0 / 3}, {1234567, math.Inf(1), 3}}, `
       Price                Share      Weight
-  ---------  -------------------  ----------
0     5200.5  0.30000000000000004         0.1
1       80.0                1e-09  0.33333334
2  1234567.0                 +Inf           3
`},
		{"large parts", []struct{ Big []int }{{make([]int, 1000)}}, `
   Big
-  ------------
0  []int (1000)
`},
		{"empty", []point{}, ""}, {"nil", map[string]point(nil), ""}, {"one struct", point{1, 2}, ""}, {"numbers", []int{1}, ""},
		{"times", []time.Time{{}}, ""}, {"points with a text", []image.Point{{1, 2}}, ""}, {"cookies with a text", []*http.Cookie{{Name: "c"}}, ""},
		{"displayed", []byPointer{{1}}, ""}, {"nothing to see", []struct{}{{}}, ""}, {"interfaces", []any{point{1, 2}}, ""}, {"a map to numbers", map[string]int{"a": 1}, ""},
		{"strings", [][]string{{"a"}}, ""}, {"maps by number", []map[int]int{{1: 2}}, ""}, {"pointers to maps", []*map[string]int{{}}, ""}, {"nothing", nil, ""},
	} {
		got := ""
		if table, ok := records(test.value); ok {
			got = "\n" + table.Text()
		}
		if trimmed(got) != trimmed(test.want) {
			t.Errorf("%s: got %s\nwant %s", test.name, got, test.want)
		}
	}
}

func trimmed(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func TestRecordsAreBounded(t *testing.T) {
	var wide []reflect.StructField
	for i := range 100 {
		wide = append(wide, reflect.StructField{Name: fmt.Sprintf("Field%d", i), Type: reflect.TypeFor[string]()})
	}
	list := reflect.MakeSlice(reflect.SliceOf(reflect.StructOf(wide)), 100_000, 100_000)
	for i := range list.Len() {
		list.Index(i).Field(0).SetString(strings.Repeat("é<", 1000))
	}
	b := ToBundle(list.Interface())
	page, _ := b.Data[mimeHTML].(string)
	if len(page) > 256<<10 || !strings.Contains(page, "… 99950 more") || !strings.Contains(page, "… 80 more") || strings.Contains(page, "é<") {
		t.Errorf("%d bytes: %.300s", len(page), page)
	}
	if text, _ := b.Data[mimeText].(string); !strings.HasPrefix(text, "[]struct") {
		t.Errorf("the text is %.100s", text)
	}
	if table, _ := records([]struct{ S string }{{strings.Repeat("é", 80)}, {strings.Repeat("é", 81)}}); table.Rows[0][1] != strings.Repeat("é", 80) || table.Rows[1][1] != strings.Repeat("é", 79)+"…" {
		t.Errorf("%v", table.Rows)
	}
}

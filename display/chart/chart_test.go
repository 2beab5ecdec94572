package chart

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"forgekernel/display"
)

var update = flag.Bool("update", false, "rewrite the files of testdata")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it); got\n%s", name, got)
	}
}

func TestGolden(t *testing.T) {
	for name, f := range figures() {
		svg, err := f.SVG()
		if err != nil {
			t.Fatal(name, err)
		}
		text, err := f.Plain()
		if err != nil {
			t.Fatal(name, err)
		}
		golden(t, name+".svg", svg)
		golden(t, name+".txt", text)
	}
	spec, err := json.MarshalIndent(figures()["memory"].layout().vega(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "memory.vl.json", string(spec)+"\n")
}

// Every form of every figure is there, within its limits, and the picture is as
// large as its metadata say.
func TestForms(t *testing.T) {
	for name, f := range figures() {
		b := f.Display()
		if text, _ := b.Data[mimeText].(string); strings.Contains(text, "no picture") || text == "" {
			t.Errorf("%s: %q", name, text)
		}
		if spec, _ := b.Data[mimeVega].(json.RawMessage); len(spec) == 0 || len(spec) > vegaBytes || !json.Valid(spec) {
			t.Errorf("%s: %d bytes of Vega-Lite", name, len(spec))
		}
		img, err := png.Decode(bytes.NewReader(b.Data[mimePNG].([]byte)))
		if err != nil {
			t.Fatal(name, err)
		}
		size := b.Metadata[mimePNG].(map[string]any)
		if got := img.Bounds(); got.Dx() != 2*size["width"].(int) || got.Dy() != 2*size["height"].(int) {
			t.Errorf("%s: %v, shown as %v", name, got, size)
		}
	}
}

// attributes are those of presentation, which no front end removes.
var attributes = []string{"x", "y", "width", "height", "rx", "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "d",
	"text-anchor", "font-family", "font-size", "font-weight", "viewBox", "role", "aria-label", "xmlns"}

// Nothing is drawn outside of the card, in either theme, however long names are and
// wherever marks lie; and nothing but plain shapes is used.
func TestInsideTheCard(t *testing.T) {
	list := figures()
	long := strings.Repeat("a long name of something ", 6)
	list["long"] = Figure{Title: strings.Repeat("title ", 60), Note: long, Panels: []Chart{
		Box(long, long, Seconds, Sample{long, samples(1, 1, 50)}, Sample{"b", []float64{3}}),
		{Title: "far", Y: Axis{Title: long, Min: 0, Max: 1}, X: Axis{Min: 0, Max: 1}, Layers: []Layer{
			{Kind: Line, Data: []Datum{{X: -1e9, Y: -1e9}, {X: 1e9, Y: 1e9}}},
			{Kind: Rect, Data: []Datum{{X: -5, Y: -5, X2: 5, Y2: 5}, {X: 7, Y: 7, X2: 9, Y2: 9}}},
			{Kind: Area, Data: []Datum{{X: -3, Y: 9, Y2: -9}, {X: 4, Y: 9, Y2: -9}}},
			{Kind: Point, Data: []Datum{{X: 2, Y: 0.5}, {X: 0.5, Y: 0.5}}},
			{Kind: Rule, Data: []Datum{{X: math.Inf(-1), Y: 0.5, X2: math.Inf(1), Y2: 0.5}}},
			{Kind: Text, DX: 6, Data: []Datum{{X: math.Inf(1), Y: 0.5, Text: long}}},
		}},
	}}
	list["bars"] = Chart{X: Names("a", "b"), Y: Axis{Log: true}, Layers: []Layer{{Kind: Bar, Data: []Datum{{X: 0, Y: 3}, {X: 1, Y: 3e5}}}}}.Figure()
	list["empty"] = Figure{Panels: []Chart{{}, {X: Axis{Log: true}, Y: Axis{Unit: Bytes}}, Names().bare()}}
	for name, f := range list {
		for _, f.Theme = range []display.Theme{display.Light, display.Dark} {
			svg, err := f.SVG()
			if err != nil {
				t.Fatal(name, err)
			}
			l := f.layout()
			d := xml.NewDecoder(strings.NewReader(svg))
			for {
				token, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(name, err)
				}
				e, is := token.(xml.StartElement)
				if !is {
					continue
				}
				at := map[string]float64{}
				for _, a := range e.Attr {
					if !slices.Contains(attributes, a.Name.Local) {
						t.Errorf("%s: attribute %s", name, a.Name.Local)
					}
					at[a.Name.Local], _ = strconv.ParseFloat(a.Value, 64)
				}
				if at["x"] < 0 || at["y"] < 0 || at["x"]+at["width"] > l.w+0.5 || at["y"]+at["height"] > l.h+0.5 {
					t.Errorf("%s: %s at %v outside of %g by %g", name, e.Name.Local, at, l.w, l.h)
				}
			}
		}
	}
}

// bare is a chart over the axis.
func (a Axis) bare() Chart { return Chart{Y: a} }

func TestRefused(t *testing.T) {
	one := func(l Layer) Figure { return Chart{Layers: []Layer{l}}.Figure() }
	for want, f := range map[string]Figure{
		"no charts":               {Text: "nothing\n"},
		"datum 1 stands at NaN":   one(Layer{Kind: Point, Data: []Datum{{}, {X: math.NaN()}}}),
		"is infinite":             one(Layer{Kind: Line, Data: []Datum{{X: math.Inf(1)}}}),
		"datum 0 stands at 0":     Chart{X: Axis{Log: true}, Layers: []Layer{{Kind: Point, Data: []Datum{{Y: 1}}}}}.Figure(),
		"no kind of mark 9":       one(Layer{Kind: 9}),
		"datum 0 stands at -0.28": Chart{X: Axis{Log: true}, Layers: []Layer{{Kind: Bar, Data: []Datum{{X: 0.1, Y: 1}}}}}.Figure(),
		"too many to draw":        one(Layer{Kind: Point, Data: make([]Datum, drawnMarks+1)}),
		"area is -1 by NaN":       Chart{Width: -1, Height: math.NaN()}.Figure(),
		"area is 1e+09 by 0":      Chart{Width: 1e9}.Figure(),
		"axis x: it goes from 2":  Chart{X: Axis{Min: 2, Max: 1}}.Figure(),
		"begins at -1":            Chart{Y: Axis{Log: true, Min: -1, Max: 1}}.Figure(),
		`tick "a" is at NaN`:      Chart{X: Axis{Ticks: []Tick{{math.NaN(), "a"}}}}.Figure(),
		"%p is outside its slot":  MemoryPlan(Plan{Slots: []Slot{{Bytes: 1}}, Tenants: []Tenant{{Bytes: 2, Label: "%p"}}}),
		"%q is outside its slot ": MemoryPlan(Plan{Tenants: []Tenant{{Slot: -1, Label: "%q"}}}),
	} {
		b := f.Display()
		if text := b.Data[mimeText].(string); !strings.Contains(text, want) || len(b.Data) != 1 {
			t.Errorf("%s: %d forms, %q", want, len(b.Data), text)
		}
	}
}

// A figure whose data are too large for Vega-Lite is still a picture.
func TestLargeIsStatic(t *testing.T) {
	data := make([]Datum, 9000)
	for i := range data {
		data[i] = Datum{X: float64(i), Y: math.Sin(float64(i) / 100), Tip: fmt.Sprint("sample ", i)}
	}
	b := Chart{Layers: []Layer{{Kind: Point, Data: data}}}.Display()
	if b.Data[mimeVega] != nil || b.Data[mimeSVG] == nil || b.Data[mimePNG] == nil {
		t.Errorf("forms: %d", len(b.Data))
	}
}

// No numbers, however large, small or close, make a figure fail in another way than
// with an error, or reach the picture as no number.
func FuzzChart(f *testing.F) {
	f.Add(0.0, 1.0, 1e18, 1e18+256, false, uint8(1), uint8(0))
	f.Add(1e-300, 1e300, 5e-324, 1.0, true, uint8(2), uint8(1))
	f.Add(-1.0, math.Inf(1), math.NaN(), 2.0, false, uint8(5), uint8(2))
	f.Fuzz(func(t *testing.T, a, b, c, d float64, log bool, kind, unit uint8) {
		x := Axis{Unit: Unit(unit % 4), Log: log}
		list := []Figure{
			Chart{X: x, Y: x, Layers: []Layer{{Kind: Kind(kind % 8), Name: "n", Data: []Datum{{X: a, Y: b, X2: c, Y2: d, Text: "t"}, {X: c, Y: d, X2: a, Y2: b}}}}}.Figure(),
			Chart{X: Axis{Min: a, Max: b, Log: log, Unit: x.Unit}, Y: Axis{Ticks: []Tick{{c, "c"}}}}.Figure(),
			Distribution("", "", x.Unit, Sample{"s", []float64{a, b, c, d}}, Sample{"t", []float64{d}}),
			Violin("", "", x.Unit, Sample{"s", []float64{a, b, c, d}}).Figure(),
			Roofline("", []Roof{{"r", a, b, []Cache{{"c", c, d}, {"d", a, b}}}}, []Work{{"w", "", b, c, d, int(kind)}}),
			Scaling("", "", "", x.Unit, Curve{"c", []Measured{{int(kind), a}, {2, b}}}),
			Timeline("", []string{"l"}, []Span{{Start: a, End: b}, {Start: c, End: d, Wait: log}}),
			Contest("", "", Match{"m", []Candidate{{Name: "c", Times: []float64{a, b, c}}}}),
			MemoryPlan(Plan{Steps: []string{"s"}, Slots: []Slot{{"s", int64(kind)}}, Tenants: []Tenant{{Bytes: int64(unit), Start: a, End: b}}, Live: []int64{int64(unit)}, Bounds: []Bound{{"b", int64(kind) - 9}}}),
		}
		for i, f := range list {
			svg, err := f.SVG()
			if err != nil {
				continue
			}
			if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
				t.Errorf("figure %d: %s", i, svg)
			}
			if _, err := json.Marshal(f.layout().vega()); err != nil {
				t.Errorf("figure %d: %v", i, err)
			}
			if _, err := f.Plain(); err != nil {
				t.Errorf("figure %d: %v", i, err)
			}
		}
	})
}

package chart

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The density of a violin is widest at its mode and as wide for equal shapes.
func TestDensity(t *testing.T) {
	values := sorted([]Sample{{"", []float64{1, 2, 2, 2, 3}}})[0].Values
	list := density(values, 5, Axis{Min: 0, Max: 4})
	widest := list[0]
	for _, d := range list {
		if math.Abs((d.Y+d.Y2)/2-5) > 1e-9 || d.Y > d.Y2 {
			t.Fatalf("%+v is not around its row", d)
		}
		if d.Y2-d.Y > widest.Y2-widest.Y {
			widest = d
		}
	}
	if math.Abs(widest.X-2) > 0.05 || math.Abs(widest.Y2-5.42) > 1e-9 {
		t.Errorf("widest at %+v", widest)
	}
	for _, equal := range [][]float64{{3}, {3, 3, 3}} {
		for _, d := range density(equal, 0, Axis{Min: 1, Max: 4}) {
			if math.IsNaN(d.Y) || math.IsNaN(d.X) {
				t.Fatalf("%v: %+v", equal, d)
			}
		}
	}
}

// A distribution function ends at 1 whatever the number of samples, also where not
// all of its steps are drawn.
func TestSteps(t *testing.T) {
	for _, n := range []int{1, 2, curvePoints, curvePoints + 1, 5000} {
		values := sorted([]Sample{{"", samples(7, 1, n)}})[0].Values
		list := steps(values)
		if last := list[len(list)-1]; last.Y != 1 || last.X != values[n-1] || list[0].Y != 0 || len(list) > 2*curvePoints+2 {
			t.Errorf("%d: %d steps from %+v to %+v", n, len(list), list[0], last)
		}
		for i := 1; i < len(list); i++ {
			if list[i].X < list[i-1].X || list[i].Y < list[i-1].Y {
				t.Fatalf("%d: step %d falls", n, i)
			}
		}
	}
}

// The wait for the first input does not fill the axis; times keep their order, and
// those outside of breaks their distances.
func TestClock(t *testing.T) {
	_, spans := ranks()
	c := newClock(spans)
	if len(c.breaks) != 1 || c.breaks[0] != [2]float64{0, 2} {
		t.Fatalf("breaks %v", c.breaks)
	}
	length := c.at(c.to)
	if share := c.at(2) / length; share > 0.05 {
		t.Errorf("the wait takes %.0f %% of the axis", 100*share)
	}
	if got := c.at(2.005) - c.at(2.001); math.Abs(got-0.004) > 1e-12 {
		t.Errorf("4 ms are %g", got)
	}
	last := -1.0
	for x := 0.0; x < c.to; x += 1e-4 {
		if at := c.at(x); at <= last {
			t.Fatalf("%g is at %g, before what was earlier", x, at)
		} else {
			last = at
		}
	}
	for _, k := range c.ticks(length) {
		if k.At < 0 || k.At > length {
			t.Errorf("tick %+v outside of %g", k, length)
		}
	}
}

func TestClockWithoutWork(t *testing.T) {
	for _, spans := range [][]Span{nil, {{End: 1, Wait: true}}, {{Start: 1, End: 1}}} {
		f := Timeline("", []string{"rank 0"}, spans)
		if _, err := f.SVG(); err != nil {
			t.Errorf("%v: %v", spans, err)
		}
	}
}

// The name of a work that nearly reaches a roof stands below the line, that of another
// beside its point.
func TestNamesStayOffTheRoof(t *testing.T) {
	roof := Roof{FLOPs: 100, Bytes: 10}
	f := Roofline("", []Roof{roof}, []Work{{Name: "near", FLOPs: 98 * 40, Bytes: 98, Seconds: 40}, {Name: "far", FLOPs: 50, Bytes: 1, Seconds: 1}})
	at := map[string]float64{}
	for _, l := range f.Panels[0].Layers {
		for _, d := range l.Data {
			at[d.Text] = d.Y
		}
	}
	if at["far"] != 50 || at["near"] > 96 || at["near"] < 85 {
		t.Errorf("names stand at %v", at)
	}
}

func TestRoof(t *testing.T) {
	r := Roof{FLOPs: 100, Bytes: 10}
	for x, want := range map[float64]float64{1: 10, 10: 100, 50: 100} {
		if got := r.Limit(x); got != want {
			t.Errorf("at %g the limit is %g, want %g", x, got, want)
		}
	}
	f := Roofline("", []Roof{r, {}}, []Work{{Name: "none"}, {Name: "half", FLOPs: 50, Bytes: 5, Seconds: 1}})
	if got := shareOf([]Roof{r}, Work{FLOPs: 50, Bytes: 5, Seconds: 1}); got != "50 %" {
		t.Errorf("share %q", got)
	}
	if _, err := f.SVG(); err != nil {
		t.Error(err)
	}
	if f := Roofline("", nil, nil); f.Display().Data[mimeSVG] == nil {
		t.Error("an empty roofline is not drawn")
	}
}

// Charts without data say so, and have no numbers on their axes.
func TestNoData(t *testing.T) {
	for name, f := range map[string]Figure{
		"distribution": Distribution("t", "time", Seconds),
		"violin":       Violin("t", "time", Seconds).Figure(),
		"scaling":      Scaling("t", "threads", "rate", Number),
		"zeros":        Scaling("t", "threads", "rate", Number, Curve{"a", []Measured{{0, 1}, {1, 0}, {2, math.NaN()}}}),
		"timeline":     Timeline("t", []string{"rank 0"}, nil),
		"bars":         Bars("t", "bytes", Bytes).Figure(),
		"contest":      Contest("t", "", Match{"m", nil}),
		"roofline":     Roofline("t", nil, nil),
	} {
		svg, err := f.SVG()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(svg, ">no data<") || name != "zeros" && regexp.MustCompile(`>[0-9.]+ ?(ns|ms|s|B|%)?<`).MatchString(svg) {
			t.Errorf("%s:\n%s", name, svg)
		}
		if text, err := f.Plain(); err != nil || strings.Contains(text, "NaN") && name != "zeros" {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	f := Distribution("t", "time", Seconds, Sample{"here", []float64{1}}, Sample{"gone", nil}, Sample{"bad", []float64{math.NaN()}})
	if text, _ := f.Plain(); f.Note != "no values of gone, bad" || !strings.Contains(text, f.Note) {
		t.Errorf("note %q in\n%s", f.Note, text)
	}
}

// Zeros have no place on logarithmic axes; the others are drawn, and the table has all.
func TestScalingWithZeros(t *testing.T) {
	f := Scaling("t", "threads", "rate", Number, Curve{"a", []Measured{{1, 0}, {2, 10}, {4, 20}}})
	if _, err := f.SVG(); err != nil {
		t.Fatal(err)
	}
	for _, l := range f.Panels[0].Layers {
		if len(l.Data) != 2 {
			t.Errorf("%+v", l)
		}
	}
	if strings.Contains(f.Text, "NaN") || strings.Contains(f.Text, "Inf") || strings.Count(f.Text, "\n") != 6 {
		t.Error(f.Text)
	}
}

// Names of works keep off the slopes, and the labels of equal roofs off each other.
func TestRooflineLabels(t *testing.T) {
	roofs := []Roof{{"core", 64e9, 16e9}, {"cache", 64e9, 64e9}}
	// One above the slope of the first roof, one well below, one under its top.
	works := []Work{{"pierces", "", 24e9, 24e9, 1}, {"below", "", 1e9, 1e9, 1}, {"under the top", "", 63e9, 4e9, 1}}
	c := Roofline("t", roofs, works).Panels[0]
	var names []string
	var tops []string
	for _, l := range c.Layers {
		for _, d := range l.Data {
			switch {
			case l.Kind != Text:
			case math.IsInf(d.X, 1):
				tops = append(tops, d.Text)
			default:
				names = append(names, fmt.Sprintf("%s %d %.3g", d.Text, l.Anchor, d.Y/1e9))
			}
		}
	}
	if want := []string{"below 0 1", "under the top 0 53.5", "pierces 2 24"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	if want := "cache: 64 GFLOP/s, 64 GB/s; core: 64 GFLOP/s, 16 GB/s"; len(tops) != 1 || tops[0] != want {
		t.Errorf("labels of roofs %q, want %q", tops, want)
	}
}

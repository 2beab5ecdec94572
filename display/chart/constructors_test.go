package chart

import (
	"math"
	"regexp"
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

// Names stand off points, lines and one another.
func TestNamesHaveRoom(t *testing.T) {
	roof := Roof{Name: "one core", FLOPs: 100, Bytes: 10, Caches: []Cache{{"L2", 1000, 40}}}
	f := Roofline("", []Roof{roof}, []Work{
		{Name: "near the top", FLOPs: 98 * 40, Bytes: 98, Seconds: 40}, {Name: "its neighbour", FLOPs: 96 * 40, Bytes: 97, Seconds: 40},
		{Name: "on the slope", FLOPs: 30, Bytes: 10, Seconds: 1}, {Name: "far", FLOPs: 5, Bytes: 1, Seconds: 1},
	})
	c := f.Panels[0]
	r := &room{xs: c.X.scale(c.Width, nil), ys: c.Y.scale(c.Height, nil)}
	r.ys.reverse = true
	for _, l := range c.Layers {
		for _, d := range l.Data {
			switch x, y := r.xs.at(d.X), r.ys.at(d.Y); l.Kind {
			case Point:
				r.boxes = append(r.boxes, block{x - 4, y - 4, x + 4, y + 4})
			case Text:
				if math.IsInf(d.X, 1) {
					continue
				}
				if crowd := r.crowd(name(x, y, small(d.Text))); crowd != 0 {
					t.Errorf("%q is in the way: %v", d.Text, crowd)
				}
				r.taken(x, y, small(d.Text))
			}
		}
		if l.Kind == Line {
			r.line(l.Data, onLine)
		}
	}
	if far := at(c, "far"); far.Y < 4.9 || far.Y > 5.1 {
		t.Errorf("the name of a point alone stands at %v", far)
	}
}

// Roofs of one height have one label, which names both.
func TestRoofsOfOneHeight(t *testing.T) {
	f := Roofline("", []Roof{{Name: "f16", FLOPs: 800e12, Bytes: 4e12}, {Name: "bf16", FLOPs: 805e12, Bytes: 4e12}, {Name: "f32", FLOPs: 50e12, Bytes: 4e12}}, nil)
	c := f.Panels[0]
	for _, want := range []string{"f16: 800 TFLOP/s, 4 TB/s; bf16: 805 TFLOP/s, 4 TB/s", "f32: 50 TFLOP/s, 4 TB/s"} {
		if at(c, want).Text == "" {
			t.Errorf("there is no label %q", want)
		}
	}
}

// at is the text of a chart.
func at(c Chart, text string) Datum {
	for _, l := range c.Layers {
		for _, d := range l.Data {
			if l.Kind == Text && d.Text == text {
				return d
			}
		}
	}
	return Datum{}
}

// A work is held to the roof of the level that has its data.
func TestLevels(t *testing.T) {
	r := Roof{FLOPs: 100, Bytes: 10, Caches: []Cache{{"L1", 10, 80}, {"L2", 100, 0}, {"L3", 1000, 20}}}
	for _, c := range []struct {
		work Work
		want string
	}{
		{Work{FLOPs: 8, Bytes: 8, Seconds: 0.2}, "50 % L1"},
		{Work{FLOPs: 80, Bytes: 80, Seconds: 4}, "200 % memory (L2 holds it)"},
		{Work{FLOPs: 800, Bytes: 800, Seconds: 80}, "50 % L3"},
		{Work{FLOPs: 8000, Bytes: 8000, Seconds: 1600}, "50 % memory"},
		{Work{FLOPs: 800000, Bytes: 8000, Seconds: 16000}, "50 % arithmetic"},
		{Work{FLOPs: 16, Bytes: 16, Seconds: 0.2, Roof: 1}, "50 % L1"},
		{Work{Roof: 2}, " "},
	} {
		if share, by := shareOf([]Roof{r, r.Times(2, "two")}, c.work); share+" "+by != c.want {
			t.Errorf("%+v is %s %s, want %s", c.work, share, by, c.want)
		}
	}
	if r.Caches[0].Size != 10 {
		t.Error("the roof itself was changed")
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

package capture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestSummarise(t *testing.T) {
	for _, c := range []struct {
		samples []float64
		want    Summary
	}{
		{[]float64{3}, Summary{3, 3, 3, 3}},
		{[]float64{4, 1, 3, 2}, Summary{1, 2.5, 3.85, 2.5}},
		{[]float64{5, 1, 2, 3, 4}, Summary{1, 3, 4.8, 3}},
	} {
		got := Summarise(c.samples)
		if got.Min != c.want.Min || !near(got.Median, c.want.Median) || !near(got.P95, c.want.P95) || got.Mean != c.want.Mean {
			t.Errorf("%v has %+v, want %+v", c.samples, got, c.want)
		}
	}
}

// noisy are n samples around a median.
func noisy(rng *rand.Rand, n int, median, spread float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = median * (1 + spread*(rng.Float64()-0.5))
	}
	return list
}

func TestMedianInterval(t *testing.T) {
	inside := 0
	for k := range uint64(40) {
		i := MedianInterval(noisy(rand.New(rand.NewPCG(k, 1)), 50, 1e-3, 0.2))
		if i.Low > i.High || i.High-i.Low > 1e-4 {
			t.Errorf("interval %+v", i)
		}
		if i.Low <= 1e-3 && 1e-3 <= i.High {
			inside++
		}
	}
	if inside < 34 { // of 38 expected
		t.Errorf("%d of 40 intervals hold the median", inside)
	}
	if i := MedianInterval([]float64{2, 2, 2}); i != (Interval{2, 2}) {
		t.Errorf("interval of equal samples: %+v", i)
	}
}

func withSamples(t *testing.T, old, new []float64) (*Capture, *Capture) {
	a, b := sample(t), sample(t)
	for c, wall := range map[*Capture][]float64{a: old, b: new} {
		c.Settings.Samples = len(wall)
		for i := range c.Workloads[0].Series {
			s := &c.Workloads[0].Series[i]
			summary := Summarise(wall)
			s.Wall, s.CPU, s.Summary = wall, wall, &summary
		}
		if err := Verify(c); err != nil {
			t.Fatal(err)
		}
	}
	return a, b
}

func TestCompare(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	base := noisy(rng, 60, 1e-3, 0.02)
	scaled := func(f float64) []float64 {
		list := noisy(rng, 60, 1e-3, 0.02)
		for i := range list {
			list[i] *= f
		}
		return list
	}
	for _, c := range []struct {
		name string
		new  []float64
		want Verdict
	}{
		{"half", scaled(0.5), Faster},
		{"double", scaled(2), Slower},
		{"a tenth more", scaled(1.1), Slower},
		{"a tenth less", scaled(0.9), Faster},
		{"two per cent, though certain", scaled(1.02), Even},
		{"the same", scaled(1), Even},
		{"a tenth more, though uncertain", noisy(rng, 60, 1.1e-3, 1.8), Even},
	} {
		a, b := withSamples(t, base, c.new)
		got, err := Compare(a, b)
		if err != nil {
			t.Fatal(err)
		}
		r := got.Rows[1]
		if len(got.Rows) != 2 || r.Verdict != c.want || r.Interval.Low > r.Ratio || r.Ratio > r.Interval.High || r.Old != r.New {
			t.Errorf("%s: %+v, want %s", c.name, r, c.want)
		}
		if text := got.Table().Text(); !strings.Contains(text, string(c.want)) || !strings.Contains(text, "1.0") {
			t.Errorf("%s:\n%s", c.name, text)
		}
	}
}

// What disturbs both sides in a round leaves their ratio alone.
func TestSides(t *testing.T) {
	c := sample(t)
	rng := rand.New(rand.NewPCG(3, 4))
	disturbed := noisy(rng, 40, 1e-3, 1.5)
	c.Settings.Samples = len(disturbed)
	for i, factor := range []float64{1, 0.9} {
		s := &c.Workloads[0].Series[i]
		s.Wall = nil
		for _, x := range disturbed {
			s.Wall = append(s.Wall, x*factor)
		}
		summary := Summarise(s.Wall)
		s.CPU, s.Summary = s.Wall, &summary
	}
	side := func(text string) Side {
		s, err := ParseSide(text)
		if err != nil {
			t.Fatal(err)
		}
		if s.String() != text {
			t.Errorf("%q reads as %v", text, s)
		}
		return s
	}
	got, err := Sides(c, side("slow:written:1"), side("fast"))
	if err != nil {
		t.Fatal(err)
	}
	if r := got.Rows[0]; r.Verdict != Faster || !near(r.Interval.Low, 0.9) || !near(r.Interval.High, 0.9) {
		t.Errorf("%+v", r)
	}
	if _, err := Sides(c, side("slow:optimised"), side("fast")); err == nil || !strings.Contains(err.Error(), "no candidate is slow:optimised; there are slow written, 1 thread; fast optimised, 2 threads") {
		t.Errorf("a side that is not there: %v", err)
	}
	c.Workloads[0].Series[1].Backend = "slow"
	if _, err := Sides(c, side("slow"), side("slow:written")); err == nil || !strings.Contains(err.Error(), "say which") {
		t.Errorf("a side that is two: %v", err)
	}
	for _, bad := range []string{"", ":written", "a:b", "a:written:x", "a:written:0", "a:written:1:2"} {
		if s, err := ParseSide(bad); err == nil {
			t.Errorf("%q reads as %+v", bad, s)
		}
	}
}

// The gain compares what ran on one backend with as many threads, and nothing else.
func TestGain(t *testing.T) {
	r := &Report{capture: sample(t)}
	if _, err := r.Gain(); err == nil || !strings.Contains(err.Error(), "both as written and optimised") {
		t.Errorf("of other backends: %v", err)
	}
	series := r.capture.Workloads[0].Series
	series[1].Label = Label{Backend: series[0].Backend, Variant: Optimised, Threads: series[0].Threads}
	got, err := r.Gain()
	if err != nil {
		t.Fatal(err)
	}
	want := series[1].Summary.Median / series[0].Summary.Median
	if len(got.Rows) != 1 || got.Rows[0].Ratio != want || got.Rows[0].Old != series[0].Label {
		t.Errorf("%+v, want a ratio of %g", got.Rows, want)
	}
}

func TestCompareRefuses(t *testing.T) {
	for want, change := range map[string]func(*Capture){
		"the processor differs":             func(c *Capture) { c.Environment.CPU = "Other" },
		"the instruction sets differs":      func(c *Capture) { c.Environment.ISA = nil },
		"the number of cores differs":       func(c *Capture) { c.Environment.Cores++ },
		"GOMAXPROCS differs":                func(c *Capture) { c.Environment.GoThreads++ },
		"the environment variables differs": func(c *Capture) { c.Environment.Variables = map[string]string{"GOGC": "off"} },
		"the number of samples differs":     func(c *Capture) { c.Settings.Samples++ },
		"the seed differs":                  func(c *Capture) { c.Settings.Seed++ },
		"the shortest sample differs":       func(c *Capture) { c.Settings.MinSample = time.Second },
		"the workload differs":              func(c *Capture) { c.Workloads[0].Name = "other" },
		"the program as written differs":    func(c *Capture) { c.Workloads[0].Written = "00" },
		"the input w differs":               func(c *Capture) { c.Workloads[0].Inputs[1].SHA256 = "00" },
		"the candidate differs":             func(c *Capture) { c.Workloads[0].Series[1].Threads = 3 },
		"number of candidates differs":      func(c *Capture) { c.Workloads[0].Series = c.Workloads[0].Series[:1] },
		"number of workloads differs":       func(c *Capture) { c.Workloads = nil },
		"has no samples: it broke":          func(c *Capture) { c.Workloads[0].Series[0].Summary, c.Workloads[0].Series[0].Error = nil, "it broke" },
	} {
		b := sample(t)
		change(b)
		if _, err := Compare(sample(t), b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestReport(t *testing.T) {
	c := sample(t)
	c.Workloads[0].Name = "../<layer>|" // a capture may call its workloads as it likes
	r, err := NewReport(c, false)
	if err != nil {
		t.Fatal(err)
	}
	text := r.Text()
	for _, want := range []string{"Test 9000", "c0ffee, tree clean", "100.0 µs", "50.00 µs", "fastest", "fast optimised, 2 threads", "slow written, 1 thread", "Memory plans, proved again", "┃", "whiskers"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	if times, where := strings.Index(text, "100.0 µs"), strings.Index(text, "Where and how"); times > where {
		t.Errorf("what was measured on stands before the times:\n%s", text)
	}
	for line := range strings.SplitSeq(r.TextWithin(60), "\n") {
		if n := utf8.RuneCountInString(line); n > 60 {
			t.Errorf("a line of %d characters within 60: %s", n, line)
		}
	}
	files, err := r.Files()
	if err != nil {
		t.Fatal(err)
	}
	kinds := make(map[string]int)
	for _, f := range files {
		name, kind, _ := strings.Cut(f.Name, ".")
		kinds[kind]++
		if strings.ContainsAny(name, "/\\<>|") {
			t.Errorf("a file is called %q", f.Name)
		}
		switch kind {
		case "svg":
			checkXML(t, f)
		case "png":
			if image, err := png.DecodeConfig(bytes.NewReader(f.Content)); err != nil || image.Width < 300 {
				t.Errorf("%s: %v, %d pixels wide", f.Name, err, image.Width)
			}
		case "html", "md":
			if text := string(f.Content); strings.Contains(text, "<layer>") || !strings.Contains(text, "layer") || !strings.Contains(text, "100.0 µs") {
				t.Errorf("%s holds markup of the capture, or not what was measured:\n%.3000s", f.Name, text)
			}
		}
	}
	if fmt.Sprint(kinds) != "map[html:1 md:1 png:3 svg:3]" {
		t.Errorf("files of the kinds %v", kinds)
	}
	for _, f := range files[2:] {
		if strings.HasSuffix(f.Name, ".svg") && !strings.Contains(string(files[0].Content), "("+f.Name+")") {
			t.Errorf("the Markdown shows no %s", f.Name)
		}
	}
}

// checkXML reads a drawing, in which nothing but attributes says how it looks.
func checkXML(t *testing.T, f File) {
	t.Helper()
	dec := xml.NewDecoder(bytes.NewReader(f.Content))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		if start, ok := token.(xml.StartElement); ok {
			for _, a := range start.Attr {
				if a.Name.Local == "style" || strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s: attribute %s=%q", f.Name, a.Name.Local, a.Value)
				}
			}
		}
	}
}

// A report needs a clean commit, and figures that follow from the samples.
func TestReportRefuses(t *testing.T) {
	for _, tree := range []Tree{Dirty, UnknownTree} {
		c := sample(t)
		c.Environment.Tree = tree
		if _, err := NewReport(c, false); !errors.Is(err, ErrDirty) {
			t.Errorf("a tree that is %s: %v", tree, err)
		}
		if _, err := NewReport(c, true); err != nil {
			t.Errorf("a tree that may be %s: %v", tree, err)
		}
	}
	c := sample(t)
	c.Workloads[0].Series[0].Summary.Median /= 2
	if _, err := NewReport(c, true); err == nil || !strings.Contains(err.Error(), "the samples have") {
		t.Errorf("a median that does not follow: %v", err)
	}
}

func TestDistribution(t *testing.T) {
	c := sample(t)
	r := &Report{capture: c}
	d, err := r.Distribution(c.Workloads[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	svg, _ := d.Display().Data["image/svg+xml"].(string)
	for _, want := range []string{"slow written, 1 thread", "fast optimised, 2 threads", "time per run", "share of samples"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the drawing lacks %q", want)
		}
	}
	if _, err := r.Distribution("other"); err == nil || err.Error() != `the capture has no workload "other"` {
		t.Errorf("error %v", err)
	}
	c.Workloads[0].Series = []Series{{Label: Label{"a", Written, 1}, Error: "it broke"}}
	if _, err := r.Distribution(c.Workloads[0].Name); err == nil {
		t.Error("a distribution of nothing was drawn")
	}
}

// One line per series: whiskers, box, median.
func TestBoxes(t *testing.T) {
	w := Workload{Name: "w"}
	for i, times := range [][]float64{{1, 2, 3, 4, 5}, {3, 3, 3, 3, 3}} {
		s := Summarise(times)
		w.Series = append(w.Series, Series{Label: Label{"b", Written, i + 1}, Wall: times, Summary: &s})
	}
	want := ` b written, 1 thread |    │──────────[════════════┃═══════════]──────────│
b written, 2 threads |                            ┃
                     +--------------------------------------------------------
                       1 s          2 s          3 s         4 s          5 s
                      time per run
boxes from 25 to 75 % with the median, whiskers from 5 to 95 %
`
	if got := w.boxes(78); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestFormatTime(t *testing.T) {
	for x, want := range map[float64]string{0: "0 ns", 1.5e-9: "1.500 ns", 12.3456e-6: "12.35 µs", 0.5: "500.0 ms", 1234: "1234 s", 3e-12: "0.003000 ns"} {
		if got := formatTime(x); got != want {
			t.Errorf("%v is %q, want %q", x, got, want)
		}
	}
}

package capture

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"forgekernel/display"
	"forgekernel/display/chart"
)

// gaining is a sample whose candidates are one backend's, so that there is a gain.
func gaining(t *testing.T) *Capture {
	c := sample(t)
	w := &c.Workloads[0]
	w.Series[0].Label, w.Series[1].Label = Label{"a", Written, 1}, Label{"a", Optimised, 1}
	return c
}

// TestViews sees that whatever is derived from a capture carries it, says so, and is drawn
// again from it, the same.
func TestViews(t *testing.T) {
	c := gaining(t)
	r, err := NewReport(c, true)
	if err != nil {
		t.Fatal(err)
	}
	must := func(d display.Displayer, err error) display.Bundle {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return d.Display()
	}
	drawn := func(d Drawing, ok bool) display.Bundle {
		return must(d, map[bool]error{false: errors.New("not drawn")}[ok])
	}
	gain := func() (display.Displayer, error) { return r.Gain() }
	sides := func() (display.Displayer, error) { return r.Compare("a:written", "a:optimised") }
	compared := func() (display.Displayer, error) { return Compare(c, c) }
	agreed := func() (display.Displayer, error) { return Agree(c, c) }
	spread := func() (display.Displayer, error) { return r.Distribution(c.Workloads[0].Name) }
	samples := chart.ECDF("Samples", "time", chart.Seconds, chart.Sample{Name: "a", Values: c.Workloads[0].Series[0].Wall})
	sum, err := Hash(c)
	if err != nil {
		t.Fatal(err)
	}
	for name, shown := range map[string]display.Bundle{
		"":               r.Display(),
		ViewGain:         must(gain()),
		ViewSides:        must(sides()),
		ViewComparison:   must(compared()),
		ViewAgreement:    must(agreed()),
		ViewDistribution: must(spread()),
		ViewRoofline:     drawn(r.Roofline()),
		ViewOwn:          r.With(samples),
	} {
		packed, _ := shown.Data[MIMEType].([]byte)
		captures, err := Unpack(packed)
		if err != nil || !bytes.Equal(encode(t, captures[0]), encode(t, c)) {
			t.Errorf("view %q carries %v, %v", name, captures, err)
			continue
		}
		hints, _ := shown.Metadata[MIMEType].(map[string]any)
		view, sums := ReadView(hints)
		if view.Name != name || len(sums) != len(captures) || sums[0] != sum {
			t.Errorf("view %q is called %+v, of %v", name, view, sums)
		}
		if text, _ := shown.Data["text/plain"].(string); !strings.Contains(text, sum) {
			t.Errorf("view %q does not say what it follows from:\n%s", name, text)
		}
		again, err := view.Draw(captures...)
		if name == ViewOwn {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("somebody's own chart was drawn again: %v", err)
			}
			continue
		}
		if err != nil {
			t.Errorf("view %q: %v", name, err)
		}
		for mime, content := range shown.Data {
			if text, is := content.(string); is && again.Data[mime] != text {
				t.Errorf("view %q is drawn otherwise as %s", name, mime)
			}
		}
	}
}

func TestViewRefuses(t *testing.T) {
	c := gaining(t)
	for want, v := range map[string]View{
		`a view "gainful" of []`:                      {Name: "gainful"},
		`a view "sides" of ["a"]`:                     {Name: ViewSides, Of: []string{"a"}},
		`the capture has no workload "nothing"`:       {Name: ViewDistribution, Of: []string{"nothing"}},
		`a view "agreement" is of 2 captures, not of`: {Name: ViewAgreement},
	} {
		if _, err := v.Draw(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

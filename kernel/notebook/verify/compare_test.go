package verify

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"forgekernel/display"
	"forgekernel/kernel/notebook"
)

var standard = newComparison(Options{})

func TestLines(t *testing.T) {
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{"loss 0.12345678", "loss 0.12345679", true},
		{"loss 0.123", "loss 0.124", false},
		{"x = -1.000001", "x = -1.000002", true},
		{"x = -1.5", "x = 1.5", false},
		{"x = 1e-12", "x = -1e-12", true},
		{"[ 1.0000001 -2.0]", "[ 1.0 -2.0]", true},
		{"count 3", "count 4", false},
		{"1000000 rows", "1000001 rows", false},
		{"1e6 rows", "1000001.0 rows", true},
		{"f32[8,16]", "f32[8,16]", true},
		{"f32[8,16]", "f64[8,16]", false},
		{"v1.0000001", "v1.0000002", false},
		{"took 1.5 ms", "took 12.25µs", true},
		{"took 1m2.5s", "took 3s", true},
		{"took 1.5 ms", "took 1.5 mm", false},
		{"12.5 GFLOP/s on 4 cores", "9 GFLOP/s on 4 cores", true},
		{"12.5 GFLOP/s on 4 cores", "9 GFLOP/s on 8 cores", false},
		{"1000 it/s", "2 MiB/s", true},
		{"at 0xc000012345", "at 0xc000099999", true},
		{"code 0x10", "code 0x11", false},
		{"2026-11-29 21:00:00", "2025-01-02T03:04:05.678Z", true},
		{"Sun Nov 29 21:00:00 UTC 2026", "Mon Jan  2 15:04:05 UTC 2006", true},
		{"at 21:00:00", "at 9:05:01.5", true},
		{"goroutine 7 [running]", "goroutine 18 [running]", true},
		{"id 0193a7e0-1c2d-7abc-8def-0123456789ab", "id 0193a7e0-ffff-7abc-8def-0123456789ab", true},
		{"a    1.5 ms", "a 10.25 ms", true},
		{"├────────┤", "├───┤", true},
		{"\x1b[31mred\x1b[0m", "red", true},
		{"NaN", "NaN", true},
		{"NaN", "1.0", false},
		{"a", "b", false},
	} {
		if got := standard.line(c.want, c.got); got != c.same {
			t.Errorf("%q and %q: same is %v", c.want, c.got, got)
		}
	}
}

func TestText(t *testing.T) {
	if d := standard.text("stdout", "a\nb\n", "a\nb"); d != nil {
		t.Errorf("a final newline counts: %+v", d)
	}
	d := standard.text("stdout", "a\nb\nc", "a\nx\nc")
	if len(d) != 1 || d[0] != (Difference{Where: "stdout, line 2", Want: "b", Got: "x"}) {
		t.Errorf("one line: %+v", d)
	}
	d = standard.text("stdout", "a\nb\nc", "a\nx\ny\nc")
	if len(d) != 1 || d[0] != (Difference{"stdout, from line 2", "1 lines became 2", "b", "x\ny"}) {
		t.Errorf("a block: %+v", d)
	}
	d = standard.text("stdout", strings.Repeat("a\n", 50), strings.Repeat("b\n", 50))
	if len(d) != maxDifferences+1 || d[maxDifferences].Detail != "40 more lines differ" {
		t.Errorf("many lines: %+v", d)
	}
	d = standard.text("stdout", "", "hello")
	if len(d) != 1 || d[0].Got != "hello" {
		t.Errorf("something from nothing: %+v", d)
	}
}

func TestValues(t *testing.T) {
	parse := func(s string) any {
		t.Helper()
		dec := json.NewDecoder(strings.NewReader(s))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct{ want, got, where string }{
		{`{"a": [1, 2.0000001], "b": null, "c": true}`, `{"a": [1, 2.0], "b": null, "c": true}`, ""},
		{`{"a": [1, 2]}`, `{"a": [1, 3]}`, "x.a[1]"},
		{`{"a": 1}`, `{"b": 1}`, "x.a"},
		{`[1, 2]`, `[1]`, "x"},
		{`{"a": "took 3 ms"}`, `{"a": "took 4 ms"}`, ""},
		{`{"a": "b"}`, `{"a": 1}`, "x.a"},
		{`{"a": true}`, `{"a": false}`, "x.a"},
	} {
		d := standard.values("x", parse(c.want), parse(c.got))
		switch {
		case c.where == "" && d != nil:
			t.Errorf("%s and %s differ: %+v", c.want, c.got, d)
		case c.where != "" && (len(d) == 0 || d[0].Where != c.where):
			t.Errorf("%s and %s: %+v, want a difference at %s", c.want, c.got, d, c.where)
		}
	}
}

func picture(t *testing.T, w, h, dots int, shade uint8) string {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range dots {
		img.Set(i%w, i/w, color.NRGBA{shade, shade, shade, 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func TestImages(t *testing.T) {
	base := picture(t, 100, 100, 500, 100)
	for _, c := range []struct {
		name, got, detail string
	}{
		{"same", base[:10] + "\n" + base[10:], ""},
		{"slightly lighter", picture(t, 100, 100, 500, 110), ""},
		{"a few dots", picture(t, 100, 100, 508, 100), ""},
		{"many dots", picture(t, 100, 100, 600, 100), "1 % of the pixels differ"},
		{"another size", picture(t, 100, 50, 500, 100), "(100,100) pixels became (100,50)"},
		{"no image", "AAAA", "new image: image: unknown format"},
		{"no base64", "*", "new image: illegal base64"},
	} {
		d := standard.images("x", base, c.got)
		if c.detail == "" && d != nil || c.detail != "" && (len(d) != 1 || !strings.Contains(d[0].Detail, c.detail)) {
			t.Errorf("%s: %+v, want %q", c.name, d, c.detail)
		}
	}
}

func TestOutputs(t *testing.T) {
	text := func(s string) *notebook.Output {
		return &notebook.Output{Type: notebook.ExecuteResult, Data: map[string]any{"text/plain": s}}
	}
	print := func(name, s string) *notebook.Output {
		return &notebook.Output{Type: notebook.Stream, Name: name, Text: s}
	}
	failure := func(value string, traceback ...string) *notebook.Output {
		return &notebook.Output{Type: notebook.Error, ErrorName: "E", ErrorValue: value, Traceback: traceback}
	}
	meter := text("reading done in 2 s")
	meter.Metadata = map[string]any{display.ProgressMark: true}
	rich := text("x")
	rich.Data["image/svg+xml"] = `<svg><rect x="1.0000001"/></svg>`
	for _, c := range []struct {
		name      string
		want, got []*notebook.Output
		places    string
	}{
		{"interleaved", []*notebook.Output{print("stdout", "a\n"), print("stderr", "e"), print("stdout", "b\n")},
			[]*notebook.Output{print("stderr", "e"), print("stdout", "a\nb\n")}, ""},
		{"result", []*notebook.Output{text("1")}, []*notebook.Output{text("2")}, "output 1, text/plain"},
		{"gone", []*notebook.Output{text("1"), text("2")}, []*notebook.Output{text("1")}, "output 2"},
		{"meter", []*notebook.Output{text("1")}, []*notebook.Output{meter, text("1")}, ""},
		{"new", nil, []*notebook.Output{text("1")}, "output 1"},
		{"other kind", []*notebook.Output{text("1")}, []*notebook.Output{failure("v")}, "output 1"},
		{"trace", []*notebook.Output{failure("v", "line 1")}, []*notebook.Output{failure("v", "line 2")}, ""},
		{"message", []*notebook.Output{failure("v")}, []*notebook.Output{failure("w")}, "output 1, error message"},
		{"form", []*notebook.Output{rich}, []*notebook.Output{text("x")}, "output 1, image/svg+xml"},
		{"new form", []*notebook.Output{text("x")}, []*notebook.Output{rich}, "output 1, image/svg+xml"},
	} {
		var places []string
		for _, d := range standard.outputs(c.want, c.got) {
			places = append(places, d.Where)
		}
		if got := strings.Join(places, "; "); got != c.places {
			t.Errorf("%s: differences at %q, want %q", c.name, got, c.places)
		}
	}
}

func TestPrint(t *testing.T) {
	r := &Report{Verified: true, Notes: []string{"processor: a in the stored run, b here"}}
	r.add(CellReport{Index: 0, Run: 1, ID: "a", Status: Identical})
	r.add(CellReport{Index: 1, Run: 2, ID: "0123456789ab", Status: Within, Reason: "numbers are off by at most 1e-07 of their size"})
	if !r.Verified {
		t.Error("a tolerated cell leaves the report unverified")
	}
	r.add(CellReport{Index: 3, Run: 3, ID: "b", Status: Changed, Differences: []Difference{
		{Where: "stdout, line 3", Want: "x", Got: "y"}, {Where: "output 1", Detail: "is gone", Want: "p\nq"}}})
	r.add(CellReport{Index: 4, ID: "c", Status: NotRun})
	r.add(CellReport{Index: 5, ID: "d", Status: Skipped, Reason: "not compared: tagged timing"})
	r.add(CellReport{Index: 6, ID: "e", Status: Failed, Run: 4, Error: "E: v"})
	if r.Verified {
		t.Error("a changed cell leaves the report verified")
	}
	var b strings.Builder
	if err := r.Print(&b, 80); err != nil {
		t.Fatal(err)
	}
	const want = `processor: a in the stored run, b here
code cell  cell  id          outcome
        1     1  a           identical
        2     2  0123456789  within tolerance
                 numbers are off by at most 1e-07 of their size
        3     4  b           changed
  stdout, line 3
    - x
    + y
  output 1: is gone
    - p
    - q
        -     5  c           not run
        -     6  d           skipped           not compared: tagged timing
        4     7  e           failed            E: v
6 code cells: 1 identical, 1 within tolerance, 1 changed, 1 failed, 1 not run,
  1 skipped
`
	if b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
}

// What is tolerated is said, and what shows the same is identical.
func TestSlack(t *testing.T) {
	print := func(s string) []*notebook.Output {
		return []*notebook.Output{{Type: notebook.Stream, Name: "stdout", Text: s}}
	}
	for _, c := range []struct{ want, got, slack string }{
		{"x 1.0 took 3 ms", "x 1.000001 took 4 ms", "numbers are off by at most 1e-06 of their size"},
		{"took 3 ms", "took 4 ms", "times, dates or addresses differ"},
		{"x 0.0", "x 0.000000001", "small numbers are off by at most 1e-09"},
		{"x  1", "x 1", "the layout differs"},
		{"x\n", "x", "the layout differs"},
	} {
		cmp := newComparison(Options{})
		if d := cmp.outputs(print(c.want), print(c.got)); d != nil || cmp.slack() != c.slack {
			t.Errorf("%q and %q: %+v, %q", c.want, c.got, d, cmp.slack())
		}
		if identical(print(c.want), print(c.got)) || !identical(print(c.want), print(c.want)) {
			t.Errorf("%q and %q are taken for identical, or %q for another", c.want, c.got, c.want)
		}
	}
	split := append(print("a"), print("b")...)
	if !identical(print("ab"), split) {
		t.Error("the cuts of a stream count")
	}
}

func FuzzLine(f *testing.F) {
	f.Add("loss 0.5", "loss -0.5")
	f.Add("1h2m3.4s 12 GB/s 0xc000123456", "")
	f.Fuzz(func(t *testing.T, a, b string) {
		if !standard.line(a, a) {
			t.Errorf("%q differs from itself", a)
		}
		standard.line(a, b)
	})
}

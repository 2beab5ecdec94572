package replay

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
	"forgekernel/forge/tensor"
)

// layer is a linear layer with an activation, whose weights are numbered from
// first.
func layer(t *testing.T, first float64) *ir.Graph {
	t.Helper()
	b := ir.NewBuilder(op.Registry, "layer")
	x, err := b.Input("x", ir.F32(4, 32))
	if err != nil {
		t.Fatal(err)
	}
	w, err := tensor.Zeros(tensor.F32, 32, 16)
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.Len() {
		w.SetElem(i, first+float64(i))
	}
	c, err := b.Const(w)
	if err != nil {
		t.Fatal(err)
	}
	y, err := b.Apply("linear", nil, x, c)
	if err != nil {
		t.Fatal(err)
	}
	h, err := b.Apply("gelu", nil, y)
	if err != nil {
		t.Fatal(err)
	}
	z, err := b.Apply("softmax", nil, h)
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Finish(z)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func take(t *testing.T, g *ir.Graph, opts pass.Options) *Record {
	t.Helper()
	r, err := Take(g, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRoundTrip(t *testing.T) {
	r := take(t, layer(t, 0), pass.Options{})
	text := r.Text()
	back, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, r) {
		t.Errorf("the record changed on the way:\n%s\n%s", text, back.Text())
	}
	if !strings.Contains(text, "\n## fold-constants\n= trace\n") {
		t.Errorf("a pass that changed nothing repeats the program:\n%s", text)
	}
}

// The stage that alters a model is told from those that pass it on.
func TestCompareNamesThePass(t *testing.T) {
	old := take(t, layer(t, 0), pass.Options{})
	off := take(t, layer(t, 0), pass.Options{Disable: []string{"fuse-linear-activation"}})
	report := Compare([]*Record{old}, []*Record{off})
	if len(report) < 2 || report[0].Stage != "fuse-linear-activation" || !report[0].First || report[1].First {
		t.Fatalf("changes: %+v", report)
	}
	text := report.String()
	for _, want := range []string{
		"layer: fuse-linear-activation changed first, then fuse-residual",
		`-  %2: f32[4,16] = linear %x, %0 {act = "gelu"}`, "+  %2: f32[4,16] = gelu %1\n",
		"layer, move-views: the same difference\n",
		"-planned 256 bytes, 256 without reuse in place",
		"+planned 256 bytes, 512 without reuse in place",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
}

func TestCompareWeightsAndModels(t *testing.T) {
	old, new := take(t, layer(t, 0), pass.Options{}), take(t, layer(t, 1), pass.Options{})
	if report := Compare([]*Record{old}, []*Record{old}); len(report) != 0 || report.String() != "nothing changed\n" {
		t.Errorf("equal records differ: %v", report)
	}
	report := Compare([]*Record{old}, []*Record{new})
	if len(report) != 1 || report[0].Stage != Parameters {
		t.Errorf("other weights change %v", report)
	}
	other := *new
	other.Model = "other"
	report = Compare([]*Record{old}, []*Record{old, &other})
	if len(report) != 1 || report[0].Model != "other" || report[0].Diff != "it is new\n" {
		t.Errorf("a new model gives %v", report)
	}
}

func TestDirs(t *testing.T) {
	a, b := t.TempDir(), filepath.Join(t.TempDir(), "new")
	old, new := take(t, layer(t, 0), pass.Options{}), take(t, layer(t, 1), pass.Options{})
	for dir, r := range map[string]*Record{a: old, b: new} {
		if err := WriteDir(dir, []*Record{r}); err != nil {
			t.Fatal(err)
		}
	}
	report, err := CompareDirs(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if want := Compare([]*Record{old}, []*Record{new}); !reflect.DeepEqual(report, want) {
		t.Errorf("got %v, want %v", report, want)
	}
	for _, model := range []string{"", "../x", "a/b", "é"} {
		if err := WriteDir(a, []*Record{{Model: model}}); err == nil {
			t.Errorf("a model called %q was written", model)
		}
	}
	if _, err := CompareDirs(a, t.TempDir()); err == nil {
		t.Error("an empty directory has records")
	}
	if err := os.WriteFile(filepath.Join(a, "bad.record"), []byte("no record"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadDir(a); err == nil || !strings.Contains(err.Error(), "bad.record") {
		t.Errorf("a bad file: %v", err)
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "first line",
		"# ":                       "first line",
		"# ../m\n":                 "first line",
		"# m\ntext\n\n## a\nx\n":   "before the first section",
		"# m\n\n## \nx\n":          "no name",
		"# m\n\n## a":              "no name or no text",
		"# m\n\n## a\nx\n\n## a\n": "two sections",
		"# m\n\n## a\n= b\n":       "does not stand before",
		"# m\n\n## a\n= a\n":       "does not stand before",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// What parses can be written and read again.
func FuzzParse(f *testing.F) {
	f.Add("# m\n\n## a\nx\n\n## b\n= a\n")
	f.Add("# m\n\n## a\n\n\n## b\nx\n\n\n\n## c\n= a\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		back, err := Parse(r.Text())
		if err != nil || !reflect.DeepEqual(back, r) {
			t.Fatalf("%q: %v\n%q\n%q", text, err, r, back)
		}
	})
}

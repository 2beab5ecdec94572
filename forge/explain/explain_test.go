package explain_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"forgekernel/forge"
	"forgekernel/forge/explain"
	"forgekernel/forge/suite"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// explained compiles an example program.
func explained(t testing.TB, path string) *explain.Report {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := forge.Compile(string(data), forge.Named(filepath.Base(path)), forge.OnBackend("interp"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Explanation()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func programs(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("../../notebooks/programs/*.fs")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no example programs: %v", err)
	}
	return paths
}

func schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(explain.Schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("explain.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := compiler.Compile("explain.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The JSON form is as the schema says, for every example program and for one of
// several results.
func TestSchema(t *testing.T) {
	s := schema(t)
	check := func(name string, r *explain.Report) {
		t.Helper()
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, path := range programs(t) {
		check(path, explained(t, path))
	}
	p, err := forge.Compile("def f(x: f32[4,6]): return transpose(reshape(x, 6, 4)), x, 2.5\n", forge.OnBackend("interp"))
	if err != nil {
		t.Fatal(err)
	}
	check("tuple", p.Explain())
	for _, name := range suite.Names() {
		g, err := suite.Build(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := forge.FromGraph(g, forge.Named("suite"))
		if err != nil {
			t.Fatal(err)
		}
		r := p.Explain()
		check(name, r)
		if page := r.HTML(); len(page) > 1<<20 {
			t.Errorf("the page of %s has %d bytes", name, len(page))
		}
	}
}

// The schema is not so wide that it accepts something else.
func TestSchemaRefuses(t *testing.T) {
	s := schema(t)
	data, err := json.Marshal(explained(t, programs(t)[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{`"version":1`, `"version":2`},
		{`"format":"forge.explain"`, `"format":"forge.ir"`},
		{`"program":`, `"programme":`},
		{`"flops":`, `"flops":-`},
		{`"action":"applied"`, `"action":"perhaps"`},
		{`"dtype":"f32"`, `"dtype":"f32","data":"AAAA"`},
	} {
		broken := strings.Replace(string(data), c[0], c[1], 1)
		if broken == string(data) {
			t.Errorf("the report lacks %s", c[0])
			continue
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(broken))
		if err == nil && s.Validate(doc) == nil {
			t.Errorf("the schema accepts %s", c[1])
		}
	}
}

// No form but the listing that a person reads holds elements of constants, and
// that one only of small ones.
func TestNoTensorValues(t *testing.T) {
	large := forge.Randn(64)
	large.Set(12345.675, 3)
	r := constantProgram(t, large)
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string]string{"JSON": string(data), "text": r.Text(false), "HTML": r.HTML(), "Mermaid": r.Mermaid()} {
		if strings.Contains(text, "12345") {
			t.Errorf("the %s form holds an element of a constant", form)
		}
	}
	small := forge.Full(54321.5)
	if data, _ := json.Marshal(constantProgram(t, small)); strings.Contains(string(data), "54321") {
		t.Error("the JSON form holds a small constant")
	}
}

// TestText compares the form for terminals with golden files, for a program that
// is improved and one that is not. After a deliberate
// change, run the test with -update and read the difference.
func TestText(t *testing.T) {
	for _, name := range []string{"mlp", "softmax"} {
		got := explained(t, filepath.Join("../../notebooks/programs", name+".fs")).Text(false)
		golden := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", golden, got, want)
		}
	}
}

// The form for terminals has as many columns as the terminal, but for names that cannot
// be broken.
func TestTextFits(t *testing.T) {
	for _, path := range programs(t) {
		r := explained(t, path)
		if r.TextWithin(80, false) != r.Text(false) {
			t.Error("80 columns are not what is usual")
		}
		for _, width := range []int{60, 80, 120} {
			for line := range strings.SplitSeq(r.TextWithin(width, false), "\n") {
				if n := utf8.RuneCountInString(line); n > width && !strings.HasPrefix(line, "  input ") {
					t.Errorf("%s: a line of %d within %d: %s", path, n, width, line)
				}
			}
		}
	}
}

// Colours change nothing but colours.
func TestTextColours(t *testing.T) {
	r := explained(t, programs(t)[0])
	coloured, plain := r.Text(true), r.Text(false)
	if !strings.Contains(coloured, "\x1b[") || strings.Contains(plain, "\x1b") {
		t.Error("colours are where they should not be, or not where they should")
	}
	for _, attribute := range []string{"0", "1", "2", "32", "33"} {
		coloured = strings.ReplaceAll(coloured, "\x1b["+attribute+"m", "")
	}
	if coloured != plain {
		t.Errorf("without colours\n%s\nplain\n%s", coloured, plain)
	}
}

func TestMermaid(t *testing.T) {
	if text := explained(t, programs(t)[0]).Mermaid(); !strings.Contains(text, "flowchart TD\n") || !strings.Contains(text, "n0 --> n") {
		t.Errorf("got\n%s", text)
	}
}

package script

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestText holds the problems that a chunk file cannot hold, because the
// expectation on the line would change them.
func TestText(t *testing.T) {
	const body = "\n    return x\n"
	for _, c := range []struct {
		name, source string
		line, col    int // 0 when the source is right
		message      string
	}{
		{"carriage returns", "def f(x):\r\n    y = (x +\r\n    1)\r\n    return y\r\n", 0, 0, ""},
		{"byte order mark", "\ufeffdef f(x):" + body, 0, 0, ""},
		{"no final newline", "def f(x):\n    return x", 0, 0, ""},
		{"tab in a comment", "# a\tb\ndef f(x):" + body, 0, 0, ""},
		{"one line", "def f(x): return x", 0, 0, ""},
		{"backslash in a docstring", "def f(x):\n    '''a\\' ' b'''" + body, 0, 0, ""},
		{"tab indentation", "def f(x):\n\treturn x\n", 2, 1, "does not allow tabs"},
		{"tab between tokens", "def f(x):\n    return\tx\n", 2, 11, "does not allow tabs"},
		{"lone carriage return", "def f(x):\r    return x\n", 1, 10, "carriage return stands alone"},
		{"invalid UTF-8", "def f(x):\n    return x + \xff\n", 2, 16, "byte 0xff is not valid UTF-8"},
		{"invalid UTF-8 in a comment", "def f(x): # \xc3(" + body, 1, 13, "byte 0xc3 is not valid UTF-8"},
		{"invalid UTF-8 in a docstring", "def f(x):\n    'a\xfe'" + body, 2, 7, "byte 0xfe is not valid UTF-8"},
		{"column after wide characters", "def f(x):\n    return (x × 2)\n", 2, 15, "not an operator"},
		{"no-break space", "def f(x):\n    return\u00a0x\n", 2, 11, "U+00A0 is not a plain space"},
		{"control character", "def f(x):\n    return x\x00\n", 2, 13, "has no meaning"},
		{"backslash at the line end", "def f(x):\n    return x + \\\n        x\n", 2, 16, "does not continue a line"},
		{"backslash elsewhere", "def f(x):\n    return x \\ x\n", 2, 14, "a backslash has no meaning"},
		{"open string", "def f(x):\n    'doc" + body, 2, 5, "string is never closed"},
		{"open docstring", "def f(x):\n    \"\"\"doc" + body, 2, 5, "string is never closed"},
		{"empty", "", 1, 1, "there is no function here"},
		{"only comments", "# nothing\n\n", 1, 1, "there is no function here"},
		{"long name", "def f(" + strings.Repeat("x", 65) + "):" + body, 1, 7, "name has 65 characters"},
		{"deep parentheses", "def f(x):\n    return " + strings.Repeat("(", 101) + "x" + strings.Repeat(")", 101), 2, 112, "nested more than 100 levels"},
		{"deep calls", "def f(x):\n    return " + strings.Repeat("exp(", 101) + "x" + strings.Repeat(")", 101), 2, 415, "nested more than 100 levels"},
		{"deep minus", "def f(x):\n    return " + strings.Repeat("-", 101) + "x", 2, 112, "nested more than 100 levels"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("text.fs", c.source, nil, Limits{})
			if c.line == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			errs, _ := err.(Errors)
			if len(errs) != 1 {
				t.Fatalf("got %d errors, want 1: %v", len(errs), err)
			}
			if d := errs[0]; d.Line != c.line || d.Col != c.col || !strings.Contains(d.Message, c.message) {
				t.Errorf("got %v, want %d:%d: …%s…", d, c.line, c.col, c.message)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	long := "def f(x):\n    return x" + strings.Repeat(" + x", 16_000) + "\n"
	if file, err := Parse("long.fs", long, nil, Limits{}); err != nil {
		t.Errorf("a sum of 16,000 terms: %v", err)
	} else if g, err := file.Funcs[0].Trace(nil, scalars(1)); err != nil || len(g.Graph.Nodes) != 16_000 {
		t.Errorf("tracing a sum of 16,000 terms: %v", err)
	}
	_, err := Parse("big.fs", long+strings.Repeat("#", MaxSource), nil, Limits{})
	if err == nil || !strings.Contains(err.Error(), "the limit is 65536") {
		t.Errorf("a source beyond the limit: %v", err)
	}
	_, err = Parse("big.fs", long, nil, Limits{Source: 100})
	if err == nil || !strings.Contains(err.Error(), "the limit is 100") {
		t.Errorf("a source beyond a smaller limit: %v", err)
	}
	errs, _ := parseErr(strings.Repeat("x\n", 50)).(Errors)
	if len(errs) != MaxErrors || len(errs[MaxErrors-1].Notes) != 1 {
		t.Errorf("50 wrong lines give %d errors: %v", len(errs), errs)
	}
}

// Functions that call one another twice double the graph at each level.
func TestExponentialInlining(t *testing.T) {
	var b strings.Builder
	b.WriteString("def f0(x):\n    return x + 1\n")
	for i := 1; i <= 40; i++ {
		fmt.Fprintf(&b, "def f%d(x):\n    return f%d(x) * f%d(x)\n", i, i-1, i-1)
	}
	file, err := Parse("deep.fs", b.String(), nil, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.Funcs[40].Trace(nil, scalars(1))
	if err == nil || !strings.Contains(err.Error(), "more than 16384 operations") {
		t.Errorf("2^40 operations: %v", err)
	}
}

func TestDocumentation(t *testing.T) {
	file, err := Parse("doc.fs", "def f(x: f32[2,3], y: f32[3]) -> f32:\n    \"\"\"First line.\n\n      Indented,\n        more.\n    \"\"\"\n    return sum(x + y)\n\ndef g(z): return (z)\n", nil, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	f := file.Funcs[0]
	if want := "First line.\n\nIndented,\n  more."; f.Doc != want {
		t.Errorf("Doc is %q, want %q", f.Doc, want)
	}
	if want := "f(x: f32[2,3], y: f32[3]) -> f32"; f.Signature() != want {
		t.Errorf("Signature is %q, want %q", f.Signature(), want)
	}
	if want := "def g(z): return (z)"; file.Funcs[1].Source() != want {
		t.Errorf("Source is %q, want %q", file.Funcs[1].Source(), want)
	}
	again, err := Parse("doc.fs", f.Source(), nil, Limits{})
	if err != nil || again.Funcs[0].Doc != f.Doc {
		t.Errorf("the function's own source: %v", err)
	}
}

func TestErrorsDisplay(t *testing.T) {
	errs := parseErr("def f(x):\n    y = x ** 2\n    return y % 3\n").(Errors)
	bundle := errs.Display()
	for _, form := range []string{bundle.Data["text/plain"].(string), bundle.Data["text/html"].(string), strings.Join(errs.Traceback(), "\n"), errs.Error()} {
		if !strings.Contains(form, "no power operator") || !strings.Contains(form, "no remainder") {
			t.Errorf("a form lacks one of two errors:\n%s", form)
		}
	}
	if want := "test.fs:2:11: ForgeScript has no power operator"; !strings.HasPrefix(errs.Error(), want) {
		t.Errorf("got %q, want %q…", errs.Error(), want)
	}
}

func parseErr(source string) error {
	_, err := Parse("test.fs", source, nil, Limits{})
	return err
}

// FuzzParse checks that no source makes the parser panic or hang, and that
// every error points into the source and says something.
func FuzzParse(f *testing.F) {
	for _, source := range chunks(f) {
		f.Add(source)
	}
	f.Add("def f(x):\n    return " + strings.Repeat("(-", 300))
	f.Add("def f(x):\r\n\t'''\\")
	f.Add("\ufeff\xffdef")
	f.Fuzz(func(t *testing.T, source string) {
		file, err := Parse("fuzz.fs", source, nil, Limits{})
		if err == nil {
			checkTree(t, file)
			return
		}
		lines := strings.Split(strings.TrimPrefix(source, "\ufeff"), "\n")
		for _, d := range err.(Errors) {
			if d.Line == 0 && len(source) > MaxSource {
				continue
			}
			if d.Line < 1 || d.Line > len(lines) || d.Message == "" {
				t.Fatalf("line %d of %d: %v", d.Line, len(lines), d)
			}
			width := utf8.RuneCountInString(strings.TrimSuffix(lines[d.Line-1], "\r"))
			if d.Col < 1 || d.Col > width+2 || d.EndCol <= d.Col || d.EndCol > width+3 {
				t.Fatalf("columns %d-%d of a line of %d: %v", d.Col, d.EndCol, width, d)
			}
		}
	})
}

// checkTree checks that the text of each function is that function again.
func checkTree(t *testing.T, file *File) {
	for _, f := range file.Funcs {
		again, r := parse("again.fs", f.Source(), file.limits)
		if err := r.err(); err != nil || len(again.Funcs) != 1 {
			t.Fatalf("source %q: %v", f.Source(), err)
		}
		if g := again.Funcs[0]; g.Signature() != f.Signature() || g.Doc != f.Doc || len(g.Body) != len(f.Body) {
			t.Fatalf("source %q gives %s", f.Source(), g.Signature())
		}
	}
}

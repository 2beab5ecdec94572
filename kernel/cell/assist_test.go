package cell

import (
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"forgekernel/display"
	"forgekernel/kernel/link"
)

// In the codes below ‸ is the cursor.
const caret = "‸"

func cursorIn(t *testing.T, marked string) (code string, cursor int) {
	t.Helper()
	before, after, found := strings.Cut(marked, caret)
	if !found {
		t.Fatalf("%q has no cursor", marked)
	}
	return before + after, utf8.RuneCountInString(before)
}

func TestComplete(t *testing.T) {
	n := newNotebook(t)
	t.Chdir(t.TempDir())
	for _, name := range []string{"data one.txt", "data two.txt", ".hidden", "é.txt"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("deep", 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FORGE_COMPLETE_ME", "1")
	n.ok(t, `alpha, beta, counts := 1, 2, map[string]int{"key": 1, "été": 2}`)
	for _, c := range []struct{ code, want string }{
		{"%ti‸", "‸%ti: %time %%time"},
		{"%%‸", "‸%%: %%forge %%go %%bash %%writefile %%time %%gobuild"},
		{"!true\n%ti‸", "‸%ti: %time"},
		{"x := 1\n%wh‸", "‸%wh: %who"},
		{"%reset -‸", "‸-: -f"},
		{"%%forge --sh‸\ndef f(x):", "‸--sh: --shapes --show"},
		{"%%forge --show che‸\ndef f(x):", "‸che: check"},
		{"%%forge --show ir,gr‸", "‸gr: graph"},
		{"%load da‸", `‸da: data\ one.txt data\ two.txt`},
		{`%load data\ o‸`, `‸data\ o: data\ one.txt`},
		{"%load .‸", "‸.: .hidden"},
		{"%cd ./de‸", "‸de: deep/"},
		{"%%writefile é‸", "‸é: é.txt"},
		{"!cat é‸ | wc", "‸é: é.txt"},
		{"!nohu‸", "‸nohu: nohup"},
		{"%%bash\necho one\ncat de‸", "‸de: deep/"},
		{"%%writefile x\nde‸", "nothing"},
		{"%config out‸", "‸out: output_limit="},
		{"%env FORGE_COMPLETE_‸", "‸FORGE_COMPLETE_: FORGE_COMPLETE_ME"},
		{"%nope x‸", "nothing"},
		{"%config show‸", "‸show: show="},
		{"%goroutines ‸", "‸: stop"},
		{"%goroutines stop ‸", "nothing"},
		{"%debug ‸", "nothing"},
		{"%who al‸", "‸al: alpha"},
		{"%who alpha be‸", "nothing"},
		{"os.Open(\"./data‸\")", "‸data: data one.txt data two.txt"},
		{"os.Open(\"./data o‸ne.txt\")", "‸data one.txt: data one.txt"},
		{"é := os.DirFS(\"./de‸", "‸de: deep/"},
		{"fmt.Println(\"data‸", "nothing"},
		{"m := \"./nosuch/‸\"", "nothing"},
		{"counts[\"k‸\"]", "‸k: key"},
		{"!true\ncounts[\"é‸", "‸é: été\"]"},
		{"def f(x):\n    return x.soft‸", "‸soft: softmax"},
		{"# é\n\ndef f(größe):\n    return softm‸(x)", "‸softm: softmax"},
		{"%%time\ndef f(x):\n    return softm‸", "‸softm: softmax"},
		{"!true\n\n# c\ndef f(x):\n    return softm‸", "‸softm: softmax"},
		{"strings.ToUpperS‸", "‸ToUpperS: ToUpperSpecial"},
		{"!true\n// größer\ny := strings.ToUpperS‸pecial", "‸ToUpperSpecial: ToUpperSpecial"},
		{"%time strings.ToUpperS‸", "‸ToUpperS: ToUpperSpecial"},
		{"!true\n%time  \"é\" + strings.ToUpperS‸", "‸ToUpperS: ToUpperSpecial"},
		{"?strings.ToUpperS‸", "‸ToUpperS: ToUpperSpecial"},
		{"%%go\nstrings.ToUpperS‸", "‸ToUpperS: ToUpperSpecial"},
	} {
		code, cursor := cursorIn(t, c.code)
		if got := completions(code, cursor, n.Complete(code, cursor)); got != c.want {
			t.Errorf("%s: %s; want %s", c.code, got, c.want)
		}
	}
}

// completions writes a reply as "‸replaced text: match match".
func completions(code string, cursor int, r link.CompleteReply) string {
	if len(r.Matches) == 0 {
		return "nothing"
	}
	points := []rune(code)
	words := []string{"‸" + string(points[r.Start:r.End]) + ":"}
	for _, m := range r.Matches {
		words = append(words, m.Text)
	}
	return strings.Join(words, " ")
}

func TestInspect(t *testing.T) {
	n := newNotebook(t)
	n.ok(t, "def layer(x: f32[2]):\n    return relu(x)")
	n.ok(t, "x := forge.Ones(2)")
	for _, c := range []struct{ code, want string }{
		{"%ti‸me x", "%time EXPRESSION"},
		{"%%ba‸sh", "%%bash [ARGUMENTS]"},
		{"%%bash?‸", "%%bash [ARGUMENTS]"},
		{"def f(x):\n    return soft‸max(x)", "softmax(x, axis=-1)"},
		{"%%forge\ndef f(x):\n    return relu‸(x)", "relu(x)"},
		{"!true\nfmt.Print‸ln(1)", "func Println(a ...any)"},
		{"%%time\nfmt.Print‸ln(1)", "func Println(a ...any)"},
		// In a call it is the function that is called, unless a known name is touched.
		{"fmt.Println(‸)", "func Println(a ...any)"},
		{"layer(‸", "layer(x: f32[2])"},
		{"y := layer(‸)\nfmt.Println(y)", "layer(x: f32[2])"},
		{"layer.Bench(‸x)", "var x *forge.Tensor"},
		{"layer.Bench( ‸)", "func (f Function) Bench("},
		{"x.At(‸)", "func (t *Tensor) At("},
		{"%time layer(‸)", "layer(x: f32[2])"},
		{"%time lay‸er(x)", "layer(x: f32[2])"},
		{"%tim‸e layer(x)", "%time EXPRESSION"},
		{"%time 1 ‸", "%time EXPRESSION"},
		{"%load ‸", "%load FILE"},
		{"%%go\nlayer(‸)", "layer(x: f32[2])"},
		{"def f(x):\n    return layer(‸x)", "layer(x: f32[2])"},
		{"def f(x):\n    return x.softmax(axis=‸)", "softmax(x, axis=-1)"},
		{"def f(x):\n    return relu(layer(x), ‸)", "relu(x)"},
		{"def f(größe):\n    return relu(größ‸e)", "relu(x)"},
		{"(1 + ‸2)", ""},
		{"!l‸s", ""},
		{"%nope‸", ""},
		{"%%writefile x\ndef relu‸", ""},
		{"x‸", "var x *forge.Tensor\n\nValue: f32[2] 1 1\n\nMethods: "},
		{"app‸end(", "func append(slice []Type, elems ...Type) []Type\n\nThe append"},
		{"de‸fer f()", "defer f(x)\n\nCalls f when"},
	} {
		code, cursor := cursorIn(t, c.code)
		r := n.Inspect(code, cursor, 0)
		text, _ := r.Data["text/plain"].(string)
		if r.Found != (c.want != "") || !strings.HasPrefix(text, c.want) {
			t.Errorf("%s: found %v, %q; want %q", c.code, r.Found, text, c.want)
		}
	}
}

// A ForgeScript function is a Go value, whose help lists what it can do.
func TestHelpListsMethods(t *testing.T) {
	n := newNotebook(t)
	n.ok(t, "def layer(x: f32[2]):\n    return relu(x)")
	for code, want := range map[string]string{
		"layer?":          "layer(x: f32[2])\n\nMethods: Adopt, All, Audit, Bench, ",
		"layer??":         "\n    Bench(args ...*forge.Tensor) *forge.Benchmark\n",
		"forge.Function?": "\n\nMethods: Adopt, All, Audit, Bench, ",
		"layer.Bench?":    "func (f Function) Bench(args ...*Tensor) *Benchmark\n",
	} {
		_, out, failure := n.run(t, code)
		if failure != nil || len(out.Payload) != 1 {
			t.Fatalf("%s: %v, %v", code, out, failure)
		}
		text, _ := out.Payload[0].Data["text/plain"].(string)
		if !strings.Contains(text, want) {
			t.Errorf("%s says %q, want …%q…", code, text, want)
		}
		for line := range strings.Lines(text) {
			if code == "layer?" && len(line) > textWidth+1 {
				t.Errorf("%s has a line of %d columns", code, len(line)-1)
			}
		}
	}
}

// Help has no lines wider than a pager, whatever a text was written with.
func TestHelpIsFolded(t *testing.T) {
	n := newNotebook(t)
	for _, code := range []string{"max?", "fmt?", "for?", "%bash?"} {
		_, out, failure := n.run(t, code)
		if failure != nil || len(out.Payload) != 1 {
			t.Fatalf("%s: %v, %v", code, out, failure)
		}
		text, _ := out.Payload[0].Data["text/plain"].(string)
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(line) > textWidth+3 {
				t.Errorf("%s has the line %q", code, line)
			}
		}
	}
	if got := folded("  " + strings.Repeat("word ", 20) + "\n\nnext\tline"); got != "  "+strings.Repeat("word ", 14)+"word\n  word word word word word\n\nnext\tline" {
		t.Errorf("%q", got)
	}
}

func TestIsComplete(t *testing.T) {
	n := newNotebook(t)
	for _, c := range []struct{ code, status string }{
		{"", "complete"},
		{"%who", "complete"},
		{"!ls -l", "complete"},
		{"!ls \\", "incomplete"},
		{"!ls \\\n-l", "complete"},
		{"name?", "complete"},
		{"%%bash", "incomplete"},
		{"%%bash\nls", "incomplete"},
		{"%%bash\nls\n", "complete"},
		{"%%nope\nls", "invalid"},
		{"%%who\nls", "invalid"},
		{"%%time", "incomplete"},
		{"%%time\n%who", "complete"},
		{"def f(x):", "incomplete"},
		{"def f(x):\n    return x", "complete"},
		{"%%time\ndef f(x):", "incomplete"},
		{"def f(x) return", "invalid"},
		{"x := 1", "complete"},
		{"!true\nfunc f() {", "incomplete"},
		{"%%go\nfunc f() {", "incomplete"},
		{"func func", "invalid"},
	} {
		if r := n.IsComplete(c.code); r.Status != c.status {
			t.Errorf("%q: %s, want %s", c.code, r.Status, c.status)
		}
	}
}

// FuzzAssist asks for everything that a client may ask about a cell at every
// kind of position.
func FuzzAssist(f *testing.F) {
	for _, s := range []string{"%ti", "%%forge --show ir,", "!ls \\\nx", "a?\n\n??b", "%%time\n%%go\nfmt.Pri", "def f(é):\n  return x.", "%load ~/", "\x00\xff%", "%time é"} {
		f.Add(s, len(s)/2, 1)
		f.Add(s, len(s), 0)
	}
	for _, s := range nasty {
		for cursor := range 4 {
			f.Add(s, cursor*len(s)/3, 1)
		}
	}
	in, err := New(Options{
		Writer: func(uint64, string) io.Writer { return io.Discard },
		Sink:   func(uint64) display.Sink { return nil },
	})
	if err != nil {
		f.Fatal(err)
	}
	out := in.Run(f.Context(), Cell{Name: "cell 1", Code: "m := map[string]int{\"a\": 1, \"é\": 2, \"\\xff\": 3}\ntype T struct{ a int; next *T }\nx := T{}"})
	if out.Err != nil {
		f.Fatal(out.Err)
	}
	f.Fuzz(func(t *testing.T, code string, cursor, detail int) {
		checkCompletion(t, code, cursor, in.Complete(code, cursor))
		in.Inspect(code, cursor, detail)
		if s := in.IsComplete(code).Status; s != "complete" && s != "incomplete" && s != "invalid" && s != "unknown" {
			t.Fatalf("is_complete of %q: %q", code, s)
		}
	})
}

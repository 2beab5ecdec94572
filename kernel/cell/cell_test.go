package cell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"forgekernel/display"
	"forgekernel/kernel/link"
)

// notebook is an Interp whose surroundings keep everything.
type notebook struct {
	*Interp
	mu       sync.Mutex
	printed  bytes.Buffer // stdout and stderr
	shown    []string     // text of displays
	answers  []string     // to questions
	settings link.Settings
	cells    int
}

func newNotebook(t *testing.T) *notebook {
	t.Helper()
	n := &notebook{}
	in, err := New(Options{
		Writer: func(uint64, string) io.Writer { return n },
		Sink:   func(uint64) display.Sink { return n },
		Stdin: func(_ context.Context, prompt string, _ bool) (string, error) {
			if len(n.answers) == 0 {
				return "", errors.New("nobody is there")
			}
			answer := n.answers[0]
			n.answers = n.answers[1:]
			return answer, nil
		},
		Async:    func(_ uint64, err error) { fmt.Fprintln(n, err) },
		Settings: n,
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Interp = in
	t.Cleanup(in.Close)
	return n
}

func (n *notebook) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.printed.Write(p)
}

func (n *notebook) Show(o display.Output) error {
	text, _ := o.Bundle.Data["text/plain"].(string)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.shown = append(n.shown, text)
	return nil
}

func (n *notebook) Clear(bool) error { return nil }

func (n *notebook) Current() link.Settings { return n.settings }

func (n *notebook) Change(s link.Settings) error {
	if s.OutputLimit != nil {
		n.settings.OutputLimit = s.OutputLimit
	}
	if s.MemoryLimit != nil {
		n.settings.MemoryLimit = s.MemoryLimit
	}
	return nil
}

// run runs a cell and returns what it printed, its outcome and its error in
// Jupyter's terms, if it has one.
func (n *notebook) run(t *testing.T, code string) (printed string, out Outcome, failure *link.Error) {
	t.Helper()
	n.cells++
	n.printed.Reset()
	n.shown = nil
	out = n.Run(t.Context(), Cell{ID: uint64(n.cells), Name: fmt.Sprintf("cell %d", n.cells), Code: code})
	if out.Err != nil {
		failure = Describe(out.Err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.printed.String(), out, failure
}

// ok runs a cell that must succeed and returns what it printed and its result
// as text.
func (n *notebook) ok(t *testing.T, code string) (printed, result string) {
	t.Helper()
	printed, out, failure := n.run(t, code)
	if failure != nil {
		t.Fatalf("%q failed: %s", code, strings.Join(failure.Traceback, "\n"))
	}
	if out.Result != nil {
		result, _ = out.Result.Data["text/plain"].(string)
	}
	return printed, result
}

// Errors of directives say what was wrong and, where that helps, what to write.
func TestDirectiveErrors(t *testing.T) {
	n := newNotebook(t)
	for _, c := range []struct{ code, name, value, hint string }{
		{"%tme x", "UsageError", "there is no magic tme", "did you mean %time? %lsmagic lists all"},
		{"%pip install numpy", "UsageError", "there is no magic pip", "there is no Python here; !pip reaches the machine's own, and %goget fetches modules of Go"},
		{"%timeit 1+1", "UsageError", "there is no magic timeit", "write %time EXPRESSION, or f.Bench(x)"},
		{"%history", "UsageError", "there is no magic history", "the notebook keeps its cells"},
		{"%load_ext autoreload", "UsageError", "there is no magic load_ext", "its extensions do not load"},
		{"%whos", "UsageError", "there is no magic whos", "write %who"},
		{"!!ls", "UsageError", "one exclamation mark runs a command", "write !ls; in Go"},

		{"%%python\nprint()", "UsageError", "there is no magic python", "there is no Python here: cells are ForgeScript or Go, and !python3 FILE runs a script"},
		{"%matplotlib inline", "UsageError", "there is no magic matplotlib", "there is no Python here: package chart draws plots"},
		{"%foo", "UsageError", "there is no magic foo", "%lsmagic lists all"},
		{"%time\ndef f(x):\n    return x", "UsageError", "there is nothing to time", "%%time on the first line"},
		{"%config outputlimit=3", "UsageError", "\"outputlimit=3\" is not a setting with a value", "%config NAME to show"},
		{"%config show output_limit", "UsageError", "\"show\" is not a setting with a value", ""},
		{"%%wrtiefile x\ny", "UsageError", "there is no magic wrtiefile", "%%writefile"},
		{"%bash ls", "UsageError", "bash is for whole cells", "%%bash on the first line"},
		{"%%who\nx", "UsageError", "who is not for whole cells", "%who"},
		{"!true\n%%bash\nls", "UsageError", "%%bash must be the first line", ""},
		{"%load", "UsageError", "got 0 arguments, want FILE [NAME]", "usage: %load FILE [NAME]"},
		{"%who a b", "UsageError", "got 2 arguments, want [PREFIX]", ""},
		{"%goroutines stop 999", "UsageError", "there is no goroutine 999", "%goroutines lists them"},
		{"%goroutines end 1", "UsageError", "%goroutines takes nothing or stop and a number", "usage: %goroutines [stop NUMBER]"},
		{"%jobs now", "UsageError", "got 1 arguments, want none", ""},
		{"%reset --force", "UsageError", "there is no flag --force; there are -f", "usage: %reset [-f]"},
		{"%reset -f=1", "UsageError", "flag -f takes no value", ""},
		{"%reset -f -f", "UsageError", "flag -f is given twice", ""},
		{"%load 'a", "UsageError", "a quote ' is not closed", ""},
		{"%%forge --shapes\ndef f(x):\n    return x", "UsageError", "flag -shapes needs a value", ""},
		{"%%forge --shapes 8y3\ndef f(x):\n    return x", "UsageError", `"8y3" is not a shape`, "8x16"},
		{"%%forge --show colours\ndef f(x):\n    return x", "UsageError", `no view "colours"`, ""},
		{"%%forge --threads 0\ndef f(x):\n    return x", "UsageError", `"0" is not a number from 1 to 1024`, ""},
		{"%%forge --threads two\ndef f(x):\n    return x", "UsageError", `"two" is not a number from 1 to 1024`, ""},
		{"%%forge --shapes 3", "UsageError", "the cell defines nothing", "def"},
		{"%time", "UsageError", "there is nothing to time", "%time EXPRESSION"},
		{"%%time now\n!true", "UsageError", "%%time takes no arguments", ""},
		{"!", "UsageError", "there is no command", "!ls"},
		{"!exit 7", "CommandError", "exit status 7", ""},
		{"%%bash 'x\ntrue", "UsageError", "quote ' is not closed", ""},
		{"%cd /no/such/directory", "UsageError", "no such file or directory", ""},
		{"%env FORGE_TEST_NO_SUCH", "UsageError", "the environment has no FORGE_TEST_NO_SUCH", "NAME=VALUE"},
		{"%env =3", "UsageError", "cannot be a variable", ""},
		{"%config output", "UsageError", `"output" is not a setting with a value`, "output_limit, memory_limit"},
		{"%config color=red", "UsageError", `"color=red" is not a setting with a value`, ""},
		{"%config output_limit=lots", "UsageError", `"lots" is not a number of bytes`, ""},
		{"no_such_name?", "UsageError", "nothing is called no_such_name", ""},
		{"%nothing?", "UsageError", "nothing is called %nothing", ""},
		{"%reset", "UsageError", "nobody is there", "-f"},
	} {
		_, out, e := n.run(t, c.code)
		if e == nil {
			t.Errorf("%q succeeded", c.code)
			continue
		}
		trace := strings.Join(e.Traceback, "\n")
		if e.Name != c.name || !strings.Contains(e.Value, c.value) || !strings.Contains(trace, c.hint) || out.Result != nil {
			t.Errorf("%q: %s: %s\n%s\nwant %s: %s with %q", c.code, e.Name, e.Value, trace, c.name, c.value, c.hint)
		}
	}
}

// A directive that fails ends its cell; those before it have run.
func TestFirstFailureEndsCell(t *testing.T) {
	n := newNotebook(t)
	printed, _, failure := n.run(t, "!echo one\n!false\n!echo two")
	if printed != "one\n" || failure == nil {
		t.Errorf("printed %q, error %v", printed, failure)
	}
}

func TestErrorPosition(t *testing.T) {
	n := newNotebook(t)
	_, out, _ := n.run(t, "\n!true\n%nope now\n")
	var usage *UsageError
	if !errors.As(out.Err, &usage) || usage.Line != 3 || usage.Col != 1 || usage.Text != "%nope now" || usage.Source != "cell 1" {
		t.Errorf("error %+v", usage)
	}
}

func TestEnvironment(t *testing.T) {
	n := newNotebook(t)
	t.Setenv("FORGE_TEST", "old")
	t.Chdir(t.TempDir())
	if err := os.Mkdir("a b", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, result := n.ok(t, "%env FORGE_TEST"); result != "old" {
		t.Errorf("%%env shows %q", result)
	}
	n.ok(t, "%env FORGE_TEST=new  value")
	n.ok(t, "%cd a\\ b")
	if printed, _ := n.ok(t, "!echo \"$FORGE_TEST\" $(basename \"$PWD\")"); printed != "new  value a b\n" {
		t.Errorf("a command sees %q", printed)
	}
	if _, result := n.ok(t, "%env"); !strings.Contains(result, "new  value") {
		t.Errorf("the list lacks the variable: %q", result)
	}
	if printed, _ := n.ok(t, "%%bash one 'two three'\necho $# $2\necho err >&2"); printed != "2 two three\nerr\n" && printed != "err\n2 two three\n" {
		t.Errorf("script printed %q", printed)
	}
}

func TestConfig(t *testing.T) {
	n := newNotebook(t)
	n.ok(t, "%config output_limit=2MiB memory_limit=0 show=ir")
	if *n.settings.OutputLimit != 2<<20 || *n.settings.MemoryLimit != 0 {
		t.Errorf("settings %+v", n.settings)
	}
	if _, _, e := n.run(t, "%config output_limit=5 show=nothing"); e == nil {
		t.Error("an unknown view was accepted")
	}
	_, result := n.ok(t, "%config")
	for _, want := range []string{"2MiB", "none", "ir"} {
		if !strings.Contains(result, want) {
			t.Errorf("%%config lacks %q:\n%s", want, result)
		}
	}
	if _, result := n.ok(t, "%config output_limit"); !strings.Contains(result, "2MiB") || strings.Contains(result, "memory_limit") {
		t.Errorf("%%config output_limit shows\n%s", result)
	}
}

func TestJobs(t *testing.T) {
	n := newNotebook(t)
	if printed, _ := n.ok(t, "!sleep 1000 &"); !strings.HasPrefix(printed, "[1] ") {
		t.Errorf("printed %q", printed)
	}
	_, result := n.ok(t, "%jobs")
	if !strings.Contains(result, "running") || !strings.Contains(result, "!sleep 1000 &") {
		t.Errorf("%%jobs shows\n%s", result)
	}
	n.Close()
	if _, result = n.ok(t, "%jobs"); !strings.Contains(result, "signal SIGKILL") {
		t.Errorf("after the end %%jobs shows\n%s", result)
	}
	if printed, result := n.ok(t, "%jobs"); result != "" || !strings.HasPrefix(printed, "no background jobs") {
		t.Errorf("afterwards %%jobs prints %q and shows\n%s", printed, result)
	}
}

func TestHelp(t *testing.T) {
	n := newNotebook(t)
	for _, code := range []string{"%time?", "?%%time", "%%time?"} {
		_, out, _ := n.run(t, code)
		if len(out.Payload) != 1 || out.Payload[0].Source != "page" {
			t.Fatalf("%q: payload %+v", code, out.Payload)
		}
		if text, _ := out.Payload[0].Data["text/plain"].(string); !strings.HasPrefix(text, "%time EXPRESSION\n%%time\n\nRun Go code") {
			t.Errorf("%q shows %q", code, text)
		}
	}
	for _, m := range magics {
		if h := m.help(); !strings.Contains(strings.Join(strings.Fields(h), " "), m.doc) || !strings.Contains(h, m.name) {
			t.Errorf("help of %s: %q", m.name, h)
		}
	}
	_, result := n.ok(t, "%lsmagic")
	for _, m := range magics {
		if !strings.Contains(result, m.title()) {
			t.Errorf("%%lsmagic lacks %s", m.title())
		}
	}
}

func TestInterrupted(t *testing.T) {
	n := newNotebook(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted by the user"))
	for _, code := range []string{"!sleep 1000", "%%bash\nsleep 1000", "%doctor", "%%time\n!sleep 1000"} {
		out := n.Run(ctx, Cell{ID: 1, Name: "cell 1", Code: code})
		first, _, _ := strings.Cut(strings.TrimPrefix(code, "%%time\n"), "\n")
		if e := Describe(out.Err); e.Name != "Interrupt" || e.Value != "interrupted: "+first {
			t.Errorf("%q: %s: %s", code, e.Name, e.Value)
		}
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"  a\tb ", []string{"a", "b"}},
		{`'a b' "c d" e\ f ''`, []string{"a b", "c d", "e f", ""}},
		{`a'b'"c"`, []string{"abc"}},
		{`"a\"b" 'a\b' c\`, []string{`a"b`, `a\b`, `c\`}},
	} {
		got, err := words(c.in)
		if err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
			t.Errorf("words(%q) = %q, %v; want %q", c.in, got, err, c.want)
		}
	}
}

// FuzzWords checks that every word can be quoted so that it comes back.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"", "a 'b c'", `"\"`, `\`, "é\x00\xff '"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := words(text)
		if err != nil {
			return
		}
		var quoted []string
		for _, w := range list {
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'"'"'`)+"'")
		}
		again, err := words(strings.Join(quoted, " "))
		if err != nil || fmt.Sprintf("%q", again) != fmt.Sprintf("%q", list) {
			t.Fatalf("words of %q are %q; quoted they are %q, %v", text, list, again, err)
		}
	})
}

// What %%forge compiled is the program of the function: it can be looked at without
// shapes, and a call finds it.
func TestForgeKeepsItsProgram(t *testing.T) {
	n := newNotebook(t)
	n.ok(t, "%%forge --shapes 2x3\ndef f(x):\n    return exp(x)")
	if _, got := n.ok(t, "f.Program().Inputs()[0].Spec.String()"); got != "f32[2,3]" {
		t.Errorf("its input is %s", got)
	}
	if _, got := n.ok(t, "f(forge.Ones(2, 3))\nf.Cache()"); !strings.Contains(got, "programs: 1, hits: 1, misses: 1") {
		t.Errorf("a call of these shapes finds %s", got)
	}
}

func TestShapes(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"8x16", "[[8 16]]"}, {"8x16, 16x12,12", "[[8 16] [16 12] [12]]"}, {"(),3", "[[] [3]]"}, {"0x2", "[[0 2]]"},
		{"", "error"}, {"x", "error"}, {"3x", "error"}, {"-1", "error"}, {"3,,4", "error"}, {"3X4", "error"},
	} {
		got, err := parseShapes(c.in)
		text := fmt.Sprint(got)
		if err != nil {
			text = "error"
		}
		if text != c.want {
			t.Errorf("parseShapes(%q) = %s, %v; want %s", c.in, text, err, c.want)
		}
	}
}

// A model that %load names is a Go value, and the same as forge.Load gives.
func TestLoadModel(t *testing.T) {
	glyphs, err := filepath.Abs("../../notebooks/models/glyphs.onnx")
	if err != nil {
		t.Fatal(err)
	}
	n := newNotebook(t)
	t.Chdir(t.TempDir())
	if err := os.Symlink(glyphs, "glyphs.onnx"); err != nil {
		t.Fatal(err)
	}
	printed, result := n.ok(t, "%load glyphs.onnx")
	if printed != "glyphs := forge.Load(\"glyphs.onnx\")\n" || !strings.Contains(result, "images: f32[batch,1,8,8]") {
		t.Errorf("printed %q, shown %s", printed, result)
	}
	n.ok(t, "%load glyphs.onnx other")
	const call = "%s.Call(map[string]*forge.Tensor{\"images\": forge.Ones(1, 1, 8, 8), \"k\": forge.From([]float64{1})}).Get(\"classes\").Item()"
	_, first := n.ok(t, fmt.Sprintf(call, "glyphs"))
	_, second := n.ok(t, fmt.Sprintf(call, "other"))
	_, third := n.ok(t, fmt.Sprintf(call, "forge.Load(\"glyphs.onnx\")"))
	if first == "" || first != second || first != third {
		t.Errorf("results %q, %q, %q", first, second, third)
	}
	os.WriteFile("broken.onnx", []byte("x"), 0o600)
	os.WriteFile("text.txt", []byte("x"), 0o600)
	for code, want := range map[string]string{
		"%load glyphs.onnx fmt":              "a model cannot be called fmt",
		"%load broken.onnx":                  "broken.onnx",
		"%load text.txt name":                "NAME is for models",
		"%load missing.pt2":                  "no such file",
		"glyphs.Specialize(forge.Binding{})": "dimension 0, batch, is open",
	} {
		if _, _, e := n.run(t, code); e == nil || !strings.Contains(e.Value, want) {
			t.Errorf("%s: %+v, want %q", code, e, want)
		}
	}
}

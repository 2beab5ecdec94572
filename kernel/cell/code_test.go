package cell

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/kernel/gocell"
	"forgekernel/nebula"
)

// placeOf returns where an error points, as "line:column".
func placeOf(err error) string {
	var compile *gocell.CompileError
	var script forge.Errors
	var call *forge.CallError
	var panicked *gocell.PanicError
	d := display.Diagnostic{}
	switch {
	case errors.As(err, &compile):
		d = compile.Diagnostics[0]
	case errors.As(err, &script):
		d = *script[0]
	case errors.As(err, &call):
		d = call.Diagnostic
	case errors.As(err, &panicked):
		return fmt.Sprintf("%d:%d", panicked.Trace[0].Line, panicked.Trace[0].Col)
	}
	return fmt.Sprintf("%d:%d", d.Line, d.Col)
}

// Positions of errors are those of the whole cell, whatever stands above the
// code.
func TestPositions(t *testing.T) {
	n := newNotebook(t)
	t.Chdir(t.TempDir())
	for _, c := range []struct{ code, place, name string }{
		{"undefinedA", "1:1", "CompileError"},
		{"!true\n\n%cd .\n// doc\nx := undefinedB", "5:6", "CompileError"},
		{"%time undefinedC", "1:7", "CompileError"},
		{"!true\n%time  1 + undefinedD", "2:12", "CompileError"},
		{"%%time\n%%go\n!true\nundefinedE", "4:1", "CompileError"},
		{"!true\npanic(1)", "2:1", "panic"},
		{"!true\nx := 1 +", "2:9", "CompileError"},
		{"\n# layers\ndef f(x):\n    return y", "4:12", "ForgeScriptError"},
		{"%%forge\n!true\ndef f(x):\n    return y", "4:12", "ForgeScriptError"},
		{"%%time\n\ndef f(x: f32[2], y: f32[3]):\n    return x + y", "4:12", "CallError"},
		{"%%go\ndef f(x): return x", "2:5", "CompileError"},
	} {
		_, out, e := n.run(t, c.code)
		if e == nil {
			t.Errorf("%q succeeded", c.code)
			continue
		}
		if got := placeOf(out.Err); e.Name != c.name || got != c.place {
			t.Errorf("%q: %s at %s: %s; want %s at %s", c.code, e.Name, got, e.Value, c.name, c.place)
		}
	}
}

func TestGo(t *testing.T) {
	n := newNotebook(t)
	for _, c := range []struct{ code, printed, result string }{
		{"x := 20\nx + 1", "", "21"},
		{"fmt.Println(x)", "20\n", ""},
		{"!echo above\nx * 2", "above\n", "40"},
		{"%env FORGE_TEST_GO=1\n", "FORGE_TEST_GO=1\n", ""},
		{"// only a comment", "", ""},
		{"%%go\n!echo first\nx", "first\n", "20"},
	} {
		printed, result := n.ok(t, c.code)
		if printed != c.printed || result != c.result {
			t.Errorf("%q printed %q and gave %q; want %q and %q", c.code, printed, result, c.printed, c.result)
		}
	}
}

var timing = regexp.MustCompile(`(?m)^wall [0-9.]+(ns|µs|ms|s), CPU [0-9.]+(ns|µs|ms|s) \(user [0-9.]+(ns|µs|ms|s), system [0-9.]+(ns|µs|ms|s)\)\n`)

func TestTime(t *testing.T) {
	n := newNotebook(t)
	n.ok(t, "x := 20")
	for _, c := range []struct{ code, printed, result string }{
		{"%time x + 1", "", "21"},
		{"%%time\nfmt.Println(x)\nx", "20\n", "20"},
		{"%%time\n!echo hi", "hi\n", ""},
		{"%%time\ndef f(x):\n    return x", "", "def f(x)"},
		{"%%time\n%%bash\necho deep", "deep\n", ""},
		{"%time y := 3\ny", "", "3"},
	} {
		printed, result := n.ok(t, c.code)
		if !timing.MatchString(printed) || timing.ReplaceAllString(printed, "") != c.printed || result != c.result {
			t.Errorf("%q printed %q and gave %q; want %q, a time and %q", c.code, printed, result, c.printed, c.result)
		}
	}
	if printed, _, e := n.run(t, "%time panic(1)"); e == nil || !timing.MatchString(printed) {
		t.Errorf("a failure: printed %q, error %+v", printed, e)
	}
	printed, out, e := n.run(t, "%time nothing(3)")
	if e == nil || printed != "" {
		t.Errorf("code that cannot begin: printed %q, error %+v", printed, e)
	}
	var compile *gocell.CompileError
	if !errors.As(out.Err, &compile) || !strings.Contains(compile.Diagnostics[0].Plain(), "1 | %time nothing(3)\n  |       ^^^^^^^") {
		t.Errorf("the error is shown as\n%v", out.Err)
	}
}

// A ForgeScript cell changes everything or nothing.
func TestForgeScriptIsAtomic(t *testing.T) {
	n := newNotebook(t)
	n.ok(t, "def f(x):\n    return x + 1\n\ndef g(x):\n    return f(x) * 2")
	before := fmt.Sprint(n.Definitions(), n.Symbols())
	for _, c := range []struct{ code, name string }{
		{"def f(x):\n    return x + 5\n\ndef bad(x):\n    return nothing(x)", "ForgeScriptError"},
		{"def f(x):\n    return x + 5\n\ndef func(x):\n    return x", "ForgeScriptError"},
		{"def f(x):\n    return x + 5\n\ndef len(x):\n    return x", "ForgeScriptError"},
		{"def f(x: f32[2]):\n    return x + 5\n\ndef bad(x: f32[2], y: f32[3]):\n    return x + y", "CallError"},
		{"def f(x):\n    return x + 5\n\ndef _(x):\n    return x", "ForgeScriptError"},
		{"%%forge --shapes 2,3\ndef f(x, y):\n    return x + y", "CallError"},
		{"%%forge --entry h\ndef f(x):\n    return x", "UsageError"},
		{"%%forge --show ir\ndef f(x):\n    return x", "UsageError"},
	} {
		_, out, e := n.run(t, c.code)
		if e == nil || e.Name != c.name || out.Result != nil || len(n.shown) > 0 {
			t.Errorf("%q: error %+v, result %v, displays %q; want %s", c.code, e, out.Result, n.shown, c.name)
		}
		if now := fmt.Sprint(n.Definitions(), n.Symbols()); now != before {
			t.Errorf("%q changed the session from\n%s\nto\n%s", c.code, before, now)
		}
	}
	if _, result := n.ok(t, "g(forge.Ones(1)).At(0)"); result != "4" {
		t.Errorf("g(1) = %s", result)
	}
}

// A function that became a Go value would hide these from every Go cell.
func TestNamesOfGo(t *testing.T) {
	n := newNotebook(t)
	for name, why := range map[string]string{
		"len": "predeclared", "string": "predeclared", "int": "predeclared", "print": "predeclared", "nil": "predeclared", "true": "predeclared",
		"main": "Go calls itself", "init": "Go calls itself", "fmt": `the package "fmt"`, "strings": `the package "strings"`,
		"rand": `the package "math/rand"`, "stat": `the package "gonum.org/v1/gonum/stat"`,
	} {
		_, out, e := n.run(t, "def "+name+"(x):\n    return x")
		var errs forge.Errors
		if !errors.As(out.Err, &errs) || len(errs) != 1 || errs[0].Col != 5 || !strings.Contains(strings.Join(errs[0].Notes, "\n"), why) {
			t.Errorf("def %s: %+v", name, e)
		}
	}
	if _, result := n.ok(t, `fmt.Sprint(len(string("abc")), true, strings.ToUpper("x"))`); result != "3 trueX" {
		t.Errorf("afterwards Go gives %s", result)
	}
}

func TestForgeScriptViews(t *testing.T) {
	n := newNotebook(t)
	const annotated = "def f(x: f32[2]):\n    return relu(x)"
	for _, c := range []struct {
		code   string
		shown  []string // a part of each display
		result string
	}{
		{"def f(x):\n    return relu(x)\n\ndef g(x, y):\n    return f(x) + y", nil, "def f(x)\ndef g(x, y)"},
		{annotated, []string{"f: ", "graph f("}, ""},
		{"%%forge --show ir\n" + annotated, []string{"graph f("}, ""},
		{"%%forge --shapes 3x4 --show source,check\ndef f(x):\n    return relu(x)", []string{"def f(x)", "verdict"}, ""},
		{"%%forge --shapes 2 --entry a --show ir\ndef a(x):\n    return relu(x)\n\ndef b(x, y):\n    return x + y", []string{"graph a("}, ""},
		{"%config show=summary\n" + annotated, []string{"f"}, ""},
	} {
		_, result := n.ok(t, c.code)
		if len(n.shown) != len(c.shown) || result != c.result {
			t.Errorf("%q shows %q and gives %q; want %q and %q", c.code, n.shown, result, c.shown, c.result)
			continue
		}
		for i := range c.shown {
			if !strings.Contains(n.shown[i], c.shown[i]) {
				t.Errorf("%q: display %d is %q, which lacks %q", c.code, i+1, n.shown[i], c.shown[i])
			}
		}
	}
}

var blanks = regexp.MustCompile(" +")

func TestWhoAndReset(t *testing.T) {
	n := newNotebook(t)
	n.ok(t, "alpha := 1; beta := \"b\"")
	n.ok(t, "def layer(x):\n    return x")
	_, result := n.ok(t, "%who")
	for _, want := range []string{"alpha", "int", "beta", "string", "layer", "forgescript", "value", `"b"`} {
		if !strings.Contains(result, want) {
			t.Errorf("%%who lacks %q:\n%s", want, result)
		}
	}
	if _, result := n.ok(t, "%who al"); !strings.Contains(result, "alpha") || strings.Contains(result, "beta") {
		t.Errorf("%%who al shows\n%s", result)
	}
	n.ok(t, `const Limit = 1 << 4
many := make([]float64, 1_000_000)
text := "a\nb"
m := mat.NewDense(3, 4, nil)
queue := make(chan int, 2)
wait := 1500 * time.Millisecond
var none error
type looped struct{ text string }
func (looped) String() string { for {} }
one := looped{strings.Repeat("long ", 100)}`)
	_, result = n.ok(t, "%who")
	for _, want := range []string{
		"Limit const untyped int 16\n", "many var []float64 [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, … (1000000)]\n", `text var string "a\nb"` + "\n", "m var *mat.Dense mat.Dense 3×4\n",
		"queue var chan int chan int (0 of 2)\n", "wait var time.Duration 1.5s\n", "none var error nil\n", "one var looped looped{text: \"long long long long\"… (500 bytes)}\n",
	} {
		if !strings.Contains(blanks.ReplaceAllString(result, " "), want) {
			t.Errorf("%%who lacks %q:\n%s", want, result)
		}
	}
	for line := range strings.Lines(result) {
		if utf8.RuneCountInString(line) > 6+2+11+2+columnWidth+2+columnWidth+1 {
			t.Errorf("%%who has the line %q", line)
		}
	}
	n.answers = []string{"n"}
	n.ok(t, "%reset")
	n.ok(t, "alpha")
	n.answers = []string{"Yes "}
	n.ok(t, `job := nebula.Launch(nebula.Seeded(nebula.TinyDecoder(), 3), nebula.Name("left"), nebula.TP(2), nebula.InProcess(), nebula.Backend("interp"), nebula.Threads(1))`)
	if printed, _ := n.ok(t, "%reset"); printed != "closed the job left of tiny decoder of seed 3 on TP 2, PP 1, 2 ranks of 1 thread\n" || len(nebula.Jobs()) > 0 {
		t.Errorf("%%reset printed %q; there are the jobs %v", printed, nebula.Jobs())
	}
	if printed, _ := n.ok(t, "%who zz"); printed != "nothing that is defined begins with zz\n" {
		t.Errorf("%%who zz printed %q", printed)
	}
	if printed, result := n.ok(t, "%who"); printed != "nothing is defined\n" || result != "" || len(n.Definitions()) > 0 {
		t.Errorf("after %%reset: %q, %q, %v", printed, result, n.Definitions())
	}
	for _, code := range []string{"alpha", "layer(forge.Ones(1))"} {
		if _, _, e := n.run(t, code); e == nil || e.Name != "CompileError" {
			t.Errorf("after %%reset %s: %+v", code, e)
		}
	}
}

func TestNameHelp(t *testing.T) {
	n := newNotebook(t)
	n.ok(t, "def layer(x):\n    \"\"\"Adds one.\"\"\"\n    return x + 1")
	for _, c := range []struct{ code, want string }{
		{"layer?", "Adds one."},
		{"layer??", "return x + 1"},
		{"strings.ToUpper?", "func ToUpper(s string) string"},
		{"softmax?", "softmax(x, axis=-1)"},
		{"max?", "func max[T cmp.Ordered]"},
		{"max?", "max(x, axis=…, keepdims=False)"},
		{"?fmt.Println", "func Println(a ...any)"},
	} {
		_, out, e := n.run(t, c.code)
		if e != nil || len(out.Payload) != 1 {
			t.Errorf("%s: error %+v, payload %+v", c.code, e, out.Payload)
			continue
		}
		if text, _ := out.Payload[0].Data["text/plain"].(string); !strings.Contains(text, c.want) {
			t.Errorf("%s shows %q, which lacks %q", c.code, text, c.want)
		}
	}
}

// A directive below code is refused, with what to do instead.
func TestDirectiveBelowCode(t *testing.T) {
	n := newNotebook(t)
	for _, code := range []string{"x := 1\n%who", "x := 1\n!ls -l", "x := 1\nx?"} {
		_, _, e := n.run(t, code)
		if e == nil || !strings.Contains(strings.Join(e.Traceback, "\n"), "stand above the code") {
			t.Errorf("%q: %+v", code, e)
		}
	}
}

// Help is broken between words, within the width that front ends have room for.
func TestHelpIsWrapped(t *testing.T) {
	for _, m := range []string{"goget", "bash", "forge"} {
		for _, line := range strings.Split(lookup(m).help(), "\n")[1:] {
			if !strings.HasPrefix(line, "%") && len([]rune(line)) > textWidth {
				t.Errorf("%s: %q is longer than %d", m, line, textWidth)
			}
		}
	}
}

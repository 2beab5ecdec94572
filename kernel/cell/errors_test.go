package cell

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"forgekernel/kernel/gocell"
)

// What code makes an error of is bounded before it travels to the client.
func TestDescribeIsBounded(t *testing.T) {
	long := strings.Repeat("é", maxErrorText)
	e := Describe(errors.New(long))
	more := fmt.Sprintf("… %d bytes more", maxErrorText)
	if want := long[:maxErrorText] + more; e.Value != want {
		t.Errorf("value has %d bytes and ends with %q", len(e.Value), e.Value[len(e.Value)-40:])
	}
	if got := e.Traceback[0]; len(got) > maxErrorText+100 || !strings.Contains(got, "\x1b[0m… ") {
		t.Errorf("traceback has %d bytes and ends with %q", len(got), got[len(got)-40:])
	}

	frame := gocell.Frame{Func: "f", Cell: "cell 1", Line: 7, Col: 1}
	var trace []gocell.Frame
	for i := range 3 * maxErrorLines {
		frame.Line = i + 1
		trace = append(trace, frame)
	}
	e = Describe(&gocell.PanicError{Value: "deep", Text: "deep", Trace: trace})
	if len(e.Traceback) != maxErrorLines+1 {
		t.Fatalf("%d lines, want %d", len(e.Traceback), maxErrorLines+1)
	}
	if got, want := e.Traceback[maxErrorLines/2], fmt.Sprintf("%d lines are left out", 2*maxErrorLines+1); !strings.Contains(got, want) {
		t.Errorf("note is %q, want %q", got, want)
	}
	if got, want := e.Traceback[maxErrorLines], fmt.Sprintf("cell 1:%d:1", len(trace)); !strings.Contains(got, want) {
		t.Errorf("last line is %q, want %q", got, want)
	}
}

// Every error that knows its place shows the line and, below it, a caret at that place:
// whatever kind it is, and in each call on the way.
func TestErrorsShowCarets(t *testing.T) {
	n := newNotebook(t)
	n.ok(t, "func deep(i int) int { return []int{1}[i] }")
	n.ok(t, "def layer(x: f32[2, 3], w: f32[3, 4]):\n    return x @ w")
	for _, c := range []struct{ code, name, want string }{
		{"x := 1 + undefined", "CompileError", "1 | x := 1 + undefined\n  |          ^^^^^^^^^"},
		{"def f(x):\n    return y", "ForgeScriptError", "2 |     return y\n  |            ^"},
		{"// é\nlayer(forge.Randn(2, 3), forge.Randn(4, 4))", "CallError", "2 |     return x @ w\n  |            ^^^^^"},
		{"// é\nlayer(forge.Randn(2, 3), forge.Randn(4, 4))", "CallError", "2 | layer(forge.Randn(2, 3), forge.Randn(4, 4))\n  | ^^^^^"},
		{"m := nebula.Seeded(nebula.TinyDecoder(), 1)\nm.Plan(nebula.TP(4))", "NebulaError", "2 | m.Plan(nebula.TP(4))\n  |   ^^^^"},
		{"panic(1)", "panic", "1 | panic(1)\n  | ^^^^^"},
		{"y := 2\n\t1 + deep(y)", "panic", "2 |     1 + deep(y)\n  |         ^^^^"},
		{"deep(3)", "panic", "1 | func deep(i int) int { return []int{1}[i] }\n  |                                       ^"},
		{"%nonsense", "UsageError", "1 | %nonsense\n  | ^^^^^^^^^"},
	} {
		_, _, e := n.run(t, c.code)
		if e == nil {
			t.Errorf("%q succeeded", c.code)
			continue
		}
		text := colours.ReplaceAllString(strings.Join(e.Traceback, "\n"), "")
		if e.Name != c.name || !strings.Contains(text+"\n", c.want+"\n") {
			t.Errorf("%q: %s:\n%s\nwant %s with\n%s", c.code, e.Name, text, c.name, c.want)
		}
	}
}

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

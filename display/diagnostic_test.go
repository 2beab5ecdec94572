package display

import (
	"errors"
	"fmt"
	"forgekernel/display/internal/cells"
	"strings"
	"testing"
)

func TestDiagnosticPlain(t *testing.T) {
	tests := []struct {
		name string
		d    Diagnostic
		want string
	}{
		{"everything", Diagnostic{
			Source: "mlp.fs", Line: 3, Col: 14, EndCol: 20, Text: "    h = relu(x @ w1 + b1)",
			Message: "shapes do not multiply", Hint: "transpose w1", Notes: []string{"x is f32[8,16]", "w1 is f32[12,32]"},
		}, `
error: shapes do not multiply
 --> mlp.fs:3:14
3 |     h = relu(x @ w1 + b1)
  |              ^^^^^^
hint: transpose w1
note: x is f32[8,16]
note: w1 is f32[12,32]`},
		{"wide characters and tab", Diagnostic{Source: "cell 12", Line: 10, Col: 6, Text: "\t幅 = é + q", Message: "unknown name é"}, `
error: unknown name é
 --> cell 12:10:6
10 |     幅 = é + q
   |          ^`},
		{"wide caret", Diagnostic{Source: "c", Line: 1, Col: 3, EndCol: 5, Text: "a 幅広 b", Message: "m"}, `
error: m
 --> c:1:3
1 | a 幅広 b
  |   ^^^^`},
		{"behind the end", Diagnostic{Source: "c", Line: 1, Col: 9, Text: "x = (", Message: "unclosed parenthesis"}, `
error: unclosed parenthesis
 --> c:1:9
1 | x = (
  |      ^`},
		{"no column", Diagnostic{Source: "c", Line: 7, Text: "x", Message: "m"}, `
error: m
 --> c:7
7 | x`},
		{"no position", Diagnostic{Source: "model.onnx", Message: "truncated file"}, `
error: truncated file
 --> model.onnx`},
		{"message only", Diagnostic{Message: "out of memory"}, `
error: out of memory`},
		{"escape sequences", Diagnostic{Source: "c", Line: 1, Col: 2, Text: "\x1b[2Jx", Message: "a\nb\x1b[31m"}, `
error: a b␛[31m
 --> c:1:2
1 | ␛[2Jx
  |  ^`},
	}
	for _, test := range tests {
		if got := "\n" + test.d.Plain(); got != test.want {
			t.Errorf("%s: got%s\nwant%s", test.name, got, test.want)
		}
	}
}

func TestDiagnosticOfAnOverlongLine(t *testing.T) {
	d := Diagnostic{Source: "c", Line: 1, Col: 5001, EndCol: 5004, Text: strings.Repeat("a", 5000) + "bad" + strings.Repeat("z", 60_000), Message: "m"}
	lines := strings.Split(d.Plain(), "\n")
	source, caret := lines[2], lines[3]
	if w := cells.Width(source); w > 140 {
		t.Errorf("source line of %d columns", w)
	}
	if at, mark := cells.Width(source[:strings.Index(source, "bad")]), strings.Index(caret, "^^^"); at != mark {
		t.Errorf("bad at column %d, caret at %d", at, mark)
	}
	d.EndCol = 70_000
	if w := cells.Width(strings.Split(d.Plain(), "\n")[3]); w > 140 {
		t.Errorf("caret line of %d columns", w)
	}
}

func TestDiagnosticIsAnError(t *testing.T) {
	var err error = &Diagnostic{Source: "mlp.fs", Line: 3, Col: 7, Message: "tabs are not allowed", Hint: "indent with spaces"}
	if got := err.Error(); got != "mlp.fs:3:7: tabs are not allowed; indent with spaces" {
		t.Errorf("got %q", got)
	}
	var d *Diagnostic
	if !errors.As(fmt.Errorf("compile: %w", err), &d) || d.Line != 3 {
		t.Error("not found in a wrapped error")
	}
}

func TestDiagnosticTraceback(t *testing.T) {
	d := &Diagnostic{Source: "c", Line: 2, Col: 1, Text: "x", Message: "m", Hint: "h", Notes: []string{"n"}}
	want := []string{
		"\x1b[1;31merror\x1b[0m: m",
		"\x1b[2m --> c:2:1\x1b[0m",
		"\x1b[36m2 |\x1b[0m x",
		"\x1b[36m  |\x1b[0m \x1b[1;31m^\x1b[0m",
		"\x1b[32mhint\x1b[0m: h",
		"\x1b[34mnote\x1b[0m: n",
	}
	if got := d.Traceback(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q", got)
	}
}

func TestDiagnosticHTML(t *testing.T) {
	d := &Diagnostic{Source: "<c>", Line: 1, Col: 1, Text: "a < b && c", Message: "no <comparisons>"}
	golden(t, "diagnostic.html", d.Display().Data[mimeHTML].(string)+"\n")
}

func FuzzDiagnostic(f *testing.F) {
	f.Add("x = 幅 +\t1", 3, 7)
	f.Add("\xff\u202e\x00", 2, 0)
	f.Add("", 1, 1)
	f.Fuzz(func(t *testing.T, text string, col, end int) {
		d := &Diagnostic{Source: "c", Line: 1, Col: col, EndCol: end, Text: text, Message: text}
		lines := strings.Split(d.Plain(), "\n")
		if text != "" && col > 0 && len(lines) != 4 {
			t.Errorf("%d lines", len(lines))
		}
		for _, line := range lines {
			if line != cells.OneLine(line) {
				t.Errorf("control characters in %q", line)
			}
		}
	})
}

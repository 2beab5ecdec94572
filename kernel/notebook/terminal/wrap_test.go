package terminal

import (
	"strings"
	"testing"
)

func TestWrapLines(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"short\n\n  lines\n", "short\n\n  lines\n"},
		{"one two three four five", "one two three\n    four five"},
		{"  one two three four five six seven\n", "  one two\n      three\n      four\n      five six\n      seven\n"},
		{"\x1b[31mone two\x1b[0m thr \x1b[1mfour\x1b[0m", "\x1b[31mone two\x1b[0m thr\n    \x1b[1mfour\x1b[0m"},
		{"averylongwordthatstands alone", "averylongwordthatstands alone"},
		{"one averylongwordthatstands", "one\n    averylongwordthatstands"},
		{"界界界 界界界 x", "界界界 界界界\n    x"},
		{"             deep and long", "             deep and long"},
	} {
		if got := wrapLines(c.text, 14); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.text, got, c.want)
		}
	}
}

func FuzzWrapLines(f *testing.F) {
	f.Add("one two three", 4)
	f.Add("\x1b[31m \xff 界", 1)
	f.Fuzz(func(t *testing.T, text string, width int) {
		got := wrapLines(text, min(max(width, 1), 200))
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(text), " ") {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

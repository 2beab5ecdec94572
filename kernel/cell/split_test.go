package cell

import (
	"fmt"
	"strings"
	"testing"
)

// sketch writes parts in a form that a table can hold: one line per directive,
// then the first line of the body, its language and its text.
func sketch(p parts) string {
	var b strings.Builder
	if p.magic != nil {
		fmt.Fprintf(&b, "%d %%%%%s(%s)\n", p.magic.line, p.magic.name, p.magic.args)
	}
	for _, d := range p.directives {
		switch d.kind {
		case lineMagic:
			fmt.Fprintf(&b, "%d %%%s(%s)\n", d.line, d.name, d.args)
		case cellMagic:
			fmt.Fprintf(&b, "%d %%%%%s(%s)\n", d.line, d.name, d.args)
		case shellLine:
			fmt.Fprintf(&b, "%d !(%s)\n", d.line, d.args)
		case helpLine:
			fmt.Fprintf(&b, "%d ?(%s) %d\n", d.line, d.name, d.detail)
		}
	}
	fmt.Fprintf(&b, "%d %s %s", p.line, language(p.body), strings.TrimLeft(p.body, "\n"))
	return b.String()
}

func TestSplit(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", "1 go "},
		{"x := 1", "1 go x := 1"},
		{"def f(x):\n    return x", "1 forgescript def f(x):\n    return x"},
		{"# layers\n\ndef f(x):", "1 forgescript # layers\n\ndef f(x):"},
		{"// layers\n/* def\n*/ def f(x):", "1 forgescript // layers\n/* def\n*/ def f(x):"},
		{"define := 1", "1 go define := 1"},
		{"def", "1 forgescript def"},
		{"/* def", "1 go /* def"},
		{"@jit\ndef f(x):", "1 go @jit\ndef f(x):"},
		{"x := def(3)", "1 go x := def(3)"},
		{"%who", "1 %who()\n2 go "},
		{"%time f(1)\ny := 2", "1 %time(f(1))\n2 go y := 2"},
		{"!ls -l\n!pwd\ndef f(x):", "1 !(ls -l)\n2 !(pwd)\n3 forgescript def f(x):"},
		{"\n// set up\n%cd /tmp\n\n// doc\nfunc f() {}", "3 %cd(/tmp)\n4 go // doc\nfunc f() {}"},
		{"x := 1\n%who", "1 go x := 1\n%who"},
		{"!echo a \\\n  b\nx", "1 !(echo a \\\n  b)\n3 go x"},
		{"%env A=1 \\\n 2\nx", "1 %env(A=1 2)\n3 go x"},
		{"%env A \\", "1 %env(A \\)\n2 go "},
		{"%%bash\necho %who\n!x", "1 %%bash()\n2 go echo %who\n!x"},
		{"\n \n%%time\nf()", "3 %%time()\n4 go f()"},
		{"%%forge --shapes 8x16 --show ir\ndef f(x): return x", "1 %%forge(--shapes 8x16 --show ir)\n2 forgescript def f(x): return x"},
		{"x := 1\n%%bash", "1 go x := 1\n%%bash"},
		{"%who\n%%bash\nls", "1 %who()\n2 %%bash()\n3 go ls"},
		{"%%", "1 go %%"},
		{"% x", "1 go % x"},
		{"x?", "1 ?(x) 0\n2 go "},
		{"??strings.Builder\nx", "1 ?(strings.Builder) 1\n2 go x"},
		{"%%bash?", "1 ?(%%bash) 0\n2 go "},
		{"%time??", "1 ?(%time) 1\n2 go "},
		{"x???", "1 go x???"},
		{"?x?", "1 go ?x?"},
		{"f(x)?", "1 go f(x)?"},
		{"?", "1 go ?"},
		{"a..b?", "1 go a..b?"},
		{"%who\r\nx := 1\r\n", "1 %who()\n2 go x := 1\r\n"},
		{"\ufeffdef f(x):", "1 forgescript \ufeffdef f(x):"},
	} {
		if got := sketch(split(c.in)); got != c.want {
			t.Errorf("split(%q):\n%s\nwant:\n%s", c.in, got, c.want)
		}
	}
}

func TestSplitInner(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"%%time\nf()", "2 go f()"},
		{"%%time\n\n%%bash\nls", "3 %%bash()\n4 go ls"},
		{"\n%%go\n!ls\ndef := 1", "3 !(ls)\n4 forgescript def := 1"},
		{"%%time", "2 go "},
	} {
		if got := sketch(split(c.in).inner()); got != c.want {
			t.Errorf("inner of %q:\n%s\nwant:\n%s", c.in, got, c.want)
		}
	}
}

// FuzzSplit checks what positions depend on: whatever a cell contains, its body
// has every line of code at its own place and nothing else.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		"x := 1\n", "%%bash\nls", "%time x\n!ls \\\n-l\n# c\ndef f(x):\n  return x", "a?\n\n??b\n//\n", "%%time\n%%time\n%%go\n%who\nx",
		"!\\", "\r\n%a\r\n", "%%é\x00\xff", "/*\n!x*/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, code string) {
		p := split(code)
		for depth := 0; ; depth++ {
			checkParts(t, code, p)
			if p.magic == nil {
				return
			}
			if depth > strings.Count(code, "\n") {
				t.Fatal("the same line is split again and again")
			}
			p = p.inner()
		}
	})
}

func checkParts(t *testing.T, code string, p parts) {
	lines := strings.Split(code, "\n")
	at := 0
	check := func(d directive) {
		if d.line <= at || d.line > len(lines) {
			t.Fatalf("directive on line %d after line %d of %d", d.line, at, len(lines))
		}
		at = d.line
		if got := strings.TrimRight(lines[at-1], " \t\r"); got != d.text {
			t.Fatalf("line %d is %q, the directive says %q", at, got, d.text)
		}
	}
	if p.magic != nil {
		check(*p.magic)
	}
	for _, d := range p.directives {
		check(d)
	}
	if p.line <= at {
		t.Fatalf("body starts on line %d, above a directive on line %d", p.line, at)
	}
	for i, line := range strings.Split(p.body, "\n") {
		switch {
		case i < p.line-1 && line != "":
			t.Fatalf("line %d of the body is %q, above its start on line %d", i+1, line, p.line)
		case i >= p.line-1 && i < len(lines) && line != lines[i]:
			t.Fatalf("line %d of the body is %q, of the cell %q", i+1, line, lines[i])
		}
	}
	_ = language(p.body)
}

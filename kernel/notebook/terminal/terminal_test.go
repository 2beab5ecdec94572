package terminal

import (
	"errors"
	"strings"
	"testing"
	"time"

	"forgekernel/kernel/notebook"
	"forgekernel/kernel/notebook/runner"
)

func stream(s string) *notebook.Output {
	return &notebook.Output{Type: notebook.Stream, Name: "stdout", Text: s}
}

func shown(typ notebook.OutputType, s string) *notebook.Output {
	return &notebook.Output{Type: typ, Data: map[string]any{"text/plain": s}, ExecutionCount: 3}
}

var sample = &notebook.Notebook{Cells: []*notebook.Cell{
	{Type: notebook.Code, Source: "x := 1\nfmt.Println(x)\n"},
	{Type: notebook.Markdown, Source: "# no"},
	{Type: notebook.Code, Source: strings.Repeat("long ", 30)},
}}

// run feeds a printer what happens in two cells.
func run(p *Printer, cells ...func()) {
	for i, cell := range cells {
		c := sample.Cells[2*i]
		p.Begin(2*i, c)
		cell()
		p.End(2*i, c, 5*time.Millisecond, nil)
	}
}

func TestFile(t *testing.T) {
	t.Setenv("COLUMNS", "70")
	var b strings.Builder
	p := New(&b, sample)
	progress := shown(notebook.DisplayData, "0/2")
	run(p, func() {
		p.Output(0, stream("a"), false)
		p.Output(0, stream("b\n\nc"), false)
		p.Output(0, shown(notebook.DisplayData, "two\nlines\n"), false)
		p.Output(0, stream("10%\r50%\r\x1b[31m100%\x1b[0m\n\x1b]0;title\x07"), false)
		p.Output(0, shown(notebook.ExecuteResult, "7"), false)
		p.Output(0, &notebook.Output{Type: notebook.Error, ErrorName: "E", ErrorValue: "v", Traceback: []string{"E: v", "  at 1"}}, false)
	}, func() {
		p.Output(2, progress, false)
		progress.Data["text/plain"] = "1/2"
		p.Output(2, progress, true)
		p.Output(2, shown(notebook.ExecuteResult, "a\nb"), false)
		progress.Data["text/plain"] = "2/2"
		p.Output(2, progress, true)
		p.Page(2, "help\n\ntext\n")
		p.Output(2, &notebook.Output{Type: notebook.DisplayData, Data: map[string]any{"image/png": "", "image/gif": ""}}, false)
	})
	const want = `[1/2] x := 1  +1
  ab

  c
  two
  lines
  100%
  Out[3]: 7
  E: v
    at 1

[2/2] long long long long long long long long long long long long lon…
  0/2
  1/2
  Out[3]:
  a
  b
  help

  text
  (image/gif, image/png)
  2/2

`
	if b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
}

func TestScreen(t *testing.T) {
	var b strings.Builder
	p := newPrinter(&b, sample, true)
	progress := shown(notebook.DisplayData, "0/2")
	run(p, func() {
		p.Output(0, progress, false)
		progress.Data["text/plain"] = "1/2"
		p.Output(0, progress, true)
		p.Output(0, stream("10%\r\x1b[31m100%\x1b[0m\x1b[2J"), false)
		progress.Data["text/plain"] = "2/2"
		p.Output(0, progress, true)
	})
	const want = "\x1b[2m[1/2] \x1b[0m\x1b[1mx := 1\x1b[0m\x1b[2m  +1\x1b[0m\n" +
		"  0/2\n\x1b[A\r\x1b[K  1/2\n  10%\r  \x1b[31m100%\x1b[0m\n  2/2\n\n"
	if b.String() != want {
		t.Errorf("printed\n%q\nwant\n%q", b.String(), want)
	}
}

// Tables are fitted into the terminal, what a cell prints is not, and a line that has
// run into the next one is not written over.
func TestWidth(t *testing.T) {
	t.Setenv("COLUMNS", "30")
	var b strings.Builder
	p := newPrinter(&b, sample, true)
	table := "name  why\n----  -------------------------\nx     tiles of eight by sixteen\n"
	long := shown(notebook.DisplayData, strings.Repeat("x", 40))
	short := shown(notebook.DisplayData, "0/2")
	run(p, func() {
		p.Output(0, shown(notebook.ExecuteResult, table), false)
		p.Output(0, stream(table), false)
		p.Output(0, short, false)
		short.Data["text/plain"] = strings.Repeat("y", 40)
		p.Output(0, short, true)
		p.Output(0, long, false)
		long.Data["text/plain"] = "1/2"
		p.Output(0, long, true)
	})
	want := "\x1b[2m[1/2] \x1b[0m\x1b[1mx := 1\x1b[0m\x1b[2m  +1\x1b[0m\n" +
		"  \x1b[32mOut[3]:\x1b[0m\n  name  why\n  ----  -----------------\n  x     tiles of eight by\n        sixteen\n" +
		"  name  why\n  ----  -------------------------\n  x     tiles of eight by sixteen\n" +
		"  0/2\n\x1b[A\r\x1b[K  " + strings.Repeat("y", 27) + "…\n  " + strings.Repeat("x", 40) + "\n  1/2\n\n"
	if b.String() != want {
		t.Errorf("printed\n%q\nwant\n%q", b.String(), want)
	}
	for columns, want := range map[string]int{"": 80, "0": 80, "-1": 80, "x": 80, "7": 20, "132": 132} {
		t.Setenv("COLUMNS", columns)
		if got := Width(&b); got != want {
			t.Errorf("with COLUMNS=%q a line has %d cells, want %d", columns, got, want)
		}
	}
}

func TestEnd(t *testing.T) {
	var b strings.Builder
	p := New(&b, sample)
	p.Begin(0, sample.Cells[0])
	p.Output(0, shown(notebook.DisplayData, "x"), false)
	p.Clear(0)
	p.End(0, sample.Cells[0], 1234567890, &runner.CellError{Name: "E"})
	p.Begin(2, sample.Cells[0])
	p.End(2, sample.Cells[0], 0, errors.New("the kernel died"))
	const want = "[1/2] x := 1  +1\n  x\n  1.23s\n\n[2/2] x := 1  +1\n  the kernel died\n\n"
	if b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
}

package gocell

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Scenarios are sessions in testdata/scenarios: a line "== name" begins one,
// and lines "-- kind" begin its parts. A cell is followed by what it must do:
//
//	-- cell    source of the next cell
//	-- out     what it prints
//	-- show    text of its last expression
//	-- error   "line:col: text" of each diagnostic, or the text of a panic
//	-- warn    the same for warnings
//
// A cell without an expectation must end well and print and show nothing. Its
// source ends without a newline, as notebooks send it.

type scenario struct {
	name  string
	cells []scenarioCell
}

type scenarioCell struct {
	line   int
	source string
	want   map[string]string
}

func readScenarios(tb testing.TB, file string) []scenario {
	tb.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	var list []scenario
	var cell *scenarioCell
	part := ""
	for i, line := range strings.SplitAfter(string(content), "\n") {
		if name, ok := strings.CutPrefix(line, "== "); ok {
			list = append(list, scenario{name: strings.TrimSpace(name)})
			cell = nil
			continue
		}
		if kind, ok := strings.CutPrefix(line, "-- "); ok {
			part = strings.TrimSpace(kind)
			if part == "cell" {
				sc := &list[len(list)-1]
				sc.cells = append(sc.cells, scenarioCell{line: i + 2, want: map[string]string{}})
				cell = &sc.cells[len(sc.cells)-1]
			} else {
				cell.want[part] = ""
			}
			continue
		}
		switch {
		case cell == nil:
		case part == "cell":
			cell.source += line
		default:
			cell.want[part] += line
		}
	}
	for _, sc := range list {
		for i := range sc.cells {
			sc.cells[i].source = strings.TrimSuffix(sc.cells[i].source, "\n")
		}
	}
	return list
}

// console collects what cells print.
type console struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.Write(p)
}

func (c *console) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.buf.Reset()
	return c.buf.String()
}

// generous bounds a cell that must end by itself.
const generous = 5 * time.Minute

func newTestSession(tb testing.TB, opts Options) (*Session, *console) {
	tb.Helper()
	out := &console{}
	if opts.Writer == nil {
		opts.Writer = func(uint64, string) io.Writer { return out }
	}
	s, err := New(opts)
	if err != nil {
		tb.Fatal(err)
	}
	return s, out
}

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		for _, sc := range readScenarios(t, file) {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+sc.name, func(t *testing.T) { sc.run(t) })
		}
	}
}

func (sc scenario) run(t *testing.T) {
	s, out := newTestSession(t, Options{Stdin: func(_ context.Context, prompt string, _ bool) (string, error) {
		fmt.Fprint(io.Discard, prompt)
		return "42 text", nil
	}})
	for i, c := range sc.cells {
		ctx, cancel := context.WithTimeout(context.Background(), generous)
		result, err := s.Run(ctx, Cell{Name: fmt.Sprintf("cell %d", i+1), ID: uint64(i + 1), Source: c.source})
		cancel()
		got := map[string]string{"out": out.take(), "error": errorText(err)}
		if result.HasValue {
			got["show"], _ = result.Bundle.Data["text/plain"].(string)
			got["show"] += "\n"
		}
		for _, w := range result.Warnings {
			got["warn"] += fmt.Sprintf("%s:%d:%d: %s\n", w.Source, w.Line, w.Col, w.Message)
		}
		for _, kind := range []string{"out", "show", "error", "warn"} {
			if g, w := strings.TrimRight(got[kind], "\n"), strings.TrimRight(c.want[kind], "\n"); g != w {
				t.Errorf("line %d: %s is\n%s\nwant\n%s\ncell:\n%s", c.line, kind, g, w, c.source)
			}
		}
	}
}

func errorText(err error) string {
	switch err := err.(type) {
	case nil:
		return ""
	case *CompileError:
		var b strings.Builder
		for _, d := range err.Diagnostics {
			fmt.Fprintf(&b, "%d:%d: %s\n", d.Line, d.Col, d.Message)
			if d.Hint != "" {
				fmt.Fprintf(&b, "hint: %s\n", d.Hint)
			}
		}
		return b.String()
	case *PanicError:
		var b strings.Builder
		fmt.Fprintln(&b, err)
		for _, f := range err.Trace {
			fmt.Fprintf(&b, "at %s:%d %s\n", f.Cell, f.Line, f.Func)
			if f.Omitted > 0 {
				fmt.Fprintf(&b, "more: %d %s\n", f.Omitted, f.OmittedOf)
			}
		}
		return b.String()
	}
	return err.Error()
}

// writers gives each cell a console of its own.
func writers(outs map[uint64]*console) func(uint64, string) io.Writer {
	return func(cell uint64, _ string) io.Writer { return outs[cell] }
}

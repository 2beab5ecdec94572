package progen_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"forgekernel/kernel/gocell"
	"forgekernel/kernel/gocell/progen"
)

var (
	programs = flag.Int("programs", 240, "number of random programs")
	first    = flag.Uint64("seed", 1, "seed of the first program")
	size     = flag.Int("size", 40, "statements of a program")
)

// together is how many programs are compiled as one.
const together = 250

// TestAgainstCompiler runs random programs in cells and as compiled code, and
// compares what they print: those of even seeds in one cell, those of odd seeds
// in the many of a notebook. What differs is made small.
func TestAgainstCompiler(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests do not build programs")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no Go toolchain to compare with")
	}
	differ := 0
	for from := 0; from < *programs; from += together {
		var list []progen.Program
		for i := from; i < min(from+together, *programs); i++ {
			list = append(list, progen.New(*first+uint64(i), *size))
		}
		want, err := compiled(t.TempDir(), progen.Together(list))
		if err != nil {
			t.Fatalf("seeds from %d: the compiler's code fails: %v", list[0].Seed, err)
		}
		for i, part := range strings.Split(want, progen.Mark)[1:] {
			_, part, _ = strings.Cut(part, "\n")
			cells := []progen.Cell{{Source: list[i].Whole()}}
			if list[i].Seed%2 == 1 {
				cells = list[i].Cells()
			}
			if inCells(cells) == part {
				continue
			}
			if differ++; differ > 5 {
				t.Fatalf("seed %d differs, too, and enough others do", list[i].Seed)
			}
			t.Errorf("seed %d: %s", list[i].Seed, smallest(t, list[i], cells, part))
		}
	}
	t.Logf("%d programs of seeds from %d, %d differ", *programs, *first, differ)
}

// smallest makes what differs small, as a whole program if it differs as one.
func smallest(t *testing.T, p progen.Program, cells []progen.Cell, want string) string {
	differs := func(source string) bool {
		want, err := compiled(t.TempDir(), source)
		return err == nil && inCells([]progen.Cell{{Source: source}}) != want
	}
	if differs(p.Whole()) {
		small := progen.Shrink(p.Whole(), differs)
		want, _ := compiled(t.TempDir(), small)
		return difference(inCells([]progen.Cell{{Source: small}}), want) + "\n" + strings.Replace(small, progen.Support, "", 1)
	}
	cells = progen.ShrinkCells(cells, func(cells []progen.Cell) bool { return inCells(cells) != want })
	text := difference(inCells(cells), want)
	for _, c := range cells[1:] {
		text += fmt.Sprintf("\n-- cell, extra %d\n%s", c.Extra, c.Source)
	}
	return text
}

func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d of the output is\n%s\nwant\n%s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("the output has %d lines, want %d\n%s", len(g), len(w), got)
}

// compiled builds a program and returns what it prints.
func compiled(dir, source string) (string, error) {
	for name, text := range map[string]string{"go.mod": "module random\n\ngo 1.26\n", "main.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	build := exec.Command("go", "build", "-o", "random", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod -trimpath")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	defer os.Remove(filepath.Join(dir, "random"))
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "random"))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%w\n%s", err, stderr.String())
	}
	return stdout.String(), nil
}

// output collects what a cell prints.
type output struct {
	mu sync.Mutex
	bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.Write(p)
}

// inCells runs the cells of a notebook, up to the one whose panic ends them. How
// they ended is part of the output.
func inCells(cells []progen.Cell) (text string) {
	out := &output{}
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprintf("%sthe session panics: %v\n%s", out.String(), r, debug.Stack())
		}
	}()
	s, err := gocell.New(gocell.Options{Writer: func(uint64, string) io.Writer { return out }})
	if err != nil {
		return err.Error()
	}
	defer s.Reset()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for i, c := range cells {
		_, err := s.Run(ctx, gocell.Cell{Name: fmt.Sprint("cell ", i), Source: c.Source})
		if c.Fails != (err != nil) {
			text = fmt.Sprintf("%scell %d: %v\n", out.String(), i, err)
			var p *gocell.PanicError
			if errors.As(err, &p) {
				text += fmt.Sprint(p.Trace)
			}
			return text
		}
		if strings.Contains("\n"+out.String(), "\n"+progen.Ended+" panic") {
			break
		}
	}
	return out.String()
}

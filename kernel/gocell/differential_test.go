package gocell

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forgekernel/kernel/gocell/eval"
)

// Whole programs are in testdata/programs: a line "== name" begins one, its
// source follows "-- program" and what it prints "-- out".
type program struct{ name, source, want string }

func readPrograms(t *testing.T) (list []program) {
	t.Helper()
	files, err := filepath.Glob("testdata/programs/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split("\n"+string(content), "\n== ")[1:] {
			name, part, _ := strings.Cut(part, "\n-- program\n")
			source, want, ok := strings.Cut(part, "\n-- out\n")
			if !ok {
				t.Fatalf("%s: %s has no output", file, name)
			}
			topic := strings.TrimSuffix(filepath.Base(file), ".txt")
			list = append(list, program{topic + "/" + name, source + "\n", want})
		}
	}
	return list
}

// TestPrograms runs whole programs as cells.
func TestPrograms(t *testing.T) {
	for _, p := range readPrograms(t) {
		t.Run(p.name, func(t *testing.T) {
			s, out := newTestSession(t, Options{})
			ctx, cancel := context.WithTimeout(context.Background(), generous)
			defer cancel()
			if _, err := s.Run(ctx, Cell{Name: "program", ID: 1, Source: p.source}); err != nil {
				t.Errorf("ends with %s", errorText(err))
			}
			if got := out.take(); strings.TrimRight(got, "\n") != strings.TrimRight(p.want, "\n") {
				t.Errorf("prints\n%s\nwant\n%s", got, p.want)
			}
		})
	}
}

// TestAgainstToolchain builds the whole programs, and the scenarios of one cell
// as whole programs, and compares what they print with what is expected of
// cells: the expectations are Go's own.
func TestAgainstToolchain(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests do not build programs")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no Go toolchain to compare with")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module oracle\n\ngo 1.26\n")
	programs, skipped := readPrograms(t), 0
	for _, file := range []string{"language", "concurrency", "host"} {
		for _, sc := range readScenarios(t, "testdata/scenarios/"+file+".txt") {
			source, ok := wholeProgram(t, sc)
			if !ok {
				skipped++
				continue
			}
			programs = append(programs, program{file + "/" + sc.name, source, sc.cells[0].want["out"]})
		}
	}
	if len(programs) < 140 {
		t.Errorf("only %d programs", len(programs))
	}
	for i, p := range programs {
		write(fmt.Sprintf("p%d/main.go", i), p.source)
	}
	build := exec.Command(goTool, "build", "-o", "bin/", "./...")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the toolchain does not take the programs: %v\n%s", err, out)
	}
	for i, p := range programs {
		var stdout bytes.Buffer
		cmd := exec.Command(filepath.Join(dir, "bin", fmt.Sprintf("p%d", i)))
		cmd.Stdout, cmd.Stderr = &stdout, &stdout
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
		if got := stdout.String(); strings.TrimRight(got, "\n") != strings.TrimRight(p.want, "\n") {
			t.Errorf("%s: Go prints\n%s\nthe scenario expects\n%s", p.name, got, p.want)
		}
	}
	t.Logf("%d programs agree with Go; %d scenarios show a value, fail, need gonum or several cells", len(programs), skipped)
}

// wholeProgram writes a scenario of one cell as a program, if it can be one.
func wholeProgram(t *testing.T, sc scenario) (string, bool) {
	cell := sc.cells[0]
	if _, shows := cell.want["show"]; shows || len(sc.cells) != 1 || cell.want["error"] != "" {
		return "", false
	}
	s, _ := newTestSession(t, Options{})
	s.mu.Lock()
	defer s.mu.Unlock()
	c, faults := s.newCheck(t.Context(), &eval.Source{Line: 1, Text: cell.source})
	if len(faults) > 0 || len(c.hoisted) > 0 {
		return "", false
	}
	list, _ := scan(cell.source)
	cut := splitCell(cell.source, list)
	c.run()
	var b strings.Builder
	b.WriteString("package main\n\n")
	var imports []string
	for _, pkg := range c.pkg.Imports() {
		if strings.HasPrefix(pkg.Path(), "gonum") {
			return "", false
		}
		imports = append(imports, fmt.Sprintf("import %q\n", pkg.Path()))
	}
	slices.Sort(imports)
	b.WriteString(strings.Join(imports, ""))
	declarations := cut.declarations
	for _, spec := range c.syn.imports {
		piece := c.lib.span(spec)
		declarations = blank(declarations, []span{{piece.from - len("import "), piece.to}})
	}
	b.WriteString(declarations + "\nfunc main() {\n" + cut.statements + "\n")
	for name := range c.defines {
		b.WriteString("_ = " + name + "\n")
	}
	b.WriteString("}\n")
	return b.String(), true
}

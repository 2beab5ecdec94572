package gocell

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forgekernel/kernel/gocell/eval"
)

// TestAgainstToolchain turns the scenarios of one cell into whole programs and
// compares what they print with what the scenarios expect: the expectations
// are Go's own.
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
	type program struct{ name, dir, want string }
	var programs []program
	skipped := 0
	for _, file := range []string{"language", "concurrency", "host"} {
		for _, sc := range readScenarios(t, "testdata/scenarios/"+file+".txt") {
			source, ok := wholeProgram(t, sc)
			if !ok {
				skipped++
				continue
			}
			p := program{file + "/" + sc.name, fmt.Sprintf("p%d", len(programs)), sc.cells[0].want["out"]}
			write(p.dir+"/main.go", source)
			programs = append(programs, p)
		}
	}
	if len(programs) < 40 {
		t.Errorf("only %d scenarios are whole programs", len(programs))
	}
	build := exec.Command(goTool, "build", "-o", "bin/", "./...")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the toolchain does not take the programs: %v\n%s", err, out)
	}
	for _, p := range programs {
		var stdout bytes.Buffer
		cmd := exec.Command(filepath.Join(dir, "bin", p.dir))
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
	c, faults := s.newCheck(&eval.Source{Line: 1, Text: cell.source})
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

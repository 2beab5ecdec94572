package gocell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"forgekernel/kernel/gocell/eval"
)

// TestGoTreeRefusals checks the files of Go's own test directory that must not
// compile: as cells they must be refused, and at the lines that the files mark.
// testdata/gorefusals.txt lists those that may differ, with the reason.
func TestGoTreeRefusals(t *testing.T) {
	root := goTree(t)
	mayDiffer := expectedFailures(t, "testdata/gorefusals.txt")
	checked, agreed := 0, 0
	for _, name := range goRefusals(t, root) {
		checked++
		problem := refusalProblem(t, filepath.Join(root, name))
		switch reason, known := mayDiffer[name]; {
		case problem != "" && !known:
			t.Errorf("%s %s", name, problem)
		case problem == "" && known:
			t.Errorf("%s is refused rightly; take it off the list (%s)", name, reason)
		case problem == "":
			agreed++
		}
	}
	t.Logf("%d of %d files are refused at the right lines", agreed, checked)
}

// marked finds lines with errors that notebooks complain about, too.
var (
	marked    = regexp.MustCompile(`// (?:GC_)?ERROR(?:AUTO)?(NEXT)?(?:AUTO)? +(["\x60].*)`)
	tolerates = regexp.MustCompile(`not used|defined|unused|set and not|imported`)
)

func goRefusals(t *testing.T, root string) []string {
	var list []string
	for _, dir := range []string{"", "chan", "fixedbugs", "interface", "ken", "syntax", "typeparam"} {
		files, _ := filepath.Glob(filepath.Join(root, dir, "*.go"))
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(content), "\n")
			if strings.TrimSpace(first) == "// errorcheck" && !outOfScope.Match(content) && len(errorLines(string(content))) > 0 {
				list = append(list, filepath.Join(dir, filepath.Base(file)))
			}
		}
	}
	return list
}

// errorLines returns the lines that must have errors; false for those whose
// error a notebook may tolerate.
func errorLines(source string) map[int]bool {
	lines := map[int]bool{}
	n := 0
	for line := range strings.Lines(source) {
		n++
		if m := marked.FindStringSubmatch(line); m != nil {
			at := n
			if m[1] != "" {
				at++
			}
			lines[at] = !tolerates.MatchString(m[2])
		}
	}
	for _, must := range lines {
		if must {
			return lines
		}
	}
	return nil // all is tolerated
}

// refusalProblem says in what a refusal differs, or nothing.
func refusalProblem(t *testing.T, file string) (problem string) {
	defer func() {
		if r := recover(); r != nil {
			problem = fmt.Sprint("session panics: ", r)
		}
	}()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := newTestSession(t, Options{})
	var refused *CompileError
	if _, err := s.prepare(t.Context(), &eval.Source{Name: "cell", Line: 1, Text: string(source)}, new(atomic.Bool)); !errors.As(err, &refused) {
		return "is accepted"
	}
	want := errorLines(string(source))
	for _, d := range refused.Diagnostics {
		if _, ok := want[d.Line]; !ok {
			return fmt.Sprintf("%d:%d: %s", d.Line, d.Col, d.Message)
		}
	}
	return ""
}

// What is wrong is said in the terms of the cell, not of what stands around it.
func TestMistyped(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]string{
		`strings.Spilt("a", ",")`:           "did you mean strings.Split?",
		"for range 3 {\n\tfmt.Println(1\n}": "this } cannot close the ( of line 2: a ) is missing",
		"}":                                 "this } closes nothing",
		"x +":                               "expected operand, found the end of the cell",
	} {
		_, err := s.Run(t.Context(), Cell{Name: "cell 1", Source: code})
		var failed *CompileError
		if !errors.As(err, &failed) || !strings.Contains(failed.Diagnostics[0].Message+failed.Diagnostics[0].Hint, want) {
			t.Errorf("%q: %v, not %q", code, err, want)
		}
	}
}

package gocell

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"go/build/constraint"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	slowPrograms = flag.Bool("slow", false, "run the slow programs of Go's test directory, too")
	oneProgram   = flag.String("program", "", "the file of the one program that TestGoTree runs")
)

// TestGoTree runs the whole programs of Go's own test directory, where one is
// installed, and compares with what they must print. testdata/gotree.txt lists
// those that may fail, with the reason; the list may only shrink.
func TestGoTree(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests do not run a thousand programs")
	}
	if *oneProgram != "" { // in a process of its own, see goProblem
		if problem := runGoProgram(t, *oneProgram, readProgram(t, *oneProgram)); problem != "" {
			t.Fatal(problem)
		}
		return
	}
	root := goTree(t)
	mayFail := expectedFailures(t, "testdata/gotree.txt")
	ran, passed := 0, 0
	for _, name := range goPrograms(t, root) {
		reason, known := mayFail[name]
		slow := strings.HasPrefix(reason, "slow")
		if slow && !*slowPrograms || strings.HasPrefix(reason, "not run") {
			continue
		}
		ran++
		t.Run(name, func(t *testing.T) {
			problem := goProblem(t, filepath.Join(root, name))
			switch {
			case problem != "" && known && !slow:
				t.Skipf("%s: %s", reason, problem)
			case problem != "":
				t.Error(problem)
			case known && !slow:
				t.Errorf("passes; take it off the list (%s)", reason)
			default:
				passed++
			}
		})
	}
	t.Logf("%d of %d programs pass", passed, ran)
}

func goTree(t *testing.T) string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no Go toolchain: its test directory cannot be found")
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "test")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("no test directory: %v", err)
	}
	return root
}

func expectedFailures(t *testing.T, file string) map[string]string {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, reason, ok := strings.Cut(s.Text(), " "); ok && !strings.HasPrefix(name, "#") {
			list[name] = reason
		}
	}
	return list
}

// Programs that are about something else than the language: cgo, the compiler
// and the linker as commands or with other rules, internal packages, files
// beside them.
var outOfScope = regexp.MustCompile(`"(C|internal/[\w/]+|os/exec|\./?\w*)"|(?m)^//go:linkname|^// run -(race|goexperiment|gcflags=-d=converthash)`)

// goPrograms lists the self-contained programs.
func goPrograms(t *testing.T, root string) []string {
	var list []string
	for _, dir := range []string{"", "abi", "chan", "fixedbugs", "interface", "ken", "stress", "syntax", "typeparam"} {
		files, _ := filepath.Glob(filepath.Join(root, dir, "*.go"))
		for _, file := range files {
			content := readProgram(t, file)
			if firstLine(content) == "// run" && !outOfScope.MatchString(content) && isBuilt(content) {
				list = append(list, filepath.Join(dir, filepath.Base(file)))
			}
		}
	}
	return list
}

// firstLine says what is to be done with a file; the compiler's flags do not
// matter here.
func firstLine(content string) string {
	for line := range strings.Lines(content) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//go:build") {
			do, _, _ := strings.Cut(line, " -")
			return do
		}
	}
	return ""
}

// isBuilt reports whether a file's constraints hold on this machine.
func isBuilt(content string) bool {
	for line := range strings.Lines(content) {
		if !constraint.IsGoBuild(line) {
			continue
		}
		expr, err := constraint.Parse(strings.TrimSpace(line))
		return err == nil && expr.Eval(func(tag string) bool {
			return tag == "linux" || tag == "amd64" || tag == "unix" || tag == "gc" || strings.HasPrefix(tag, "go1.")
		})
	}
	return true
}

// measures finds programs that measure the process they run in, where programs
// before them have left goroutines, garbage and finalizers.
var measures = regexp.MustCompile(`\b(ReadMemStats|NumGoroutine|AllocsPerRun|SetFinalizer|AddCleanup)\(`)

// goProblem returns what is wrong with a program's run, or nothing. One that
// measures its process has one of its own.
func goProblem(t *testing.T, file string) string {
	source := readProgram(t, file)
	if !measures.MatchString(source) {
		return runGoProgram(t, file, source)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(exe, "-test.run=^TestGoTree$", "-program="+file).CombinedOutput()
	if err != nil {
		return string(said)
	}
	return ""
}

func readProgram(t *testing.T, file string) string {
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// runGoProgram returns what is wrong with the run of a file's text, or nothing.
func runGoProgram(t *testing.T, file, source string) (problem string) {
	defer func() {
		if r := recover(); r != nil {
			problem = fmt.Sprint("session panics: ", r)
		}
	}()
	s, out := newTestSession(t, Options{})
	ctx, cancel := context.WithTimeout(context.Background(), generous)
	defer cancel()
	_, err := s.Run(ctx, Cell{Name: "program", ID: 1, Source: source})
	s.Reset()
	printed := out.take()
	if err != nil {
		if exit, ok := err.(*ExitError); !ok || exit.Code != 0 {
			return strings.TrimSpace(errorText(err))
		}
	}
	if want, readErr := os.ReadFile(strings.TrimSuffix(file, ".go") + ".out"); readErr == nil {
		if printed != string(want) {
			return "prints\n" + printed + "\nwant\n" + string(want)
		}
		return ""
	}
	if strings.Contains(printed, "BUG") || strings.Contains(printed, "FAIL") {
		return "prints " + printed
	}
	return ""
}

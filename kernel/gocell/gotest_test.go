package gocell

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestGoTree runs the whole programs of Go's own test directory, where one is
// installed, and compares with what they must print. testdata/gotree.txt lists
// those that may fail, with the reason; the list may only shrink.
func TestGoTree(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests do not run 400 programs")
	}
	root := goTree(t)
	mayFail := expectedFailures(t)
	ran, passed := 0, 0
	for _, file := range goPrograms(t, root) {
		name, _ := filepath.Rel(root, file)
		ran++
		if strings.HasPrefix(mayFail[name], "slow") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			problem := runGoProgram(t, file, string(source))
			switch reason, known := mayFail[name]; {
			case problem != "" && known:
				t.Skipf("%s: %s", reason, problem)
			case problem != "":
				t.Error(problem)
			case known:
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

func expectedFailures(t *testing.T) map[string]string {
	f, err := os.Open("testdata/gotree.txt")
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

var outOfScope = regexp.MustCompile(`"(unsafe|C|runtime|runtime/\w+|syscall|os/exec|flag|internal/[\w/]+|\./?\w*|testing)"|go:linkname|go:build|// \+build`)

// goPrograms lists the self-contained programs: a fixed selection, so that
// results compare over time.
func goPrograms(t *testing.T, root string) []string {
	var list []string
	for _, dir := range []string{"", "typeparam", "ken", "chan", "interface", "fixedbugs"} {
		files, _ := filepath.Glob(filepath.Join(root, dir, "*.go"))
		n := 0
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(content), "\n")
			if strings.TrimSpace(first) != "// run" || outOfScope.Match(content) {
				continue
			}
			if n++; dir == "fixedbugs" && n%4 != 0 {
				continue
			}
			list = append(list, file)
		}
	}
	return list
}

// runGoProgram returns what is wrong with a program's run, or nothing.
func runGoProgram(t *testing.T, file, source string) (problem string) {
	defer func() {
		if r := recover(); r != nil {
			problem = "session panics: " + panicText(r)
		}
	}()
	s, out := newTestSession(t, Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
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

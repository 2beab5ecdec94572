package cell

import (
	"os/exec"
	"strings"
	"testing"
)

func TestGoget(t *testing.T) {
	n := newNotebook(t)
	t.Setenv("GOPROXY", "off")
	for code, want := range map[string]string{
		"%goget":                            "usage",
		"%goget example.com/a@v1":           "not a full version",
		"%goget example.com/a":              "GOPROXY=off",
		"%goget ../a@v1.0.0":                "malformed module path",
		"%goget gonum.org/v1/gonum@v0.17.0": "part of this kernel",
	} {
		_, _, failure := n.run(t, code)
		if failure == nil || !strings.Contains(strings.Join(failure.Traceback, "\n"), want) {
			t.Errorf("%s: %+v", code, failure)
		}
	}
}

// A cell that is built may bring its package clause; a comment that speaks of packages is none.
func TestMainProgram(t *testing.T) {
	for body, added := range map[string]bool{
		"func main() {}":                                   true,
		"// sizes\npackage main\nfunc main() {}":           false,
		"/* This\npackage is large. */\nfunc main() {}":    true,
		"func main() { s := `\npackage main` }":            true,
		"":                                                 true,
		"// says\n//go:build linux\n\npackage main\n":      false,
		"package\tmain; func main() {}":                    false,
		"import \"os\"\n\npackage main\n\nfunc main() { }": true, // go build says what is wrong with it
	} {
		if got := mainProgram(body); (got != body) != added || !strings.HasSuffix(got, body) {
			t.Errorf("%q becomes %q", body, got)
		}
	}
}

func TestGobuild(t *testing.T) {
	n := newNotebook(t)
	if _, err := exec.LookPath("go"); err == nil {
		printed, _, failure := n.run(t, "%%gobuild one 'two three'\nimport (\n\t\"fmt\"\n\t\"os\"\n)\nfunc main() { fmt.Println(os.Args[1:]) }")
		if failure != nil || printed != "[one two three]\n" {
			t.Errorf("%q, %+v", printed, failure)
		}
		printed, _, failure = n.run(t, "%%gobuild\n\nfunc main() {\n\tx := 1\n}")
		if failure == nil || !strings.HasPrefix(printed, "cell ") || !strings.Contains(printed, ":4:2: declared and not used: x") {
			t.Errorf("%q, %+v", printed, failure)
		}
		if _, _, failure = n.run(t, "%%gobuild\npackage main\n\nimport \"os\"\n\nfunc main() { os.Exit(3) }"); failure == nil || !strings.Contains(failure.Value, "status 3") {
			t.Errorf("%+v", failure)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, _, failure := n.run(t, "%%gobuild\nfunc main() {}"); failure == nil || !strings.Contains(failure.Value, "no Go toolchain") {
		t.Errorf("%+v", failure)
	}
}

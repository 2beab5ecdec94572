package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"forgekernel/display"
)

// command runs a command line and returns what it printed and its exit status.
func command(t *testing.T, args ...string) (stdout string, status int) {
	t.Helper()
	cmd := root()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	cmd.SetArgs(args)
	cmd, err := cmd.ExecuteContextC(t.Context())
	status = report(io.Discard, cmd, err)
	return out.String(), status
}

func TestExitStatus(t *testing.T) {
	tests := []struct {
		args string
		want int
	}{
		{"version", 0},
		{"version --json", 0},
		{"help", 0},
		{"version extra", exitUsage},
		{"version --nonsense", exitUsage},
		{"bench mlp_8_64_128 --backend cpu --threads 1025", exitUsage},
		{"verison", exitUsage},
		{"install --user --prefix x", exitUsage},
		{"uninstall --prefix " + t.TempDir(), exitFailure},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			if _, got := command(t, strings.Fields(tt.args)...); got != tt.want {
				t.Errorf("exit status %d, want %d", got, tt.want)
			}
		})
	}
}

// Every failure says what to do about it.
func TestMessages(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bad := write("bad.fs", "def f(x: f32[2]):\n    y = foo(x)\n    return bar(y)\n")
	mismatch := write("mismatch.fs", "def f(x: f32[2], y: f32[3]):\n    return x + y\n")
	python := write("python.ipynb", `{"cells": [], "metadata": {"kernelspec": {"name": "python3", "language": "python"}}, "nbformat": 4, "nbformat_minor": 5}`)
	ours := write("ours.ipynb", `{"cells": [], "metadata": {"kernelspec": {"name": "forge", "language": "go"}}, "nbformat": 4, "nbformat_minor": 5}`)
	fresh := write("fresh.ipynb", `{"cells": [{"cell_type": "code", "id": "a", "source": "1 + 1", "metadata": {}, "execution_count": null, "outputs": []}], "metadata": {"kernelspec": {"name": "forge", "language": "go"}}, "nbformat": 4, "nbformat_minor": 5}`)
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"compile"}, exitUsage, "forge: forge compile needs a FILE\nRun 'forge compile --help' for usage.\n"},
		{[]string{"capture", "list"}, exitUsage, "received 0; write forge capture list STORE"},
		{[]string{"nothing"}, exitUsage, "forge: no command \"nothing\"\nRun 'forge --help' for usage.\n"},
		{[]string{"run", bad, "--backend", "metal"}, exitUsage, "forge: --backend: there is no backend \"metal\"; there are interp, "},
		{[]string{"run", "--from", bad}, exitFailure, "error: expected \"graph\", found \"def\"\n --> " + bad + ":1:1\n1 | def f(x: f32[2]):\n  | ^\n"},
		{[]string{"run", "a", "b"}, exitUsage, `forge: forge run takes one FILE, and "b" is one too many`},
		{[]string{"notebook", "new", ""}, exitUsage, "forge: \"\" is not the name of a notebook\n"},
		{[]string{"notebook", "run", ours, "--html", ours}, exitUsage, "forge: --html: " + ours + " is the notebook itself\n"},
		{[]string{"notebook", "verify"}, exitUsage, "forge: forge notebook verify needs a notebook\n"},
		{[]string{"run", bad, "--seed", "abc"}, exitUsage, `forge: --seed takes a whole number that is not negative, not "abc"` + "\n"},
		{[]string{"notebook", "run", ours, "--timeout", "5"}, exitUsage, `forge: --timeout takes a duration such as 90s or 5m, not "5"`},
		{[]string{"compile", dir + "/none.fs"}, exitFailure, "forge: " + dir + "/none.fs: no such file or directory\n"},
		{[]string{"compile", bad}, exitFailure, "error: there is no function foo\n --> " + bad + ":2:9\n2 |     y = foo(x)\n  |         ^^^\nhint: "},
		{[]string{"compile", bad}, exitFailure, "\n\nerror: there is no function bar\n"},
		{[]string{"compile", mismatch}, exitFailure, "2 |     return x + y\n  |            ^^^^^\n"},
		{[]string{"notebook", "verify", fresh}, exitFailure, "forge: " + fresh + ": it stores no results to compare with: execute it first\n"},
		{[]string{"notebook", "run", python}, exitFailure, "forge: " + python + ` is a notebook of the kernel "python3": choose the kernel Forge`},
		{[]string{"notebook", "verify", python}, exitFailure, `is a notebook of the kernel "python3"`},
		{[]string{"notebook", "run", ours, "-o", dir + "/none/x.ipynb"}, exitFailure, "forge: cannot write " + dir + "/none/x.ipynb: " + dir + "/none: no such file or directory\n"},
		{[]string{"notebook", "run", ours, "--html", bad + "/x.html"}, exitFailure, bad + ": not a directory"},
		{[]string{"notebook", "run", ours, "--param", "rows"}, exitUsage, "--param"},
		{[]string{"notebook", "run", ours, "--param", "rows=8"}, exitUsage, "parameters: no cell of the notebook is tagged parameters"},
		{[]string{"notebook", "verify", ours, "--stored", "-o", "x.ipynb"}, exitUsage, "forge: --stored runs nothing: --output and --param go without it\n"},
		{[]string{"notebook", "verify", fresh, "--stored"}, exitFailure, "it stores no results to compare with"},
		{[]string{"notebook", "report", fresh}, exitFailure, "forge: " + fresh + ": it has no record of a run: execute it with forge notebook run first\n"},
		{[]string{"notebook", "new", dir + "/none/x"}, exitFailure, "forge: cannot write " + dir + "/none/x.ipynb"},
		{[]string{"notebook", "new", dir + "/x", "--template", "poem"}, exitUsage, `forge: --template: there is no template "poem"; there are bench and tutorial`},
		{[]string{"notebook", "new", ours}, exitFailure, "forge: " + ours + " is there already; give another name, or remove it\n"},
	} {
		cmd := root()
		var stderr bytes.Buffer
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		cmd.SetArgs(c.args)
		cmd, err := cmd.ExecuteContextC(t.Context())
		status := report(&stderr, cmd, err)
		if status != c.status || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("forge %s: exit status %d and\n%s\nwant %d and\n%s", strings.Join(c.args, " "), status, &stderr, c.status, c.want)
		}
	}
}

func TestVersionFlag(t *testing.T) {
	flag, status := command(t, "--version")
	if cmd, _ := command(t, "version"); status != 0 || flag != cmd || !strings.HasPrefix(flag, "forge ") {
		t.Errorf("--version prints %q with exit status %d, version %q", flag, status, cmd)
	}
}

func TestNotebookHTML(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.ipynb")
	if err := os.WriteFile(path, []byte(`{"cells": [], "metadata": {"title": "An empty one"}, "nbformat": 4, "nbformat_minor": 5}`), 0o600); err != nil {
		t.Fatal(err)
	}
	page, status := command(t, "notebook", "html", path, "-o", "-")
	if status != 0 || !strings.Contains(page, "<title>An empty one</title>") {
		t.Errorf("exit status %d and %q", status, page)
	}
	cmd := root()
	var stderr bytes.Buffer
	cmd.SetErr(&stderr)
	cmd.SetArgs([]string{"notebook", "html", path})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	written := strings.TrimSuffix(path, ".ipynb") + ".html"
	if stderr.String() != "wrote "+written+"\n" {
		t.Errorf("said %q", &stderr)
	}
	if stored, err := os.ReadFile(written); err != nil || string(stored) != page {
		t.Errorf("the file differs from standard output: %v", err)
	}
}

// What tells of progress must not stand in what a program reads: it goes to
// terminals alone.
func TestProgressIsNotOutput(t *testing.T) {
	var stdout, stderr bytes.Buffer
	cmd := runCommand()
	cmd.SetContext(t.Context())
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	ctx, wipe := withProgress(cmd)
	display.Progress(ctx, "half way", 2).Set(1)
	wipe()
	if stdout.Len()+stderr.Len() > 0 {
		t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
	}
}

// A warning stands on standard error, whether or not a command shows progress and
// whatever its program comes from.
func TestWarningsAreNotOutput(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "f.fs")
	if err := os.WriteFile(source, []byte("def f(x: f32[256,256]):\n    return x @ x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "f.ir")
	if _, status := command(t, "dump", source, "--after", "trace", "-o", text, "--backend", "interp"); status != 0 {
		t.Fatalf("dump: exit status %d", status)
	}
	for _, args := range [][]string{{"run", source, "--json"}, {"explain", source, "--json"}, {"explain", "--from", text, "--json"}} {
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
		cmd.Env = append(os.Environ(), asForge+"=1", "FORGE_CC=", "PATH="+dir, "FORGE_CACHE_DIR="+dir)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil || !json.Valid(stdout.Bytes()) || !strings.HasPrefix(stderr.String(), "warning: there is no C compiler") {
			t.Errorf("forge %s: %v, standard output begins %.60q, standard error is %q", strings.Join(args, " "), err, &stdout, &stderr)
		}
	}
}

func TestInstallCommands(t *testing.T) {
	prefix := t.TempDir()
	if _, status := command(t, "install", "--prefix", prefix); status != 0 {
		t.Fatalf("install: exit status %d", status)
	}
	spec := filepath.Join(prefix, "share", "jupyter", "kernels", "forge", "kernel.json")
	if _, err := os.Stat(spec); err != nil {
		t.Fatal(err)
	}
	if _, status := command(t, "uninstall", "--prefix", prefix); status != 0 {
		t.Fatalf("uninstall: exit status %d", status)
	}
	if _, err := os.Stat(spec); !os.IsNotExist(err) {
		t.Errorf("kernelspec still there: %v", err)
	}
}

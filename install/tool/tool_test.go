package tool

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script puts a shell script on PATH.
func script(t *testing.T, text string) *Tool {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thing"), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	tool, err := Find("thing", "install it")
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func TestRun(t *testing.T) {
	tool := script(t, "echo out $*; echo err >&2; exit ${1:-0}\n")
	var out bytes.Buffer
	tool.Out = &out
	if said, err := tool.Run(t.Context()); err != nil || !strings.Contains(said, "out") || !strings.Contains(said, "err") || out.String() != "out\n" {
		t.Errorf("%q, %q, %v", said, out.String(), err)
	}
	_, err := tool.Run(t.Context(), "3", "it's", "a b")
	var failed *Error
	if !errors.As(err, &failed) || failed.Status != 3 || !strings.Contains(err.Error(), `thing 3 'it'\''s' 'a b' ended with status 3: `) {
		t.Errorf("%v", err)
	}
	if _, err := Find("absent-thing", "install it"); err == nil || err.Error() != "there is no absent-thing on PATH: install it" {
		t.Errorf("%v", err)
	}
}

// What it prints is kept up to a limit, the end of it.
func TestKept(t *testing.T) {
	tool := script(t, "yes 0123456789 | head -c 2000000; echo; echo last; exit 1\n")
	said, err := tool.Run(t.Context())
	if len(said) != Kept || !strings.HasSuffix(said, "last\n") || err == nil || len(err.Error()) > 200 {
		t.Errorf("%d bytes, %v", len(said), err)
	}
}

// An interrupt reaches the tool and all that it started, and is the reason.
func TestInterrupt(t *testing.T) {
	tool := script(t, "trap 'echo interrupted; exit 1' INT\necho ready\nwhile :; do sleep 1; done\n") // it may be interrupted before it sleeps
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("stopped: interrupt")
	tool.Out = writer(func(p []byte) {
		if bytes.Contains(p, []byte("ready")) {
			cancel(why)
		}
	})
	if said, err := tool.Run(ctx); err != why || !strings.Contains(said, "interrupted") {
		t.Errorf("%q, %v", said, err)
	}
}

// A tool that went well and left a process behind, which holds its outputs, went well.
func TestLeftBehind(t *testing.T) {
	before := grace
	t.Cleanup(func() { grace = before })
	grace = 2 * time.Second // in which a busy machine must read what was printed
	tool := script(t, "sleep 60 &\necho $!\n")
	said, err := tool.Run(t.Context())
	left, number := strconv.Atoi(strings.TrimSpace(said))
	if number == nil {
		syscall.Kill(left, syscall.SIGKILL)
	}
	if err != nil || number != nil {
		t.Errorf("%q, %v", said, err)
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

func TestRequire(t *testing.T) {
	for said, want := range map[string]string{
		"Kaggle CLI 2.2.0": "", "v2.10.1 (x)": "", "3.0.0": "",
		"Kaggle CLI 2.1.9": "thing is 2.1.9; 2.2.0 or later is needed",
		"1.9.9":            "thing is 1.9.9; 2.2.0 or later is needed",
		"nothing":          `thing --version tells no version: "nothing"`,
	} {
		tool := script(t, "echo '"+said+"'\n")
		err := tool.Require(t.Context(), "--version", [3]int{2, 2, 0})
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v; want %q", said, err, want)
		}
	}
}

// A shell reads the words back.
func TestQuote(t *testing.T) {
	for _, argv := range [][]string{{"a", "b c"}, {`it's "x" $HOME`}, {"", "-x"}, {"a=1", "~", "*"}, {"ö\nü"}} {
		out, err := exec.Command("sh", "-c", `printf '%s\0' `+Quote(argv)).Output()
		if got := strings.Join(argv, "\x00") + "\x00"; err != nil || string(out) != got {
			t.Errorf("%s: %q, %v", Quote(argv), out, err)
		}
	}
}

package compile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// speaks is a program in place of Python: it writes its number to the file pid, says
// what the messages are, and then does what the command does.
func speaks(t *testing.T, command string, messages ...string) (path, pid string) {
	t.Helper()
	dir := t.TempDir()
	var said bytes.Buffer
	for _, m := range messages {
		said.Write(frame(m))
	}
	pid = filepath.Join(dir, "pid")
	for name, text := range map[string]string{
		"said":   said.String(),
		"python": fmt.Sprintf("#!/bin/sh\necho $$ > %s\ncat %s/said\n%s\n", pid, dir, command),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "python"), pid
}

func frame(text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

const welcome = `{"version": "1.2.3"}`

// TestOpen sees that a host without Triton gets one clear reason.
func TestOpen(t *testing.T) {
	for name, c := range map[string]struct {
		command  string
		messages []string
		want     string
	}{
		"no module": {"", []string{`{"error": "ModuleNotFoundError: No module named 'triton'"}`}, "No module named 'triton'"},
		"silent":    {"exit 3", nil, "ended: EOF"},
		"message":   {"echo 'SyntaxError: what' >&2; exit 1", nil, "ended: SyntaxError: what"},
		"no frame":  {"echo hello", nil, "a message of 1751477356 bytes is too long"},
		"no json":   {"", []string{"hello"}, "invalid character"},
		"half":      {"printf '\\000\\000\\000\\011{'", nil, "unexpected EOF"},
		"nothing":   {"", []string{"{}"}, "does not say the version"},
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := speaks(t, c.command, c.messages...)
			t.Setenv("FORGE_TRITON_PYTHON", path)
			_, err := Open(t.Context())
			var missing *Missing
			if !errors.As(err, &missing) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v, want %q in it", err, c.want)
			}
		})
	}
	t.Setenv("FORGE_TRITON_PYTHON", "/nonexistent/python")
	if _, err := Open(t.Context()); !errors.As(err, new(*Missing)) {
		t.Errorf("the error of a path that does not exist is %v", err)
	}
}

// TestAnswers sees that what a child says is checked.
func TestAnswers(t *testing.T) {
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	const elf = `"f0VMRg=="`
	for name, c := range map[string]struct{ answer, want string }{
		"name":   {`{"name": "a b", "warps": 4, "cubin": ` + elf + `}`, `its function is called "a b"`},
		"shared": {`{"name": "f", "warps": 4, "shared": -1, "cubin": ` + elf + `}`, "-1 bytes of shared memory"},
		"warps":  {`{"name": "f", "warps": 64, "cubin": ` + elf + `}`, "64 warps"},
		"code":   {`{"name": "f", "warps": 4, "cubin": "AAAA"}`, "no ELF file"},
		"base64": {`{"name": "f", "warps": 4, "cubin": "?"}`, "illegal base64"},
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := speaks(t, "exec sleep 60", welcome, c.answer)
			_, err := (&Compiler{Python: path, Limit: time.Minute}).Compile(t.Context(), jobs(example(t))[:1], 90)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q in it", err, c.want)
			}
		})
	}
	path, _ := speaks(t, "exec sleep 60", welcome, `{"error": "CompilationError: no"}`)
	made, err := (&Compiler{Python: path, Limit: time.Minute}).Compile(t.Context(), jobs(example(t))[:1], 90)
	if err != nil || made[0].Error != "CompilationError: no" {
		t.Errorf("what Triton refuses is %v, %v", made, err)
	}
}

// TestEnd sees that a child ends with the context and with the limit, with what it
// started, and that its folder goes.
func TestEnd(t *testing.T) {
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	end := func(t *testing.T, limit time.Duration, want string, cancelled bool) (begun bool) {
		started := filepath.Join(t.TempDir(), "started")
		path, pid := speaks(t, "sleep 1000 & echo $! > "+started+".new; mv "+started+".new "+started+"; wait", welcome)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		if cancelled {
			go func() {
				for !exists(started) && t.Context().Err() == nil {
					time.Sleep(time.Millisecond)
				}
				cancel(errors.New("stop"))
			}()
		}
		_, err := (&Compiler{Python: path, Limit: limit}).Compile(ctx, jobs(example(t))[:1], 90)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q in it", err, want)
		}
		if left, _ := filepath.Glob(filepath.Join(temporary, "forge-triton-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		for _, file := range []string{pid, started} {
			if raw, _ := os.ReadFile(file); len(raw) > 0 {
				gone(t, strings.TrimSpace(string(raw)))
			}
		}
		return exists(started)
	}
	t.Run("context", func(t *testing.T) { end(t, time.Hour, "stop", true) })
	t.Run("limit", func(t *testing.T) {
		// On a busy machine the limit may be over before there is anything to end.
		for limit := 200 * time.Millisecond; !end(t, limit, "longer than the limit", false); limit *= 2 {
		}
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// gone waits until a process has ended, which was told to.
func gone(t *testing.T, pid string) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); alive(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("the process %s goes on", pid)
		}
	}
}

// alive reports whether a process runs; one that nobody has waited for does not.
func alive(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// FuzzMessage sees that whatever a child writes is a message or an error.
func FuzzMessage(f *testing.F) {
	for _, text := range []string{welcome, `{"name": "f", "cubin": "f0VMRg==", "warps": 4}`, "[]", ""} {
		f.Add(frame(text))
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, '{'})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var b Binary
		if err := readMessage(bytes.NewReader(raw), &b); err == nil && b.Error == "" && b.check() == nil && len(b.Cubin) < 4 {
			t.Errorf("%q passes without machine code", raw)
		}
	})
}

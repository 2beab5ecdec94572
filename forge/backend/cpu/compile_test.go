package cpu_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forgekernel/display"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

func small(t testing.TB) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(op.Registry, "graph f(%x: f32[7]) {\n %y: f32[7] = exp %x\n return %y\n}")
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// ownCache gives a test an empty cache and returns its folder.
func ownCache(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("FORGE_CACHE_DIR", dir)
	return filepath.Join(dir, "cpu")
}

// TestCompilerTrouble gives the backend compilers that are absent, fail, are
// killed, leave nothing and never end. Each is one error, and leaves no file.
func TestCompilerTrouble(t *testing.T) {
	const version = `if [ "$1" = --version ]; then echo v1; exit 0; fi; `
	for name, c := range map[string]struct{ script, want string }{
		"absent":  {"", "FORGE_CC names no C compiler; it is one path, without arguments"},
		"fails":   {version + "echo program.c:1: error: no >&2; exit 1", "failed (exit status 1): program.c:1: error: no"},
		"killed":  {version + "kill -9 $$", "failed: signal: killed"},
		"nothing": {version + "exit 0", "left no library"},
		"garbage": {version + "echo hello > program.so", "does not load"},
		"hangs":   {version + "sleep 1000 & wait", "it took longer than the limit"},
		"silent":  {"sleep 1000", "it took longer than the limit"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := ownCache(t)
			path := filepath.Join(t.TempDir(), "cc")
			t.Setenv("FORGE_CC", path)
			if c.script != "" {
				if err := os.WriteFile(path, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			b := cpu.New()
			if strings.Contains(c.want, "limit") {
				b.CompileLimit = 300 * time.Millisecond
			}
			_, err := b.Compile(t.Context(), small(t))
			if err == nil || !strings.HasPrefix(err.Error(), "backend cpu: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
			left, _ := filepath.Glob(filepath.Join(dir, "build-*"))
			if len(left) > 0 {
				t.Errorf("%v was left", left)
			}
		})
	}
}

func TestCancelledCompilation(t *testing.T) {
	ownCache(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped by the test")
	cancel(stopped)
	if _, err := cpu.New().Compile(ctx, small(t)); !errors.Is(err, stopped) {
		t.Errorf("got error %v, not the cause", err)
	}
}

// TestCache finds one library after two compilations, and rebuilds it when it is
// damaged.
func TestCache(t *testing.T) {
	dir := ownCache(t)
	one := func(ctx context.Context) string {
		t.Helper()
		x, err := tensor.FromFloat32([]int{7}, make([]float32, 7))
		if err != nil {
			t.Fatal(err)
		}
		exe, err := cpu.New().Compile(ctx, small(t))
		if err != nil {
			t.Fatal(err)
		}
		if y := run(t, exe, []*tensor.Tensor{x})[0]; y.Elem(6) != 1 {
			t.Errorf("exp(0) is %v", y.Elem(6))
		}
		list, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(list) != 1 {
			t.Fatalf("the cache holds %v, %v", list, err)
		}
		return list[0]
	}
	told := &recorder{}
	ctx := display.WithSink(t.Context(), told)
	path := one(ctx)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if again := one(ctx); again != path {
		t.Errorf("the second compilation is kept in %s, the first in %s", again, path)
	}
	if len(told.text) > 0 {
		t.Errorf("an empty and a warm cache tell %q", told.text)
	}
	for name, damaged := range map[string][]byte{"empty": nil, "cut": whole[:len(whole)/2], "changed": append([]byte("x"), whole[1:]...)} {
		// A new file: the old one is mapped into this process.
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		one(ctx)
		if now, err := os.ReadFile(path); err != nil || len(now) != len(whole) {
			t.Errorf("%s: the library was not rebuilt: %d bytes, %v", name, len(now), err)
		}
		if len(told.text) != 1 || !strings.Contains(told.text[0], "was damaged") || !strings.Contains(told.text[0], "compiled again") {
			t.Errorf("%s: the user was told %q", name, told.text)
		}
		told.text = nil
	}
}

// recorder keeps what is displayed as text.
type recorder struct{ text []string }

func (r *recorder) Show(o display.Output) error {
	text, _ := o.Bundle.Data["text/plain"].(string)
	r.text = append(r.text, text)
	return nil
}

func (r *recorder) Clear(bool) error { return nil }

// TestCompilerSetting refuses what is no path of a program.
func TestCompilerSetting(t *testing.T) {
	ownCache(t)
	for _, path := range []string{"cc -O3", t.TempDir(), "/dev/null"} {
		t.Setenv("FORGE_CC", path)
		if _, err := cpu.New().Compile(t.Context(), small(t)); err == nil || !strings.Contains(err.Error(), "one path, without arguments") {
			t.Errorf("%s: got error %v", path, err)
		}
	}
	t.Setenv("FORGE_CC", "")
	t.Setenv("PATH", t.TempDir())
	if _, err := cpu.New().Compile(t.Context(), small(t)); !errors.As(err, &cpu.NoCompiler{}) {
		t.Errorf("without any: got error %v", err)
	}
}

// TestForeignCache refuses a folder into which others may write.
func TestForeignCache(t *testing.T) {
	dir := ownCache(t)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := cpu.New().Compile(t.Context(), small(t)); err == nil || !strings.Contains(err.Error(), "other users may write") {
		t.Errorf("got error %v", err)
	}
}

package doctor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	host "forgekernel/nebula/launch/doctor"
)

// found is the finding about one thing on a host that has only the given
// programs, each a shell script.
func found(t *testing.T, what string, programs map[string]string) host.Finding {
	t.Helper()
	dir := t.TempDir()
	for name, script := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	for _, f := range Examine(t.Context()).Findings {
		if f.What == what {
			return f
		}
	}
	t.Fatalf("no finding about %q", what)
	return host.Finding{}
}

func TestPrograms(t *testing.T) {
	for _, c := range []struct {
		name, what string
		programs   map[string]string
		state      host.State
		found      string
	}{
		{"none", "C compiler", nil, host.Warn, "cc, gcc, clang: not on PATH"},
		{"second choice", "C compiler", map[string]string{"clang": "echo clang 19; echo more"}, host.OK, "clang 19 ("},
		{"broken", "C compiler", map[string]string{"cc": "exit 3"}, host.Warn, "cc failed: exit status 3"},
		{"no toolchain", "Go toolchain", nil, host.Warn, "go: not on PATH"},
		{"no nvcc", "CUDA compiler", nil, host.OK, "nvcc: not on PATH"},
		{"python", "Python", map[string]string{"python3": "[ $1 = --version ] && echo Python 3.14.0"}, host.OK, "Python 3.14.0 ("},
		{"GPUs", "GPU", map[string]string{"nvidia-smi": "printf '0, T4, 15360 MiB, 570.1, 7.5\\n'"}, host.OK, "0: T4, 15360 MiB, sm_75; driver 570.1"},
		{"dead driver", "GPU", map[string]string{"nvidia-smi": "exit 9"}, host.Warn, "nvidia-smi failed: exit status 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := found(t, c.what, c.programs)
			if f.State != c.state || !strings.HasPrefix(f.Found, c.found) {
				t.Errorf("%+v; want %s: %s", f, c.state, c.found)
			}
			if f.State == host.Warn && f.Fix == "" {
				t.Error("nothing is advised")
			}
		})
	}
}

// A server whose environment is not on PATH is still the one that serves.
func TestJupyter(t *testing.T) {
	t.Setenv("JPY_PARENT_PID", "")
	if f := found(t, "Jupyter", nil); f.State != host.Warn || f.Fix == "" {
		t.Errorf("without one: %+v", f)
	}
	t.Setenv("JPY_PARENT_PID", strconv.Itoa(os.Getppid()))
	if f := found(t, "Jupyter", nil); f.State != host.OK || !strings.Contains(f.Found, "this kernel was started by ") {
		t.Errorf("with a parent: %+v", f)
	}
	for _, pid := range []string{"../self", "4000000000", strconv.Itoa(os.Getpid())} {
		t.Setenv("JPY_PARENT_PID", pid)
		if f := found(t, "Jupyter", nil); f.State != host.Warn {
			t.Errorf("with the parent %s: %+v", pid, f)
		}
	}
}

func TestCache(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "not", "yet"))
	if f := cache(t.Context(), host.This()); f.State != host.OK || !strings.HasPrefix(f.Found, dir) {
		t.Errorf("a cache that can be made: %+v", f)
	}
	t.Setenv("XDG_CACHE_HOME", "/proc/1")
	if f := cache(t.Context(), host.This()); f.State != host.Warn || f.Fix == "" {
		t.Errorf("a cache that cannot be written: %+v", f)
	}
}

// Every check says what it found on the machine that runs the tests.
func TestExamine(t *testing.T) {
	findings := Examine(t.Context()).Findings
	if len(findings) != len(checks) {
		t.Fatalf("%d findings of %d checks", len(findings), len(checks))
	}
	for i, f := range findings {
		if f.What != checks[i].What || f.Found == "" || f.State != host.OK && f.State != host.Warn && f.State != host.Fail {
			t.Errorf("finding %d: %+v", i, f)
		}
	}
}

package doctor

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"forgekernel/forge"
)

// found is the finding about one thing on a host that has only the given
// programs, each a shell script.
func found(t *testing.T, what string, programs map[string]string) Finding {
	t.Helper()
	dir := t.TempDir()
	for name, script := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	for _, f := range Examine(t.Context()) {
		if f.What == what {
			return f
		}
	}
	t.Fatalf("no finding about %q", what)
	return Finding{}
}

func TestPrograms(t *testing.T) {
	for _, c := range []struct {
		name, what string
		programs   map[string]string
		state      State
		found      string
	}{
		{"none", "C compiler", nil, Missing, "cc, gcc, clang: not on PATH"},
		{"second choice", "C compiler", map[string]string{"clang": "echo clang 19; echo more"}, OK, "clang 19 ("},
		{"broken", "C compiler", map[string]string{"cc": "exit 3"}, Missing, "cc failed: exit status 3"},
		{"no toolchain", "Go toolchain", nil, Missing, "go: not on PATH"},
		{"no nvcc", "CUDA compiler", nil, Info, "nvcc: not on PATH"},
		{"python", "Python", map[string]string{"python3": "[ $1 = --version ] && echo Python 3.14.0"}, OK, "Python 3.14.0 ("},
		{"GPUs", "GPU", map[string]string{"nvidia-smi": "printf 'T4, 15360 MiB, 570.1\\nT4, 15360 MiB, 570.1\\n'"}, OK, "T4, 15360 MiB, 570.1; T4, 15360 MiB, 570.1"},
		{"dead driver", "GPU", map[string]string{"nvidia-smi": "exit 9"}, Missing, "nvidia-smi failed: exit status 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := found(t, c.what, c.programs)
			if f.State != c.state || !strings.HasPrefix(f.Found, c.found) {
				t.Errorf("%+v; want %s: %s", f, c.state, c.found)
			}
			if f.State == Missing && f.Advice == "" {
				t.Error("nothing is advised")
			}
		})
	}
}

// A server whose environment is not on PATH is still the one that serves.
func TestJupyter(t *testing.T) {
	t.Setenv("JPY_PARENT_PID", "")
	if f := found(t, "Jupyter", nil); f.State != Missing || f.Advice == "" {
		t.Errorf("without one: %+v", f)
	}
	t.Setenv("JPY_PARENT_PID", strconv.Itoa(os.Getppid()))
	if f := found(t, "Jupyter", nil); f.State != OK || !strings.Contains(f.Found, "this kernel was started by ") {
		t.Errorf("with a parent: %+v", f)
	}
	for _, pid := range []string{"../self", "4000000000", strconv.Itoa(os.Getpid())} {
		t.Setenv("JPY_PARENT_PID", pid)
		if f := found(t, "Jupyter", nil); f.State != Missing {
			t.Errorf("with the parent %s: %+v", pid, f)
		}
	}
}

// No backend is named that does not exist.
func TestBackends(t *testing.T) {
	f := found(t, "GPU", nil)
	if devices, _ := filepath.Glob("/dev/nvidia[0-9]*"); len(devices) == 0 && f.Found != "no NVIDIA GPU; programs run on "+strings.Join(forge.Backends(), " or ") {
		t.Errorf("%+v", f)
	}
}

func TestLauncher(t *testing.T) {
	for _, l := range launchers {
		for _, name := range l.vars {
			t.Setenv(name, "") // to be put back
			os.Unsetenv(name)
		}
	}
	if f := found(t, "launcher", nil); f.State != Info {
		t.Errorf("without one: %+v", f)
	}
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "GROUP_RANK": "0"}, "torchrun: RANK=1 WORLD_SIZE=4"},
		{map[string]string{"SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, "none"}, // a batch script outside a step
		{map[string]string{"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_STEP_ID": "0"}, "srun: SLURM_PROCID=0 SLURM_NTASKS=2"},
	} {
		t.Run(c.want, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			if f := found(t, "launcher", nil); !strings.HasPrefix(f.Found, c.want) {
				t.Errorf("%+v; want %s", f, c.want)
			}
		})
	}
}

func TestCache(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "not", "yet"))
	if f := cache(t.Context()); f.State != OK || !strings.HasPrefix(f.Found, dir) {
		t.Errorf("a cache that can be made: %+v", f)
	}
	t.Setenv("XDG_CACHE_HOME", "/proc/1")
	if f := cache(t.Context()); f.State != Missing || f.Advice == "" {
		t.Errorf("a cache that cannot be written: %+v", f)
	}
}

// A program that does not answer ends with its context.
func TestHangingProgram(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := output(ctx, "/bin/sh", "-c", "sleep 1000"); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("error %v", err)
	}
}

// Every probe says what it found on the machine that runs the tests.
func TestExamine(t *testing.T) {
	findings := Examine(t.Context())
	if len(findings) != len(probes) {
		t.Fatalf("%d findings of %d probes", len(findings), len(probes))
	}
	for i, f := range findings {
		if f.What != probes[i].what || f.Found == "" || f.State != OK && f.State != Missing && f.State != Info {
			t.Errorf("finding %d: %+v", i, f)
		}
	}
}

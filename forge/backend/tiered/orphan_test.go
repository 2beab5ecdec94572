//go:build linux

package tiered_test

import (
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

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/portable"
	"forgekernel/forge/backend/tiered"
)

// hanging makes a compiler that never ends the compiler, and returns the file in
// which it writes its process and the one that it starts.
func hanging(t *testing.T) (pids string) {
	t.Helper()
	pids = filepath.Join(t.TempDir(), "pids")
	fakeCompiler(t, "sleep 1000 &\necho $$ $! > "+pids+".new; mv "+pids+".new "+pids+"; wait")
	return pids
}

// started waits for the compiler's processes.
func started(t *testing.T, pids string) []int {
	t.Helper()
	for {
		raw, err := os.ReadFile(pids)
		if errors.Is(err, os.ErrNotExist) && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
			continue
		}
		var list []int
		for field := range strings.FieldsSeq(string(raw)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, pid)
		}
		return list
	}
}

// gone waits until a process has ended; a zombie has.
func gone(pid int) {
	for syscall.Kill(pid, 0) == nil {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if _, state, ok := strings.Cut(string(stat), ") "); err != nil || ok && state[0] == 'Z' {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// TestStop ends a compilation and all its processes with its work.
func TestStop(t *testing.T) {
	for name, end := range map[string]func(w *tiered.Work, cancel context.CancelCauseFunc){
		"stopped":   func(w *tiered.Work, _ context.CancelCauseFunc) { w.Stop() },
		"cancelled": func(w *tiered.Work, cancel context.CancelCauseFunc) { cancel(errors.New("over")); w.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			_, dir := ownCache(t)
			pids := hanging(t)
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			b := &tiered.Backend{First: portable.New(), Second: cpu.New(), Work: tiered.NewWork(ctx)}
			exe := compile(t, t.Context(), b)
			list := started(t, pids)
			end(b.Work, cancel)
			if err := exe.Settle(t.Context()); err == nil || !strings.Contains(err.Error(), "did not finish") {
				t.Errorf("got error %v", err)
			}
			for _, pid := range list {
				gone(pid)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
				t.Errorf("%v was left", left)
			}
			after := compile(t, t.Context(), b)
			if err := after.Settle(t.Context()); err == nil {
				t.Error("work that was stopped compiles")
			}
			checkRun(t, after)
		})
	}
}

// TestKilledProcess kills a process that compiles; its compiler ends too.
func TestKilledProcess(t *testing.T) {
	if os.Getenv("FORGE_TEST_COMPILES") != "" {
		_ = compile(t, t.Context(), tiered.New(1))
		time.Sleep(time.Hour)
	}
	ownCache(t)
	pids := hanging(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
	cmd.Env = append(os.Environ(), "FORGE_TEST_COMPILES=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	list := started(t, pids)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	gone(list[0])
	_ = syscall.Kill(list[1], syscall.SIGKILL) // the sleep, which the compiler would have ended
}

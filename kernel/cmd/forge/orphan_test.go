package main

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"forgekernel/kernel/client"
	"forgekernel/nebula/proc"
)

// Nothing that a cell started outlives the kernel, however the kernel or its
// session ends: also not a process that left its group.
func TestNothingIsLeftBehind(t *testing.T) {
	ends := []struct {
		name string
		end  func(t *testing.T, kernel *client.Client)
	}{
		{"the kernel is shut down", func(t *testing.T, kernel *client.Client) {
			if err := kernel.Shutdown(t.Context(), false); err != nil {
				t.Fatal(err)
			}
		}},
		{"the kernel is killed", func(t *testing.T, kernel *client.Client) {
			syscall.Kill(kernelPID(t, kernel), syscall.SIGKILL)
		}},
		{"the session is killed", func(t *testing.T, kernel *client.Client) {
			if got := run(t, kernel, "syscall.Kill(os.Getpid(), syscall.SIGKILL)\nselect {}"); got.status != "error" {
				t.Fatalf("status %s", got.status)
			}
		}},
	}
	for _, tt := range ends {
		t.Run(tt.name, func(t *testing.T) {
			kernel := startKernel(t)
			got := run(t, kernel, "%%bash\nsleep 4242 >/dev/null 2>&1 & echo $!\nsetsid sleep 4242 >/dev/null 2>&1 & echo $!")
			pids := strings.Fields(got.stdout)
			if len(pids) != 2 {
				t.Fatalf("status %s, stdout %q, stderr %q", got.status, got.stdout, got.stderr)
			}
			tt.end(t, kernel)
			for _, pid := range pids {
				waitUntilGone(t, pid)
			}
		})
	}
}

func kernelPID(t *testing.T, kernel *client.Client) int {
	t.Helper()
	var usage struct{ PID int }
	if err := kernel.Request(t.Context(), "control", "usage_request", nil, &usage); err != nil {
		t.Fatal(err)
	}
	return usage.PID
}

func waitUntilGone(t *testing.T, pid string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for alive(pid) {
		select {
		case <-ctx.Done():
			n, _ := strconv.Atoi(pid)
			syscall.Kill(n, syscall.SIGKILL)
			t.Fatalf("process %s is still there", pid)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// alive reports whether a process exists and is not a zombie.
func alive(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return false
	}
	stat, err := proc.Read(n)
	return err == nil && !stat.Dead()
}

// state is the state of a process as ps shows it, or 0 when there is none.
func state(pid string) byte {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest[0]
}

package launch

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Under a launcher there is no control channel, and SIGTERM ends the rank: by its
// own will, or some time later against it, also in the middle of C.
func TestAttachUnderLauncher(t *testing.T) {
	for how, want := range map[string]int{"polite": 0, "late": exitStopped} {
		t.Run(how, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "rank", how)
			cmd.Env = append(os.Environ(), strings.Fields(torch4)...)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill()
			lines := bufio.NewScanner(out)
			if !lines.Scan() || lines.Text() != "attached" {
				t.Fatalf("the rank says %q", lines.Text())
			}
			cmd.Process.Signal(syscall.SIGINT) // is ignored
			cmd.Process.Signal(syscall.SIGTERM)
			cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != want {
				t.Errorf("%v, want status %d", cmd.ProcessState, want)
			}
		})
	}
}

// A full disk for the logs, a real one, hurts nobody.
func TestFullTmpfs(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	t.Setenv("XDG_RUNTIME_DIR", dir)
	r, _ := start(t, 2, "chatty")
	for range 2 {
		if e := next(t, r); e.Code != 5 || !strings.HasSuffix(e.Output, "last words\n") {
			t.Errorf("status %d, %v", e.Code, e.Signal)
		}
	}
	// The next start has no room for its record, and says so.
	if _, err := Start(t.Context(), Spec{Ranks: 1}); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("error %v", err)
	}
}

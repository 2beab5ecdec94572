package shell

import (
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"forgekernel/kernel/reap"
)

// The keeper's script kills exactly the groups that it still knows when its
// input ends.
func TestKeeperScript(t *testing.T) {
	group := func() *exec.Cmd {
		cmd := exec.Command("/bin/sh", "-c", "sleep 1000 & wait")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	known, forgotten, last := group(), group(), group()
	id := func(cmd *exec.Cmd) string { return strconv.Itoa(cmd.Process.Pid) }
	keeper := exec.Command("/bin/sh", "-c", keeperScript)
	keeper.Stdin = strings.NewReader("+ " + id(known) + "\n+ " + id(forgotten) + "\n+ " + id(last) + "\n- " + id(forgotten) + "\n")
	if out, err := keeper.CombinedOutput(); err != nil {
		t.Errorf("keeper: %v: %s", err, out)
	}
	for _, cmd := range []*exec.Cmd{known, last} {
		cmd.Wait()
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
			t.Errorf("a known group ended with %v", status)
		}
	}
	if err := syscall.Kill(-forgotten.Process.Pid, 0); err != nil {
		t.Errorf("a forgotten group: %v", err)
	}
	syscall.Kill(-forgotten.Process.Pid, syscall.SIGKILL)
	forgotten.Wait()
}

// A keeper that has been killed is replaced by one that knows all groups.
func TestKeeperIsReplaced(t *testing.T) {
	k := keeper{shell: "/bin/sh"}
	sleeper := func() *exec.Cmd {
		cmd := exec.Command("sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	first, second := sleeper(), sleeper()
	if err := k.add(first.Process.Pid); err != nil {
		t.Fatal(err)
	}
	k.stdin.(io.Closer).Close() // ends the keeper, and the first group
	first.Wait()
	if err := k.add(second.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if _, known := k.groups[second.Process.Pid]; len(k.groups) != 1 || !known {
		t.Errorf("groups %v, want only %d", k.groups, second.Process.Pid)
	}
	k.stdin.(io.Closer).Close()
	second.Wait()
	if status := second.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		t.Errorf("the second group ended with %v", status)
	}
}

// Without a keeper commands run, and the first one says what is lost.
func TestNoKeeper(t *testing.T) {
	usual := groups
	groups = &keeper{shell: "/does/not/exist"}
	defer func() { groups = usual }()
	for i, warned := range []bool{true, false} {
		c, stdout, stderr := line("echo works", false)
		if err := c.Run(t.Context()); err != nil || stdout.String() != "works\n" {
			t.Fatalf("run %d: %q, %v", i, stdout, err)
		}
		if got := strings.Contains(stderr.String(), "outlive a session that is killed"); got != warned {
			t.Errorf("run %d said %q", i, stderr)
		}
	}
}

// What a command has left behind does not stay a zombie for ever: the next command
// waits for it.
func TestOrphansAreWaitedFor(t *testing.T) {
	if err := reap.Adopt(); err != nil {
		t.Fatal(err)
	}
	run := func(script string) string {
		var out strings.Builder
		c := Command{Path: "/bin/sh", Args: []string{"-c", script}, Stdout: func() io.Writer { return &out }, Stderr: func() io.Writer { return &out }}
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out.String())
	}
	orphan, err := strconv.Atoi(run("sleep 1000 >/dev/null 2>&1 & echo $!"))
	if err != nil {
		t.Fatal(err)
	}
	syscall.Kill(orphan, syscall.SIGKILL)
	for syscall.Kill(orphan, 0) != syscall.ESRCH { // the test's time limit is the only one
		run("true")
	}
}

package shell

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
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

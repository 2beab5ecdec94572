package front

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup puts the session into a process group of its own. macOS sends no signal when a
// parent ends; the guard ends the group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// closedPipe makes a pipe whose ends close on exec.
func closedPipe(fds []int) error {
	syscall.ForkLock.RLock() // no child starts before they are marked
	defer syscall.ForkLock.RUnlock()
	if err := unix.Pipe(fds); err != nil {
		return err
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return nil
}

// limitData refuses a bound: macOS bounds no other process.
func limitData(_ int, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	return errors.New("macOS does not bound the memory of a process")
}

package front

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup puts the session into a process group of its own and ends it with the thread
// that starts it.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// closedPipe makes a pipe whose ends close on exec.
func closedPipe(fds []int) error { return unix.Pipe2(fds, unix.O_CLOEXEC) }

// limitData bounds the data of a process in bytes; 0 lifts the bound.
func limitData(pid int, bytes int64) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_DATA, nil, &now); err != nil {
		return fmt.Errorf("prlimit: %w", err)
	}
	limit := unix.Rlimit{Cur: now.Max, Max: now.Max} // lowering Max would be for good
	if bytes > 0 {
		limit.Cur = min(uint64(bytes), now.Max)
	}
	if limit != now {
		if err := unix.Prlimit(pid, unix.RLIMIT_DATA, &limit, nil); err != nil {
			return fmt.Errorf("prlimit: %w", err)
		}
	}
	return nil
}

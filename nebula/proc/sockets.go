package proc

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Sockets makes a connected pair of stream sockets. Both ends close on exec; one is
// passed to a child through exec.Cmd's ExtraFiles.
func Sockets(name string) (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // no child starts before they are marked
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, fd := range fds {
		if err == nil {
			err = unix.SetNonblock(fd, true)
		}
	}
	if err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return os.NewFile(uintptr(fds[0]), name), os.NewFile(uintptr(fds[1]), name+" of a child"), nil
}

package shell

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Requests for the mode of a terminal.
const getMode, setMode = unix.TCGETS, unix.TCSETS

// ownGroup puts a command into a process group of its own and ends it with its parent.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// unnamedFile is a file that ends with those who hold it open.
func unnamedFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("script", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd: %w", err)
	}
	return os.NewFile(uintptr(fd), "script"), nil
}

// otherEnd unlocks the other end of a pseudo-terminal and returns its path.
func otherEnd(master int) (string, error) {
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return "", fmt.Errorf("unlock pseudo-terminal: %w", err)
	}
	number, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return "", fmt.Errorf("number of pseudo-terminal: %w", err)
	}
	return fmt.Sprintf("/dev/pts/%d", number), nil
}

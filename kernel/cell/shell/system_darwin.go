package shell

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests for the mode of a terminal.
const getMode, setMode = unix.TIOCGETA, unix.TIOCSETA

// ownGroup puts a command into a process group of its own. macOS sends no signal when a
// parent ends; the keeper of the groups ends them.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// unnamedFile is a file that ends with those who hold it open.
func unnamedFile() (*os.File, error) {
	f, err := os.CreateTemp("", "script-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// otherEnd unlocks the other end of a pseudo-terminal and returns its path.
func otherEnd(master int) (string, error) {
	for _, request := range []uint{unix.TIOCPTYGRANT, unix.TIOCPTYUNLK} {
		if err := unix.IoctlSetInt(master, request, 0); err != nil {
			return "", fmt.Errorf("unlock pseudo-terminal: %w", err)
		}
	}
	var path [128]byte // as TIOCPTYGNAME fills it
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCPTYGNAME, uintptr(unsafe.Pointer(&path))); errno != 0 {
		return "", fmt.Errorf("name of pseudo-terminal: %w", errno)
	}
	return unix.ByteSliceToString(path[:]), nil
}

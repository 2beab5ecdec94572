package shell

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Size of the terminal that commands see, in characters.
const (
	terminalRows = 40
	terminalCols = 100
)

// openTerminal makes a pseudo-terminal that passes output on unchanged.
func openTerminal() (ours, theirs *os.File, err error) {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open /dev/ptmx: %w", err)
	}
	defer func() {
		if err != nil {
			unix.Close(master)
		}
	}()
	path, err := otherEnd(master)
	if err != nil {
		return nil, nil, err
	}
	slave, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open pseudo-terminal: %w", err)
	}
	defer func() {
		if err != nil {
			unix.Close(slave)
		}
	}()
	mode, err := unix.IoctlGetTermios(slave, getMode)
	if err != nil {
		return nil, nil, fmt.Errorf("mode of pseudo-terminal: %w", err)
	}
	mode.Oflag &^= unix.OPOST // no carriage returns before newlines
	mode.Lflag &^= unix.ECHO
	if err = unix.IoctlSetTermios(slave, setMode, mode); err != nil {
		return nil, nil, fmt.Errorf("mode of pseudo-terminal: %w", err)
	}
	size := &unix.Winsize{Row: terminalRows, Col: terminalCols}
	if err = unix.IoctlSetWinsize(slave, unix.TIOCSWINSZ, size); err != nil {
		return nil, nil, fmt.Errorf("size of pseudo-terminal: %w", err)
	}
	return os.NewFile(uintptr(master), "ptmx"), os.NewFile(uintptr(slave), "pts"), nil
}

package terminal

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	usualWidth = 80
	leastWidth = 20 // in less, nothing can be laid out
)

// Width is how many cells a line of w has: what the variable COLUMNS says, or the
// terminal that w is, or 80.
func Width(w io.Writer) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return max(n, leastWidth)
	}
	if f, ok := w.(interface{ Fd() uintptr }); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
			return max(int(size.Col), leastWidth)
		}
	}
	return usualWidth
}

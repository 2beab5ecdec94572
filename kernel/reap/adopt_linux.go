package reap

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Adopt makes the calling process the parent of its orphaned descendants.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphaned processes: %w", err)
	}
	return nil
}

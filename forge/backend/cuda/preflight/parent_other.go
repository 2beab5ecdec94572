//go:build unix && !linux

package preflight

import "syscall"

// endsWithParent is of no use here: CUDA is for Linux.
func endsWithParent() *syscall.SysProcAttr { return nil }

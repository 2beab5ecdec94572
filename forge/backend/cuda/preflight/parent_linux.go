package preflight

import "syscall"

// endsWithParent makes a process end when this one does.
func endsWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

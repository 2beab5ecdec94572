package webgpu

import "syscall"

// ownGroup starts a process group, which can be ended as one, and whose first process
// does not survive this one.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

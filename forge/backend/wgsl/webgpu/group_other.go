//go:build unix && !linux

package webgpu

import "syscall"

// ownGroup starts a process group, which can be ended as one.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

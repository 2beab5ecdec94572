package shell

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

var launcher struct {
	once  sync.Once
	start chan func()
}

// launch starts cmd from a thread that lives as long as the process: Linux
// sends a parent-death signal when the thread that started the child ends, and
// the Go runtime ends threads as it likes.
func launch(cmd *exec.Cmd) error {
	launcher.once.Do(func() {
		launcher.start = make(chan func())
		go func() {
			runtime.LockOSThread()
			for start := range launcher.start {
				start()
			}
		}()
	})
	errs := make(chan error)
	launcher.start <- func() { errs <- cmd.Start() }
	return <-errs
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return s.String()
}

package launch

import (
	"os"
	"runtime"
	"syscall"
)

// thisBinary is the running one; macOS knows it by its path alone.
var thisBinary, _ = os.Executable() // without a path no rank starts, which says so

// hangup is the event of a control channel whose other end is closed, which is always
// reported.
const hangup = 0

// ownGroup puts a rank into a process group of its own. macOS sends no signal when a
// parent ends; the control channel tells.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Processors are those that the calling thread may use.
func Processors() ([]int, error) {
	list := make([]int, runtime.NumCPU())
	for n := range list {
		list[n] = n
	}
	return list, nil
}

// Keep gives the calling goroutine a thread of its own, to its end. macOS binds no thread to
// processors.
func Keep([]int) error {
	runtime.LockOSThread()
	return nil
}

// bindThreads does nothing: macOS binds no thread to processors.
func bindThreads([]int) (bool, error) { return false, nil }

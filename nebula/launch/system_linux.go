package launch

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// thisBinary is the running one, also when another has been put in its place.
const thisBinary = "/proc/self/exe"

// hangup is the event of a control channel whose other end is closed.
const hangup = unix.POLLRDHUP

// ownGroup puts a rank into a process group of its own and ends it with its parent.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

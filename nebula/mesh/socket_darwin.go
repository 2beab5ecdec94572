package mesh

import (
	"time"

	"golang.org/x/sys/unix"
)

// peerUser is the user of the process at the other end of a Unix socket.
func peerUser(fd int) (uint32, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return cred.Uid, nil
}

// giveUpAfter ends a TCP connection whose data nobody acknowledges for so long.
func giveUpAfter(fd int, d time.Duration) error {
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_RXT_CONNDROPTIME, int((d+time.Second-1)/time.Second))
}

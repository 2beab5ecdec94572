package mesh

import (
	"time"

	"golang.org/x/sys/unix"
)

// peerUser is the user of the process at the other end of a Unix socket.
func peerUser(fd int) (uint32, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return cred.Uid, nil
}

// giveUpAfter ends a TCP connection whose data nobody acknowledges for so long.
func giveUpAfter(fd int, d time.Duration) error {
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d/time.Millisecond))
}

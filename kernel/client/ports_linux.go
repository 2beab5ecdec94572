package client

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// holdPorts finds n free ports and keeps them from everybody else's choice until
// release is called: they are bound without being listened to, which a kernel may
// still do, since every library of sockets for kernels sets SO_REUSEADDR.
func holdPorts(n int) (ports []int, release func(), err error) {
	var fds []int
	release = func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
	for range n {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			release()
			return nil, nil, fmt.Errorf("client: find a free port: %w", err)
		}
		fds = append(fds, fd)
		port, err := bindAny(fd)
		if err != nil {
			release()
			return nil, nil, fmt.Errorf("client: find a free port: %w", err)
		}
		ports = append(ports, port)
	}
	return ports, release, nil
}

// bindAny binds a socket to a port of the loopback interface that nobody has.
func bindAny(fd int) (port int, err error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	return name.(*unix.SockaddrInet4).Port, nil
}

package client

import (
	"fmt"
	"net"
)

// holdPorts finds n free ports. Here a port that is bound cannot be bound again, so
// that nothing keeps them until the kernel binds them.
func holdPorts(n int) (ports []int, release func(), err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, fmt.Errorf("client: find a free port: %w", err)
		}
		defer l.Close() // after all are chosen, so that they differ
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, func() {}, nil
}

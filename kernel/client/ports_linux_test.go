package client

import (
	"fmt"
	"net"
	"testing"
)

// A port that is chosen for a kernel is given to nobody else until the kernel, which
// comes later, listens on it.
func TestPortsAreHeld(t *testing.T) {
	ports, release, err := holdPorts(5)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	held := map[int]bool{}
	for _, port := range ports {
		held[port] = true
	}
	if len(held) != 5 {
		t.Errorf("the ports %v are not five", ports)
	}
	for range 40_000 { // more than there are to be chosen from
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if port := l.Addr().(*net.TCPAddr).Port; held[port] {
			t.Fatalf("port %d is given away", port)
		}
		l.Close()
	}
	for _, port := range ports {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
}

package client

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
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

// What held the ports is closed when the kernel has them, and when it does not start.
func TestPortsAreReleased(t *testing.T) {
	before := sockets(t)
	start(t, fakeCommand(t, ""), Options{}).Close()
	if c, err := Start(testContext(t), Command{Argv: []string{"/does/not/exist"}}, Options{}); err == nil {
		c.Close()
		t.Error("a program that is not there starts")
	}
	ctx := testContext(t)
	for {
		more := slices.DeleteFunc(sockets(t), func(s string) bool { return slices.Contains(before, s) })
		if len(more) == 0 {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%v are left open", more)
		}
		time.Sleep(time.Millisecond) // the last are being closed
	}
}

// sockets are those that are open, by their numbers.
func sockets(t *testing.T) (list []string) {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name, err := os.Readlink("/proc/self/fd/" + file.Name()); err == nil && strings.HasPrefix(name, "socket:") {
			list = append(list, name)
		}
	}
	return list
}

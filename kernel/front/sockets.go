package front

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"forgekernel/kernel/wire"
	"forgekernel/kernel/zmtp"
)

// iopubQueue bounds in bytes what waits for one IOPub client; beyond it cells
// wait.
const iopubQueue = 16 << 20

// stallLimit is how long a client may take next to nothing of that; then it is
// disconnected.
var stallLimit = 30 * time.Second

// sockets are the five that a connection file names.
type sockets struct {
	shell, control, stdin *zmtp.Router
	iopub                 *zmtp.XPub
	heartbeat             *zmtp.Echo
}

// listen binds the sockets of c. Ports that were 0 are filled in.
func listen(c *wire.Connection, welcome func(topic []byte) [][]byte, log *slog.Logger) (s *sockets, err error) {
	s = &sockets{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	limited := &rateLimit{}
	opts := zmtp.Options{Logger: func(format string, args ...any) {
		if limited.allow() {
			log.Warn(fmt.Sprintf(format, args...))
		}
	}}
	number := 0 // of ipc sockets, which have no free ports to ask for
	endpoint := func(port *int) string {
		if number++; *port == 0 && c.Transport == "ipc" {
			*port = number
		}
		return c.Endpoint(*port)
	}
	router := func(name string, port *int) *zmtp.Router {
		if err != nil {
			return nil
		}
		var r *zmtp.Router
		if r, err = zmtp.ListenRouter(endpoint(port), opts); err != nil {
			err = fmt.Errorf("front: %s socket: %w", name, err)
			return nil
		}
		*port = boundPort(r.Endpoint(), *port)
		return r
	}
	s.shell = router("shell", &c.ShellPort)
	s.control = router("control", &c.ControlPort)
	s.stdin = router("stdin", &c.StdinPort)
	if err != nil {
		return s, err
	}
	if s.heartbeat, err = zmtp.ListenEcho(endpoint(&c.HBPort), opts); err != nil {
		return s, fmt.Errorf("front: heartbeat socket: %w", err)
	}
	c.HBPort = boundPort(s.heartbeat.Endpoint(), c.HBPort)
	opts.Welcome, opts.QueueBytes, opts.StallLimit = welcome, iopubQueue, stallLimit
	if s.iopub, err = zmtp.ListenXPub(endpoint(&c.IOPubPort), opts); err != nil {
		return s, fmt.Errorf("front: iopub socket: %w", err)
	}
	c.IOPubPort = boundPort(s.iopub.Endpoint(), c.IOPubPort)
	return s, nil
}

// boundPort is the port of a tcp endpoint; an ipc one has the port it asked for.
func boundPort(endpoint string, asked int) int {
	address, ok := strings.CutPrefix(endpoint, "tcp://")
	if !ok {
		return asked
	}
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return asked
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return asked
	}
	return port
}

// close sends what is queued, each socket within its linger, and ends them.
func (s *sockets) close() error {
	var closers []func() error
	for _, r := range []*zmtp.Router{s.shell, s.control, s.stdin} {
		if r != nil {
			closers = append(closers, r.Close)
		}
	}
	if s.iopub != nil {
		closers = append(closers, s.iopub.Close)
	}
	if s.heartbeat != nil {
		closers = append(closers, s.heartbeat.Close)
	}
	failed := make(chan error)
	for _, c := range closers {
		go func() { failed <- c() }()
	}
	var all error
	for range closers {
		all = errors.Join(all, <-failed)
	}
	return all
}

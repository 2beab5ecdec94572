package zmtp

import (
	"errors"
	"net"
	"time"

	"github.com/go-zeromq/zmq4"
)

// server is a bound socket.
type server struct {
	*socket
	listener net.Listener
}

// listen binds a socket. Connections are accepted only after start, so that
// the pattern can be built around the server.
func listen(kind zmq4.SocketType, endpoint string, opts Options, p pattern) (*server, error) {
	l, real, err := bind(endpoint)
	if err != nil {
		return nil, err
	}
	return &server{newSocket(kind, real, nil, opts, p), l}, nil
}

// start accepts connections until Close.
func (s *server) start() {
	s.running.Go(s.accept)
}

// Longest wait after a failed accept or dial.
const maxBackoff = 250 * time.Millisecond

func (s *server) accept() {
	backoff := time.Millisecond
	for {
		conn, err := s.listener.Accept()
		if err == nil {
			backoff = time.Millisecond
			if s.admit(conn) {
				go s.run(conn)
			}
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		// For example too many open files: others may close theirs.
		s.log("accept: %v; again in %v", err, backoff)
		if !s.pause(backoff) {
			return
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// Close sends what is queued, for at most the linger time, disconnects
// everybody and waits for all goroutines of the socket.
func (s *server) Close() error {
	s.listener.Close()
	return s.socket.Close()
}

// pause waits and reports whether the socket is still open.
func (s *socket) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.closing:
		return false
	}
}

package zmtp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/go-zeromq/zmq4"
)

// pattern is what distinguishes one socket type from another. Its methods are
// called from the goroutine that reads the peer, one at a time for each peer.
type pattern interface {
	// opened comes after the handshake and before anything is received.
	opened(p *peer) error
	// received gets a message; an error ends the connection.
	received(p *peer, frames [][]byte) error
	// subscribed gets a SUBSCRIBE or CANCEL command.
	subscribed(p *peer, topic []byte, cancel bool)
	// gone comes last, when nothing more can be sent.
	gone(p *peer)
}

// socket runs the connections of one socket, whoever began them.
type socket struct {
	kind     zmq4.SocketType
	identity []byte
	endpoint string
	opts     Options
	pattern  pattern
	closing  chan struct{} // closed first by Close
	running  sync.WaitGroup
	large    pool

	mu    sync.Mutex
	conns map[net.Conn]*peer // nil until the handshake is over; nil map after Close
}

func newSocket(kind zmq4.SocketType, endpoint string, identity []byte, opts Options, p pattern) *socket {
	return &socket{
		kind: kind, identity: identity, endpoint: endpoint, opts: opts, pattern: p,
		closing: make(chan struct{}), conns: make(map[net.Conn]*peer), large: pool{max: opts.LargeBytes},
	}
}

// Endpoint is the endpoint of the socket; a bound one has the real port.
func (s *socket) Endpoint() string { return s.endpoint }

func (s *socket) log(format string, args ...any) {
	s.opts.Logger("%s %s: %s", s.kind, s.endpoint, fmt.Sprintf(format, args...))
}

// admit takes charge of a new connection, or closes it.
func (s *socket) admit(conn net.Conn) bool {
	s.mu.Lock()
	full := len(s.conns) >= s.opts.MaxPeers
	admitted := s.conns != nil && !full
	if admitted {
		s.conns[conn] = nil
		s.running.Add(1)
	}
	s.mu.Unlock()
	if !admitted {
		conn.Close()
	}
	if full {
		s.log("refused a connection: there are %d", s.opts.MaxPeers)
	}
	return admitted
}

// run serves an admitted connection until it ends. It reports whether the
// handshake succeeded.
func (s *socket) run(conn net.Conn) (shook bool) {
	defer s.running.Done()
	defer func() {
		conn.Close()
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	}()
	p := &peer{conn: conn, queue: newQueue(&s.opts), written: make(chan struct{})}
	if err := safely(func() error { return s.handshake(p) }); err != nil {
		s.ended(fmt.Errorf("handshake: %w", err))
		return false
	}
	go func() {
		defer close(p.written)
		if err := safely(p.write); err != nil {
			p.disconnect(err)
		}
	}()
	p.disconnect(safely(func() error { return s.read(p) }))
	s.large.give(p.guard.handOver())
	<-p.written
	s.pattern.gone(p)
	s.ended(p.why)
	return true
}

// ended logs why a connection ended, unless peers may do that.
func (s *socket) ended(why error) {
	for _, usual := range []error{nil, io.EOF, net.ErrClosed, zmq4.ErrClosedConn, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(why, usual) {
			return
		}
	}
	s.log("disconnected a peer: %v", why)
}

// handshake opens p under a deadline and makes it known.
func (s *socket) handshake(p *peer) error {
	if err := p.conn.SetDeadline(time.Now().Add(s.opts.HandshakeTimeout)); err != nil {
		return err
	}
	p.guard = newGuard(p.conn, s.opts.Limits, &s.large, func(name string, body []byte) { s.command(p, name, body) })
	z, err := zmq4.Open(p.guard, nullSecurity, s.kind, s.identity, false, nil)
	if err != nil {
		return err
	}
	if err := p.conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	p.zmtp = z
	p.identity = z.Peer.Meta["Identity"]
	p.guard.out.stall = s.opts.StallLimit
	s.mu.Lock()
	if s.conns == nil {
		s.mu.Unlock()
		return net.ErrClosed
	}
	s.conns[p.conn] = p
	s.mu.Unlock()
	return s.pattern.opened(p)
}

// read passes messages on until the connection ends. While the socket closes
// it goes on and forgets them: closing with unread bytes would reset the
// connection and destroy what was just sent.
func (s *socket) read(p *peer) error {
	for {
		msg, err := p.zmtp.RecvMsg()
		if err != nil {
			return err
		}
		select {
		case <-s.closing:
		default:
			if err := s.pattern.received(p, msg.Frames); err != nil {
				return err
			}
		}
		s.large.give(p.guard.handOver())
	}
}

// command handles what the guard took out of the stream.
func (s *socket) command(p *peer, name string, body []byte) {
	switch name {
	case zmq4.CmdPing: // two bytes of time to live, then a context to return
		if len(body) >= 2 {
			p.queue.pong(append([]byte(nil), body[2:]...))
		}
	case zmq4.CmdSubscribe:
		s.pattern.subscribed(p, body, false)
	case zmq4.CmdCancel:
		s.pattern.subscribed(p, body, true)
	}
}

// Close sends what is queued, for at most the linger time, disconnects
// everybody and waits for all goroutines of the socket.
func (s *socket) Close() error {
	s.mu.Lock()
	conns := s.conns
	s.conns = nil
	s.mu.Unlock()
	if conns == nil {
		return ErrClosed
	}
	close(s.closing)
	for conn, p := range conns {
		if p == nil {
			conn.Close()
		} else {
			p.queue.close(false)
		}
	}
	limit := time.AfterFunc(s.opts.Linger, func() {
		for conn := range conns {
			conn.Close()
		}
	})
	s.running.Wait()
	limit.Stop()
	return nil
}

// safely turns a panic of the library, which a remote peer can provoke, into
// an error.
func safely(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("zmtp: panic: %v", r)
		}
	}()
	return f()
}

package mesh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Stream is a connection to another rank.
type Stream struct {
	net.Conn
	Peer    int
	Purpose string
	mesh    *Mesh
}

// Lost is the end of a stream that this rank did not close: the other rank did, or
// died, or cannot be reached any more.
type Lost struct {
	Rank    int
	Purpose string
	Err     error // io.EOF, or what the connection reports
}

func (l *Lost) Error() string {
	return fmt.Sprintf("rank %d has ended stream %q: %v", l.Rank, l.Purpose, l.Err)
}

func (l *Lost) Unwrap() error { return l.Err }

// Read is that of [net.Conn] and reports the other rank's end as [*Lost].
func (s *Stream) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	return n, s.lost(err)
}

// Write is that of [net.Conn] and reports the other rank's end as [*Lost].
func (s *Stream) Write(b []byte) (int, error) {
	n, err := s.Conn.Write(b)
	return n, s.lost(err)
}

func (s *Stream) lost(err error) error {
	if err == nil || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return &Lost{s.Peer, s.Purpose, err}
}

// Close ends the stream.
func (s *Stream) Close() error {
	s.mesh.forget(s)
	return s.Conn.Close()
}

// SendFile gives the other rank an open file, with one byte in the stream. It
// works between ranks on one host.
func (s *Stream) SendFile(f *os.File) error {
	c, ok := s.Conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("mesh: files cannot be sent to rank %d on another host", s.Peer)
	}
	_, _, err := c.WriteMsgUnix([]byte{0}, unix.UnixRights(int(f.Fd())), nil)
	return s.lost(err)
}

// ReceiveFile takes a file that the other rank sends with SendFile.
func (s *Stream) ReceiveFile() (*os.File, error) {
	c, ok := s.Conn.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("mesh: files cannot be received from rank %d on another host", s.Peer)
	}
	var one [1]byte
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := c.ReadMsgUnix(one[:], oob)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return nil, s.lost(err)
	}
	fds, err := descriptors(oob[:oobn])
	if err == nil && len(fds) != 1 {
		err = fmt.Errorf("mesh: rank %d sent %d files where one is expected", s.Peer, len(fds))
	}
	if err != nil {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), "shared memory"), nil
}

// descriptors are those that came with a message, and are open now: there can be more
// than were asked for, since room for one has some to spare.
func descriptors(oob []byte) (fds []int, err error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	for i := range messages {
		if list, err := unix.ParseUnixRights(&messages[i]); err == nil { // else it brings something else
			fds = append(fds, list...)
		}
	}
	return fds, err
}

// Stream is a new stream to another rank, who asks for the same purpose: the one
// of higher rank connects. A purpose serves one stream at a time.
func (m *Mesh) Stream(ctx context.Context, peer int, purpose string) (*Stream, error) {
	switch {
	case peer < 0 || peer >= m.config.Size || peer == m.config.Rank:
		return nil, fmt.Errorf("mesh: rank %d cannot have a stream to rank %d of %d", m.config.Rank, peer, m.config.Size)
	case purpose == "" || purpose == command || len(purpose) > maxPurpose:
		return nil, fmt.Errorf("mesh: %q cannot be the purpose of a stream", purpose)
	case m.config.Rank > peer:
		return m.connect(ctx, peer, purpose)
	}
	k := streamKey{peer, purpose}
	slot, err := m.slot(k)
	if err != nil {
		return nil, err
	}
	select {
	case s := <-slot:
		m.mu.Lock()
		delete(m.awaited, k)
		m.mu.Unlock()
		return s, nil
	case <-m.ended.Done():
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, fmt.Errorf("mesh: rank %d did not ask for stream %q: %w", peer, purpose, context.Cause(ctx))
	}
}

// connect is Stream on the side that connects.
func (m *Mesh) connect(ctx context.Context, peer int, purpose string) (*Stream, error) {
	p := m.peers[peer]
	network, address := "tcp", p.Address
	if p.Shared {
		network, address = "unix", socketName(m.config.Job, m.config.Epoch, peer)
	}
	c, err := m.dial(ctx, network, address, peer, purpose)
	if err != nil {
		return nil, fmt.Errorf("mesh: stream %q to rank %d: %w", purpose, peer, err)
	}
	if _, err = hear(c); err == nil {
		err = c.SetDeadline(time.Time{})
	}
	var s *Stream
	if err == nil {
		s, err = m.adopt(c, peer, purpose)
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("mesh: stream %q to rank %d: %w", purpose, peer, err)
	}
	return s, nil
}

// dial connects to a rank and greets it.
func (m *Mesh) dial(ctx context.Context, network, address string, to int, purpose string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d := net.Dialer{Control: tune}
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	stop := closeAtEnd(ctx, c)
	limit, _ := ctx.Deadline()
	err = m.greet(c, to, purpose, limit)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// closeAtEnd closes a connection when a context ends. The result undoes that, and
// reports false if it was too late.
func closeAtEnd(ctx context.Context, c net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() { c.Close() })
}

// tune makes the kernel give up a host that does not answer any more.
func tune(network, _ string, c syscall.RawConn) error {
	if network == "unix" {
		return nil
	}
	var failure error
	err := c.Control(func(fd uintptr) { failure = giveUpAfter(int(fd), 2*patience) })
	return errors.Join(err, failure)
}

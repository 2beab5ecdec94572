package mesh

import (
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	maxGreetings = 64   // connections that have not proven themselves, at a time
	maxAwaited   = 1024 // streams that nobody has asked for yet
)

// command is the purpose of the streams of the rendezvous.
const command = "command"

// arrival is a rank that has come to the rendezvous.
type arrival struct {
	*hello
	conn net.Conn
}

// serve accepts connections until the listener is closed.
func (m *Mesh) serve(l net.Listener) {
	greetings := make(chan struct{}, maxGreetings)
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // of descriptors, say, there may be more later
			m.logf("a connection was not accepted: %v", err)
			select {
			case <-m.ended.Done():
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		select {
		case greetings <- struct{}{}:
			m.doors.Go(func() {
				m.welcome(c)
				<-greetings
			})
		default:
			c.Close()
			m.logf("a connection was dropped: %d others have not said who they are", maxGreetings)
		}
	}
}

// welcome takes a connection through the handshake and to who waits for it.
func (m *Mesh) welcome(c net.Conn) {
	stop := closeAtEnd(m.ended, c)
	h, err := m.receive(c)
	if !stop() {
		return
	}
	if err == nil && h.Purpose == command {
		if err = m.arrive(&arrival{h, c}); err == nil {
			return
		}
		_ = decide(c, &verdict{Refusal: err.Error()}, time.Now().Add(patience))
	} else if err == nil {
		err = m.offer(h, c)
	}
	if err != nil {
		c.Close()
		m.logf("a connection was dropped: %v", err)
	}
}

// arrive hands a rank to the rendezvous, if it is still on.
func (m *Mesh) arrive(a *arrival) error {
	m.mu.Lock()
	joining := m.joining
	m.mu.Unlock()
	if joining != nil {
		select {
		case joining <- a:
			return nil
		case <-m.ended.Done():
		case <-time.After(patience):
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failure != nil {
		return m.failure
	}
	return fmt.Errorf("mesh: rank %d of job %q cannot join in epoch %d: the rendezvous is over", a.From, a.Job, a.Epoch)
}

// offer makes a stream of a connection and leaves it for [Mesh.Stream].
func (m *Mesh) offer(h *hello, c net.Conn) error {
	slot, err := m.slot(streamKey{h.From, h.Purpose})
	if err == nil && (h.From <= m.config.Rank || h.From >= m.config.Size) {
		err = fmt.Errorf("rank %d cannot connect to rank %d in a job of %d", h.From, m.config.Rank, m.config.Size)
	}
	if err != nil {
		_ = decide(c, &verdict{Refusal: err.Error()}, time.Now().Add(patience))
		return err
	}
	s, err := m.adopt(c, h.From, h.Purpose)
	if err != nil {
		return err
	}
	if err := decide(c, &verdict{}, time.Now().Add(patience)); err != nil {
		m.forget(s)
		return err
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		m.forget(s)
		return err
	}
	select {
	case slot <- s:
		return nil
	default:
		m.forget(s)
		return fmt.Errorf("rank %d has a stream %q already", h.From, h.Purpose)
	}
}

// slot is where the two who bring and who want a stream meet.
func (m *Mesh) slot(k streamKey) (chan *Stream, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.awaited[k]
	if !ok {
		if len(m.awaited) >= maxAwaited {
			return nil, fmt.Errorf("there are %d streams already that nobody has asked for", maxAwaited)
		}
		s = make(chan *Stream, 1)
		m.awaited[k] = s
	}
	return s, nil
}

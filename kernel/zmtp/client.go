package zmtp

import (
	"context"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"
)

// client is a socket that connects, and connects again when the connection
// ends. It has one peer at a time and is its own pattern.
type client struct {
	*socket
	in    chan received
	greet [][]byte // one-frame messages that go first on every connection

	mu      sync.Mutex
	peer    *peer         // nil while not connected
	changed chan struct{} // closed and replaced when peer changes
}

// received is a message and the connection it came on.
type received struct {
	from   *peer
	frames [][]byte
}

func newClient(kind zmq4.SocketType, endpoint string, identity []byte, opts Options, greet [][]byte) (*client, error) {
	if _, _, err := splitEndpoint(endpoint); err != nil {
		return nil, err
	}
	c := &client{in: make(chan received, inbox), greet: greet, changed: make(chan struct{})}
	c.socket = newSocket(kind, endpoint, identity, opts.withDefaults(messageLimits), c)
	c.running.Go(c.connect)
	return c, nil
}

// connect keeps the socket connected until Close.
func (c *client) connect() {
	ctx, cancel := context.WithCancel(context.Background())
	c.running.Go(func() {
		<-c.closing
		cancel()
	})
	const first = time.Millisecond
	// It grows slowly: a kernel that takes 40 ms to bind is found 5 ms later.
	for backoff := first; ; backoff = min(backoff+backoff/8, maxBackoff) {
		conn, err := dial(ctx, c.endpoint)
		if err == nil && c.admit(conn) && c.run(conn) {
			backoff = 16 * first // not at once: the other side may refuse us on purpose
		}
		if !c.pause(backoff) {
			return
		}
	}
}

func (c *client) opened(p *peer) error {
	for _, frame := range c.greet {
		if err := p.queue.put([][]byte{frame}, 1); err != nil {
			return err
		}
	}
	c.setPeer(p)
	return nil
}

func (c *client) received(p *peer, frames [][]byte) error {
	select {
	case c.in <- received{p, frames}:
	case <-c.closing:
	}
	return nil
}

func (c *client) subscribed(*peer, []byte, bool) {}

func (c *client) gone(*peer) { c.setPeer(nil) }

func (c *client) setPeer(p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peer = p
	close(c.changed)
	c.changed = make(chan struct{})
}

// Connected waits until the socket has shaken hands. It fails with ErrClosed or
// ctx's error.
func (c *client) Connected(ctx context.Context) error {
	for {
		c.mu.Lock()
		p, changed := c.peer, c.changed
		c.mu.Unlock()
		if p != nil {
			return nil
		}
		if _, err := recv(ctx, changed, c.closing); err != nil {
			return err
		}
	}
}

// send waits for a connection with room and returns it.
func (c *client) send(ctx context.Context, frames [][]byte) (*peer, error) {
	n := byteSize(frames)
	for {
		c.mu.Lock()
		p, wait := c.peer, (<-chan struct{})(c.changed)
		c.mu.Unlock()
		if p != nil {
			if full := p.queue.room(n); full != nil {
				wait = full
			} else if err := p.queue.put(frames, 1); err == nil {
				return p, nil
			} else if err == ErrStalled { // another sender took the room
				continue
			}
		}
		select {
		case <-wait:
		case <-c.closing:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Dealer is a DEALER socket that connects. Its methods may be called at once.
type Dealer struct{ *client }

// DialDealer returns at once and connects in the background. It fails only if
// the endpoint is malformed. With an empty identity the other side chooses one.
func DialDealer(endpoint string, identity []byte, opts Options) (*Dealer, error) {
	c, err := newClient(zmq4.Dealer, endpoint, identity, opts, nil)
	if err != nil {
		return nil, err
	}
	return &Dealer{c}, nil
}

// Send waits until the socket is connected and the message fits its queue. What
// is queued when a connection breaks is lost. The frames must not be changed
// afterwards.
func (d *Dealer) Send(ctx context.Context, frames ...[]byte) error {
	_, err := d.send(ctx, frames)
	return err
}

// Recv returns the next message. It fails with ErrClosed or ctx's error.
func (d *Dealer) Recv(ctx context.Context) ([][]byte, error) {
	m, err := recv(ctx, d.in, d.closing)
	return m.frames, err
}

// Sub is a SUB socket that connects.
type Sub struct{ *client }

// DialSub returns at once and connects in the background. topics are the
// prefixes of what to receive; "" is everything.
func DialSub(endpoint string, topics []string, opts Options) (*Sub, error) {
	var greet [][]byte
	for _, t := range topics {
		greet = append(greet, append([]byte{1}, t...))
	}
	c, err := newClient(zmq4.Sub, endpoint, nil, opts, greet)
	if err != nil {
		return nil, err
	}
	return &Sub{c}, nil
}

// Recv returns the next message. It fails with ErrClosed or ctx's error.
func (s *Sub) Recv(ctx context.Context) ([][]byte, error) {
	m, err := recv(ctx, s.in, s.closing)
	return m.frames, err
}

// Req is a REQ socket that connects. One request is under way at a time.
type Req struct {
	*client
	turn chan struct{} // holds a token while no request is under way
}

// DialReq returns at once and connects in the background.
func DialReq(endpoint string, opts Options) (*Req, error) {
	c, err := newClient(zmq4.Req, endpoint, nil, opts, nil)
	if err != nil {
		return nil, err
	}
	r := &Req{client: c, turn: make(chan struct{}, 1)}
	r.turn <- struct{}{}
	return r, nil
}

// Request sends frames and returns the answer. It fails with ErrClosed, with
// ErrNoPeer when the connection breaks, or with ctx's error; then the
// connection is made anew, so that a late answer is not taken for the next.
func (r *Req) Request(ctx context.Context, frames ...[]byte) ([][]byte, error) {
	if _, err := recv(ctx, r.turn, r.closing); err != nil {
		return nil, err
	}
	defer func() { r.turn <- struct{}{} }()
	envelope := append([][]byte{{}}, frames...)
	p, err := r.send(ctx, envelope)
	if err != nil {
		return nil, err
	}
	for {
		select {
		case m := <-r.in:
			if m.from == p && len(m.frames) > 0 && len(m.frames[0]) == 0 {
				return m.frames[1:], nil
			}
		case <-p.written:
			return nil, ErrNoPeer
		case <-r.closing:
			return nil, ErrClosed
		case <-ctx.Done():
			p.disconnect(nil)
			return nil, ctx.Err()
		}
	}
}

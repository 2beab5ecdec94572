package zmtp

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-zeromq/zmq4"
)

const (
	// inbox is how many received messages wait for Recv. A peer whose message
	// finds it full is not read any further, and its PINGs wait too.
	inbox = 64
	// maxKnown bounds the identities whose Peer is remembered.
	maxKnown = 1024
)

// Router is a ROUTER socket. Its methods may be called at once.
type Router struct {
	*server
	in chan waiting

	mu     sync.Mutex
	last   Peer
	peers  map[Peer]*peer
	known  map[string]Peer // of every identity seen, connected or not
	joined chan struct{}   // closed and replaced when a peer is added
}

// waiting is a message in the inbox and what it holds of the pool.
type waiting struct {
	Message
	taken int64
}

// ListenRouter binds a ROUTER socket to tcp://host:port (port 0 is any free
// one) or ipc://path.
func ListenRouter(endpoint string, opts Options) (*Router, error) {
	r := &Router{
		in: make(chan waiting, inbox), peers: make(map[Peer]*peer), known: make(map[string]Peer), joined: make(chan struct{}),
	}
	var err error
	if r.server, err = listen(zmq4.Router, endpoint, opts.withDefaults(messageLimits), routing{r}); err != nil {
		return nil, err
	}
	r.start()
	return r, nil
}

// Recv returns the next message of any peer, without an identity frame. It
// fails with ErrClosed or ctx's error.
func (r *Router) Recv(ctx context.Context) (Message, error) {
	m, err := recv(ctx, r.in, r.closing)
	r.large.give(m.taken)
	return m.Message, err
}

// Send queues a message for one peer and never blocks. It fails with ErrNoPeer
// or, when the peer's queue is full, ErrStalled. The frames must not be changed
// afterwards.
func (r *Router) Send(to Peer, frames ...[]byte) error {
	r.mu.Lock()
	p := r.peers[to]
	r.mu.Unlock()
	if p == nil {
		return ErrNoPeer
	}
	err := p.queue.put(frames, 1)
	if err == ErrStalled {
		p.disconnect(err)
	}
	return err
}

// PeerByIdentity finds the connected peer that announced id.
func (r *Router) PeerByIdentity(id []byte) (Peer, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	peer := r.known[string(id)]
	return peer, r.peers[peer] != nil
}

// AwaitIdentity is PeerByIdentity for a peer that may still be connecting: a
// client's sockets connect in no particular order. It fails with ErrClosed or
// ctx's error.
func (r *Router) AwaitIdentity(ctx context.Context, id []byte) (Peer, error) {
	for {
		r.mu.Lock()
		joined := r.joined
		r.mu.Unlock()
		if peer, ok := r.PeerByIdentity(id); ok {
			return peer, nil
		}
		select {
		case <-joined:
		case <-r.closing:
			return 0, ErrClosed
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// Identity is what a connected peer announced, or nil.
func (r *Router) Identity(of Peer) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.peers[of]; p != nil && p.identity != "" {
		return []byte(p.identity)
	}
	return nil
}

// routing is the pattern of a Router.
type routing struct{ *Router }

// opened gives p its number. Of two connections with one identity the newest
// wins: the older is most likely one whose end we have not noticed.
func (r routing) opened(p *peer) error {
	r.mu.Lock()
	old := r.register(p)
	r.mu.Unlock()
	if old != nil {
		old.disconnect(fmt.Errorf("zmtp: identity %q connected again", p.identity))
	}
	return nil
}

// register returns the peer that p replaces; mu is held.
func (r routing) register(p *peer) (old *peer) {
	p.id = r.known[p.identity]
	if p.id == 0 {
		r.last++
		p.id = r.last
	}
	if p.identity != "" {
		r.forget()
		r.known[p.identity] = p.id
	}
	old = r.peers[p.id]
	r.peers[p.id] = p
	close(r.joined)
	r.joined = make(chan struct{})
	return old
}

// forget makes room in known by dropping who is not connected; mu is held.
func (r routing) forget() {
	if len(r.known) < maxKnown {
		return
	}
	for id, peer := range r.known {
		if r.peers[peer] == nil {
			delete(r.known, id)
		}
	}
}

func (r routing) received(p *peer, frames [][]byte) error {
	select {
	case r.in <- waiting{Message{Peer: p.id, Frames: frames}, p.guard.handOver()}:
	case <-r.closing:
	}
	return nil
}

func (r routing) subscribed(*peer, []byte, bool) {}

func (r routing) gone(p *peer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.peers[p.id] == p {
		delete(r.peers, p.id)
	}
}

// recv receives from a socket's inbox.
func recv[T any](ctx context.Context, in <-chan T, closing <-chan struct{}) (T, error) {
	var none T
	select {
	case m := <-in:
		return m, nil
	case <-closing:
		return none, ErrClosed
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

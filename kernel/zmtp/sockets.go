package zmtp

import "context"

// Router is a ROUTER socket.
type Router struct{}

// ListenRouter binds a ROUTER socket to tcp://host:port (port 0 is any free
// one) or ipc://path.
func ListenRouter(endpoint string, opts Options) (*Router, error) { panic("skeleton") }

// Endpoint is the bound endpoint, with the real port.
func (r *Router) Endpoint() string { panic("skeleton") }

// Recv returns the next message of any peer, without an identity frame. It
// fails with ErrClosed or ctx's error.
func (r *Router) Recv(ctx context.Context) (Message, error) { panic("skeleton") }

// Send queues a message for one peer and never blocks. It fails with ErrNoPeer,
// ErrClosed, or, when the peer's queue is full, ErrStalled.
func (r *Router) Send(peer Peer, frames ...[]byte) error { panic("skeleton") }

// PeerByIdentity finds the connected peer that announced id.
func (r *Router) PeerByIdentity(id []byte) (Peer, bool) { panic("skeleton") }

// Identity is what a peer announced, or nil.
func (r *Router) Identity(peer Peer) []byte { panic("skeleton") }

// Close sends what is queued and ends the socket.
func (r *Router) Close() error { panic("skeleton") }

// Subscription is a change of what one peer wants to receive.
type Subscription struct {
	Peer   Peer
	Topic  []byte
	Cancel bool
}

// XPub is an XPUB socket.
type XPub struct{}

// ListenXPub binds an XPUB socket.
func ListenXPub(endpoint string, opts Options) (*XPub, error) { panic("skeleton") }

// Endpoint is the bound endpoint, with the real port.
func (x *XPub) Endpoint() string { panic("skeleton") }

// Events delivers subscriptions after they took effect (and after
// Options.Welcome was queued). It must be received from; it is closed by Close.
func (x *XPub) Events() <-chan Subscription { panic("skeleton") }

// Publish queues a message, whose first frame is the topic, for every subscribed
// peer. While one of their queues is full it waits, and then nothing has been
// queued for anyone; a peer that stalls is disconnected, so the wait ends. It
// fails with ctx's error or ErrClosed, and then nobody gets the message.
func (x *XPub) Publish(ctx context.Context, frames ...[]byte) error { panic("skeleton") }

// PublishNow is Publish for messages that cannot wait, such as the status of a
// control request: it overtakes waiting publishers and may exceed the bound of
// a queue.
func (x *XPub) PublishNow(frames ...[]byte) error { panic("skeleton") }

// Subscribers is the number of peers with at least one subscription.
func (x *XPub) Subscribers() int { panic("skeleton") }

// Close sends what is queued and ends the socket.
func (x *XPub) Close() error { panic("skeleton") }

// Echo is a REP socket that answers every request with itself: a kernel's
// heartbeat. It needs no attention.
type Echo struct{}

// ListenEcho binds an Echo.
func ListenEcho(endpoint string, opts Options) (*Echo, error) { panic("skeleton") }

// Endpoint is the bound endpoint, with the real port.
func (e *Echo) Endpoint() string { panic("skeleton") }

// Close ends the socket.
func (e *Echo) Close() error { panic("skeleton") }

// Dealer is a DEALER socket that connects, and connects again.
type Dealer struct{}

// DialDealer returns at once and connects in the background. An empty identity
// lets the other side choose.
func DialDealer(endpoint string, identity []byte, opts Options) (*Dealer, error) { panic("skeleton") }

// Send queues a message; it waits while the queue is full.
func (d *Dealer) Send(ctx context.Context, frames ...[]byte) error { panic("skeleton") }

// Recv returns the next message.
func (d *Dealer) Recv(ctx context.Context) ([][]byte, error) { panic("skeleton") }

// Close sends what is queued and ends the socket.
func (d *Dealer) Close() error { panic("skeleton") }

// Sub is a SUB socket.
type Sub struct{}

// DialSub returns at once and connects in the background; topics are prefixes.
func DialSub(endpoint string, topics []string, opts Options) (*Sub, error) { panic("skeleton") }

// Recv returns the next message.
func (s *Sub) Recv(ctx context.Context) ([][]byte, error) { panic("skeleton") }

// Close ends the socket.
func (s *Sub) Close() error { panic("skeleton") }

// Req is a REQ socket.
type Req struct{}

// DialReq returns at once and connects in the background.
func DialReq(endpoint string, opts Options) (*Req, error) { panic("skeleton") }

// Request sends frames and returns the answer. When ctx ends first the
// connection is made anew, so that a late answer is not taken for the next.
func (r *Req) Request(ctx context.Context, frames ...[]byte) ([][]byte, error) { panic("skeleton") }

// Close ends the socket.
func (r *Req) Close() error { panic("skeleton") }

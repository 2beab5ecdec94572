package zmtp

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/go-zeromq/zmq4"
)

const (
	// maxTopics bounds the subscriptions of one peer.
	maxTopics = 1024
	// reserve is the factor by which PublishNow may exceed the bounds of a queue.
	reserve = 2
)

// Subscription is a change of what one peer wants to receive.
type Subscription struct {
	Peer   Peer
	Topic  []byte
	Cancel bool
}

// XPub is an XPUB socket. Its methods may be called at once.
type XPub struct {
	*server
	events chan Subscription
	turn   chan struct{} // holds a token while nobody is in Publish

	mu    sync.Mutex
	last  Peer
	peers map[*peer]struct{}
}

// ListenXPub binds an XPUB socket.
func ListenXPub(endpoint string, opts Options) (*XPub, error) {
	x := &XPub{events: make(chan Subscription, 16), turn: make(chan struct{}, 1), peers: make(map[*peer]struct{})}
	x.turn <- struct{}{}
	var err error
	if x.server, err = listen(zmq4.XPub, endpoint, opts.withDefaults(signalLimits), publishing{x}); err != nil {
		return nil, err
	}
	x.start()
	return x, nil
}

// Events delivers subscriptions after they took effect (and after
// Options.Welcome was queued), and cancellations by request or disconnection.
// It must be received from; Close closes it.
func (x *XPub) Events() <-chan Subscription { return x.events }

// Subscribers is the number of peers with at least one subscription.
func (x *XPub) Subscribers() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for p := range x.peers {
		if len(p.topics) > 0 {
			n++
		}
	}
	return n
}

// Publish queues a message, whose first frame is the topic, for every subscribed
// peer. While one of their queues is full it waits, and then nothing has been
// queued for anyone; a peer that stalls is disconnected, so the wait ends. It
// fails with ctx's error or ErrClosed, and then nobody gets the message. The
// frames must not be changed afterwards.
func (x *XPub) Publish(ctx context.Context, frames ...[]byte) error {
	select {
	case <-x.turn:
	case <-x.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { x.turn <- struct{}{} }()
	for {
		full, err := x.offer(frames)
		if full == nil {
			return err
		}
		select {
		case <-full:
		case <-x.closing:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// TryPublish is Publish without the wait: it reports whether the message was
// queued. It overtakes waiting publishers.
func (x *XPub) TryPublish(frames ...[]byte) bool {
	full, err := x.offer(frames)
	return full == nil && err == nil
}

// offer queues a message if every subscribed peer has room for it; else it
// returns a channel that is closed when it is worth trying again.
func (x *XPub) offer(frames [][]byte) (full <-chan struct{}, err error) {
	n := byteSize(frames)
	x.mu.Lock()
	defer x.mu.Unlock()
	for p := range x.peers {
		if p.wants(frames) {
			if full := p.queue.room(n); full != nil {
				return full, nil
			}
		}
	}
	return nil, x.deliver(frames)
}

// PublishNow is Publish for messages that cannot wait, such as the status of a
// control request: it overtakes waiting publishers and may exceed the bounds of
// a queue twofold. A peer beyond even that is disconnected. It fails only with
// ErrClosed.
func (x *XPub) PublishNow(frames ...[]byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.deliver(frames)
}

// deliver queues a message for every subscribed peer; mu is held.
func (x *XPub) deliver(frames [][]byte) error {
	select {
	case <-x.closing:
		return ErrClosed
	default:
	}
	for p := range x.peers {
		if !p.wants(frames) {
			continue
		}
		if err := p.queue.put(frames, reserve); err == ErrStalled {
			p.disconnect(err)
		}
	}
	return nil
}

// wants reports whether a subscription of p is a prefix of the topic.
func (p *peer) wants(frames [][]byte) bool {
	var topic []byte
	if len(frames) > 0 {
		topic = frames[0]
	}
	for prefix := range p.topics {
		if strings.HasPrefix(string(topic), prefix) {
			return true
		}
	}
	return false
}

// Close sends what is queued, for at most the linger time, disconnects
// everybody and waits for all goroutines of the socket.
func (x *XPub) Close() error {
	if err := x.server.Close(); err != nil {
		return err
	}
	close(x.events) // no reader is left to send
	return nil
}

// publishing is the pattern of an XPub.
type publishing struct{ *XPub }

func (x publishing) opened(p *peer) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.last++
	p.id = x.last
	p.topics = make(map[string]int)
	x.peers[p] = struct{}{}
	return nil
}

// received understands the subscriptions of ZMTP 3.0: one frame, 1 or 0 and
// the topic. Other messages, which an XSUB may send, mean nothing here.
func (x publishing) received(p *peer, frames [][]byte) error {
	if len(frames) != 1 || len(frames[0]) == 0 || frames[0][0] > 1 {
		return nil
	}
	return x.change(p, frames[0][1:], frames[0][0] == 0)
}

func (x publishing) subscribed(p *peer, topic []byte, cancel bool) {
	if err := x.change(p, bytes.Clone(topic), cancel); err != nil {
		p.disconnect(err)
	}
}

// change adds or cancels a subscription and tells of it.
func (x publishing) change(p *peer, topic []byte, cancel bool) error {
	changed, err := x.apply(p, topic, cancel)
	if changed {
		x.notify(Subscription{Peer: p.id, Topic: topic, Cancel: cancel})
	}
	return err
}

// apply is change for the socket itself. The welcome is queued before anything
// that the subscription matches can be.
func (x publishing) apply(p *peer, topic []byte, cancel bool) (changed bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	changed, err = x.count(p, string(topic), cancel)
	if changed && !cancel && x.opts.Welcome != nil {
		if welcome := x.opts.Welcome(topic); welcome != nil {
			err = p.queue.put(welcome, reserve)
		}
	}
	return changed, err
}

// count updates how often p subscribed to topic and reports whether that makes
// a difference; mu is held.
func (x publishing) count(p *peer, topic string, cancel bool) (changed bool, err error) {
	n := p.topics[topic]
	switch {
	case cancel && n == 0:
		return false, nil
	case cancel && n == 1:
		delete(p.topics, topic)
		return true, nil
	case cancel:
		p.topics[topic] = n - 1
		return false, nil
	case n == 0 && len(p.topics) == maxTopics:
		return false, fmt.Errorf("%w: more than %d subscriptions", errGuard, maxTopics)
	}
	p.topics[topic] = n + 1
	return n == 0, nil
}

func (x publishing) notify(s Subscription) {
	select {
	case x.events <- s:
	case <-x.closing:
	}
}

func (x publishing) gone(p *peer) {
	x.mu.Lock()
	delete(x.peers, p)
	x.mu.Unlock()
	for topic := range p.topics {
		x.notify(Subscription{Peer: p.id, Topic: []byte(topic), Cancel: true})
	}
}

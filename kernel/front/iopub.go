package front

import (
	"context"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"

	"forgekernel/kernel/wire"
	"forgekernel/kernel/zmtp"
)

// Bounds of what is held back for the first subscriber.
const (
	holdTime  = 10 * time.Second
	holdBytes = iopubQueue / 2
)

// iopub publishes. A client is ready to ask before its subscription has
// arrived; everything published since the start is therefore held back until
// the first subscription, for at most holdTime. Output beyond holdBytes waits.
type iopub struct {
	socket  *zmtp.XPub // set before anything is published; its welcome is ours
	session *wire.Session
	signer  *wire.Signer
	log     *slog.Logger
	ctx     context.Context // ends the wait of publishers

	mu      sync.Mutex
	held    [][][]byte
	bytes   int
	open    chan struct{} // closed when nothing is held any more
	isOpen  bool
	started bool // "starting" was sent
}

func newIOPub(ctx context.Context, session *wire.Session, signer *wire.Signer, log *slog.Logger) *iopub {
	return &iopub{session: session, signer: signer, log: log, ctx: ctx, open: make(chan struct{})}
}

// welcome is the message that a subscriber sees first. A topic that is not text
// cannot be named in it and gets none.
func (p *iopub) welcome(topic []byte) [][]byte {
	if !utf8.Valid(topic) {
		return nil
	}
	m, err := p.session.New("iopub_welcome", nil, wire.Welcome{Subscription: string(topic)})
	if err != nil {
		p.log.Error("iopub_welcome", "error", err)
		return nil
	}
	m.Identities = [][]byte{topic}
	return p.signer.Serialize(m)
}

// watch follows subscriptions until the socket closes.
func (p *iopub) watch() {
	timer := time.AfterFunc(holdTime, p.release)
	defer timer.Stop()
	for s := range p.socket.Events() {
		if !s.Cancel {
			p.begin()
		}
	}
}

// begin sends "starting", once, and what was held for the first subscriber.
func (p *iopub) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.started {
		p.started = true
		if frames := p.frames("status", nil, wire.Status{ExecutionState: wire.Starting}); frames != nil {
			p.send(frames)
		}
	}
	p.releaseLocked()
}

func (p *iopub) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.releaseLocked()
}

func (p *iopub) releaseLocked() {
	if p.isOpen {
		return
	}
	for _, frames := range p.held {
		p.send(frames)
	}
	p.held, p.bytes, p.isOpen = nil, 0, true
	close(p.open)
}

// now publishes a message that is small and must not wait: status, errors,
// inputs, results.
func (p *iopub) now(msgType string, parent *wire.Message, content any) {
	if frames := p.frames(msgType, parent, content); frames != nil {
		p.framesNow(frames)
	}
}

func (p *iopub) framesNow(frames [][]byte) {
	p.mu.Lock()
	open := p.isOpen
	if !open {
		p.hold(frames)
	}
	p.mu.Unlock()
	if open {
		p.send(frames)
	}
}

// output publishes what a cell shows. It waits while subscribers are behind,
// which slows the cell, but only until patience ends; false means that there was
// no room.
func (p *iopub) output(patience context.Context, frames [][]byte) bool {
	p.mu.Lock()
	if !p.isOpen && p.bytes < holdBytes {
		p.hold(frames)
		p.mu.Unlock()
		return true
	}
	open := p.isOpen
	p.mu.Unlock()
	if !open {
		select {
		case <-p.open:
		case <-patience.Done():
			return false
		}
	}
	err := p.socket.Publish(patience, frames...)
	if err == nil {
		return true
	}
	if patience.Err() == nil {
		p.log.Error("publish", "error", err)
		return false
	}
	return p.socket.TryPublish(frames...)
}

func (p *iopub) hold(frames [][]byte) {
	p.held = append(p.held, frames)
	p.bytes += byteSize(frames)
}

func byteSize(frames [][]byte) (n int) {
	for _, f := range frames {
		n += len(f)
	}
	return n
}

func (p *iopub) send(frames [][]byte) {
	if err := p.socket.PublishNow(frames...); err != nil && p.ctx.Err() == nil {
		p.log.Error("publish", "error", err)
	}
}

// frames makes and signs a message; what JSON cannot represent is an error of
// ours, logged, and nothing is sent.
func (p *iopub) frames(msgType string, parent *wire.Message, content any) [][]byte {
	m, err := p.session.New(msgType, parent, content)
	if err != nil {
		p.log.Error("message", "type", msgType, "error", err)
		return nil
	}
	m.Identities = [][]byte{[]byte(msgType)}
	return p.signer.Serialize(m)
}

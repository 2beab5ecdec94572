package collective

import (
	"context"
	"fmt"

	"forgekernel/forge/tensor"
)

// Send implements [backend.Collective]. It returns when all of the tensor is in
// the ring, whether or not the other rank has taken it.
func (g *group) Send(ctx context.Context, peer int, t *tensor.Tensor) error {
	if err := g.checkPeer("send to", peer); err != nil {
		return err
	}
	g.call.Lock()
	defer g.call.Unlock()
	c := call{op: Send, peer: uint32(peer)}
	c.shape(t)
	l, b := g.links[peer], memory(t)
	l.sent++
	err := g.begin(ctx, c, l.sent)
	if err == nil {
		err = g.send(l, b)
	}
	return g.end(len(b), err)
}

func (g *group) send(l *link, b []byte) error {
	h := g.now.header()
	if err := g.write(l, h[:]); err != nil {
		return err
	}
	for first := true; first || len(b) > 0; first = false {
		n := min(len(b), g.chunk)
		if err := g.write(l, b[:n]); err != nil {
			return err
		}
		l.out.publish()
		b = b[n:]
	}
	return nil
}

// Recv implements [backend.Collective].
func (g *group) Recv(ctx context.Context, peer int, t *tensor.Tensor) error {
	if err := g.checkPeer("receive from", peer); err != nil {
		return err
	}
	g.call.Lock()
	defer g.call.Unlock()
	c := call{op: Recv, peer: uint32(peer)}
	c.shape(t)
	l, b := g.links[peer], memory(t)
	l.received++
	err := g.begin(ctx, c, l.received)
	if err == nil {
		err = g.receive(l, b)
	}
	return g.end(len(b), err)
}

func (g *group) receive(l *link, b []byte) error {
	sent := g.now
	sent.op, sent.peer = Send, uint32(g.rank)
	want := sent.header()
	if err := g.agree(l, &want); err != nil {
		return err
	}
	return g.read(l, b)
}

func (g *group) checkPeer(what string, peer int) error {
	switch {
	case peer < 0 || peer >= len(g.members):
		return fmt.Errorf("rank %d cannot %s rank %d of a group of %d", g.rank, what, peer, len(g.members))
	case peer == g.rank:
		return fmt.Errorf("rank %d cannot %s itself", g.rank, what)
	}
	return nil
}

package collective

import (
	"bytes"
	"fmt"
)

// write puts bytes into a ring. They may stay unseen until publish.
func (g *group) write(l *link, b []byte) error {
	for len(b) > 0 {
		to := l.out.space()
		if len(to) == 0 {
			l.out.publish()
			if l.out.pending() > l.out.capacity() {
				return g.damaged(l)
			}
			if err := g.await(l, &l.out.read, l.out.full()); err != nil {
				return err
			}
			continue
		}
		n := copy(to, b)
		l.out.advance(n)
		b = b[n:]
	}
	return nil
}

// next waits for bytes in a ring and returns those that are there.
func (g *group) next(l *link) ([]byte, error) {
	for {
		if b := l.in.span(); len(b) > 0 {
			return b, nil
		}
		if l.in.ready() > l.in.capacity() {
			return nil, g.damaged(l)
		}
		if err := g.await(l, &l.in.written, l.in.next); err != nil {
			return nil, err
		}
	}
}

// damaged is the failure of a group whose memory another process has written to
// where it should not.
func (g *group) damaged(l *link) error {
	return g.fail(l.rank, &reason{kind: ErrDiverged, text: fmt.Sprintf("the ring shared with rank %d is damaged", g.members[l.rank])})
}

// read fills b from a ring.
func (g *group) read(l *link, b []byte) error {
	for len(b) > 0 {
		from, err := g.next(l)
		if err != nil {
			return err
		}
		n := copy(b, from)
		l.in.advance(n)
		b = b[n:]
	}
	return nil
}

// announce writes the line of the call to all ranks, without showing it yet.
func (g *group) announce() error {
	h := g.now.header()
	for _, l := range g.links {
		if l == nil {
			continue
		}
		if err := g.write(l, h[:]); err != nil {
			return err
		}
	}
	return nil
}

// publish shows all ranks what was written.
func (g *group) publish() {
	for _, l := range g.links {
		if l != nil {
			l.out.publish()
		}
	}
}

// meet waits for the line of every rank and compares it with the own one.
func (g *group) meet() error {
	want := g.now.header()
	for _, l := range g.links {
		if l == nil {
			continue
		}
		if err := g.agree(l, &want); err != nil {
			return err
		}
	}
	return nil
}

// agree reads the line of one rank, which has to be as wanted.
func (g *group) agree(l *link, want *header) error {
	b, err := g.next(l)
	if err != nil {
		return err
	}
	if got := header(b[:line]); !bytes.Equal(got[:], want[:]) {
		return g.diverged(l, got)
	}
	l.met = true
	if l.waits.Load() != 0 {
		l.waits.Store(0) // not any more
	}
	l.in.advance(line)
	return nil
}

// diverged is the failure of a call that is not the other rank's. The rank that
// comes first in the group is named first, whoever noticed.
func (g *group) diverged(l *link, got header) error {
	c, ok := parseCall(&got)
	here, there := g.now.words(g.members), "something that is not a call"
	switch {
	case ok && c.epoch != g.epoch:
		there = fmt.Sprintf("%s of epoch %d", c.words(g.members), c.epoch)
		here += fmt.Sprintf(" of epoch %d", g.epoch)
	case ok && c.group != g.id:
		there = c.words(g.members) + " of another group"
	case ok:
		there = c.words(g.members)
	}
	a, b := g.rank, l.rank
	if a > b {
		a, b, here, there = b, a, there, here
	}
	return g.fail(l.rank, &reason{kind: ErrDiverged,
		text: fmt.Sprintf("rank %d calls %s, rank %d calls %s", g.members[a], here, g.members[b], there)})
}

// fold combines n bytes of every rank, those of others from their rings, into dst.
// own is this rank's; it may be dst.
func (g *group) fold(dst, own []byte) error {
	dtype := g.now.dtype
	most := g.combiner.limit(dtype, len(g.members))
	for len(dst) > 0 {
		n := min(len(dst), most)
		for r, l := range g.links {
			if l == nil {
				continue
			}
			b, err := g.next(l)
			if err != nil {
				return err
			}
			n, g.sources[r] = min(n, len(b)), b
		}
		g.sources[g.rank] = own
		for r := range g.sources {
			g.sources[r] = g.sources[r][:n]
		}
		g.combiner.combine(g.now.how, dtype, dst[:n], g.sources)
		for _, l := range g.links {
			if l != nil {
				l.in.advance(n)
			}
		}
		dst, own = dst[n:], own[n:]
	}
	return nil
}

package collective

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"forgekernel/nebula/mesh"
)

// pumps carry the bytes of two rings in this process over a stream, so that a
// rank does not wait for the network while its ring has room.
type pumps struct {
	stream *mesh.Stream
	rank   int           // of the group, at the other end
	out    reader        // of the link's outgoing ring
	in     writer        // of its incoming one
	last   atomic.Bool   // nothing more comes into the outgoing ring
	stop   atomic.Bool   // do not wait
	sent   chan struct{} // closed when all has gone out or none will
	timers [2]*time.Timer
}

func newPumps(s *mesh.Stream, rank, buffer int) *pumps {
	p := &pumps{stream: s, rank: rank, out: reader{ring: localRing(buffer)}, in: writer{ring: localRing(buffer)}, sent: make(chan struct{})}
	for i := range p.timers {
		p.timers[i] = time.NewTimer(time.Hour)
	}
	return p
}

// rest is how long a pump sleeps at most; what it waits for wakes it earlier.
const rest = time.Second

// bring carries what this rank writes.
func (p *pumps) bring(g *group) {
	defer close(p.sent)
	for !p.stop.Load() {
		last := p.last.Load() // before looking: what is there then is all
		b := p.out.span()
		if len(b) == 0 {
			if last {
				if c, ok := p.stream.Conn.(interface{ CloseWrite() error }); ok {
					_ = c.CloseWrite()
				}
				return
			}
			p.out.written.sleep(p.out.next, rest, p.timers[0])
			continue
		}
		n, err := p.stream.Write(b)
		if err != nil {
			p.broken(g, err)
			return
		}
		p.out.advance(n)
	}
}

// fetch carries what the other rank writes.
func (p *pumps) fetch(g *group) {
	part := 0 // bytes of a line that is not complete
	for !p.stop.Load() {
		b := p.in.space()
		if len(b) == 0 {
			p.in.read.sleep(p.in.full(), rest, p.timers[1])
			continue
		}
		n, err := p.stream.Read(b[part:])
		n += part
		part = n % line
		p.in.next += uint32(n / line)
		p.in.publish()
		if errors.Is(err, io.EOF) {
			g.gone(p.rank)
			return
		}
		if err != nil {
			p.broken(g, err)
			return
		}
	}
}

// broken is the end of a stream that this rank did not close.
func (p *pumps) broken(g *group, err error) {
	if !errors.Is(err, net.ErrClosed) && !p.last.Load() {
		g.lost(p.rank, err)
	}
}

func (p *pumps) finish(limit time.Time) {
	p.last.Store(true)
	p.out.written.wake()
	_ = p.stream.SetWriteDeadline(limit)
	select {
	case <-p.sent:
	case <-time.After(time.Until(limit)):
	}
}

func (p *pumps) close() {
	p.stop.Store(true)
	p.stream.Close()
	p.out.written.wake()
	p.in.read.wake()
}

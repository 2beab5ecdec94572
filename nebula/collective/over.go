package collective

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"forgekernel/nebula/mesh"
)

// Over is the group of all ranks of a mesh, "world". All of them call it, and wait
// for one another at most as long as in a call. Streams and memory between ranks
// are the group's own. The mesh must stay open as long as the group: to close it
// first looks to the other ranks like the death of this one.
func Over(m *mesh.Mesh, o Options) (Group, error) {
	members := make([]int, m.Size())
	for i := range members {
		members[i] = i
	}
	return open(m, "world", members, m.Rank(), o.complete())
}

// wiring is what lies behind the links of a group over a mesh.
type wiring struct {
	ways  []way
	ended sync.WaitGroup // the goroutines of all ways
}

// way is what lies behind a link.
type way interface {
	finish(limit time.Time) // sends what is still to be sent
	close()
}

// open makes a group of some ranks of a mesh.
func open(m *mesh.Mesh, name string, members []int, rank int, o Options) (Group, error) {
	g := newGroup(name, m.Epoch(), rank, members, o)
	g.look = len(members) <= runtime.NumCPU() // at the start of the process: it may have kept to one of them since
	g.divide = func(g *group, name string, ranks []int) (Group, error) {
		sub := make([]int, len(ranks))
		place := 0
		for i, r := range ranks {
			sub[i] = g.members[r]
			if r == g.rank {
				place = i
			}
		}
		return open(m, g.name+"/"+name, sub, place, g.options)
	}
	w := &wiring{}
	g.release = w.release
	ctx, cancel := context.WithTimeout(context.Background(), o.Timeout)
	defer cancel()
	var controls []*control
	for i, peer := range members {
		if i == rank {
			continue
		}
		c, err := w.connect(ctx, g, m, i)
		if err != nil {
			w.release(false)
			return nil, &Error{Group: name, Rank: m.Rank(), Epoch: m.Epoch(), Peer: peer, Err: unlinked(peer, err)}
		}
		controls = append(controls, c)
	}
	for _, c := range controls { // all links are there
		w.ended.Go(func() { c.listen(g) })
	}
	for _, way := range w.ways {
		if p, ok := way.(*pumps); ok {
			w.ended.Go(func() { p.bring(g) })
			w.ended.Go(func() { p.fetch(g) })
		}
	}
	return g, nil
}

// unlinked is why a rank has no link to another.
func unlinked(peer int, err error) error {
	r := &reason{text: fmt.Sprintf("it gets no link to rank %d: %v", peer, err), cause: err}
	var lost *mesh.Lost
	switch {
	case errors.As(err, &lost):
		r.kind = ErrDead
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		r.kind = ErrTimeout
	default:
		return fmt.Errorf("it gets no link to rank %d: %w", peer, err)
	}
	return r
}

// connect makes the link to one rank of a group.
func (w *wiring) connect(ctx context.Context, g *group, m *mesh.Mesh, rank int) (*control, error) {
	peer := g.members[rank]
	s, err := m.Stream(ctx, peer, "group "+g.name)
	if err != nil {
		return nil, err
	}
	c := &control{Stream: s, rank: rank}
	w.ways = append(w.ways, c)
	if limit, ok := ctx.Deadline(); ok {
		if err := s.SetDeadline(limit); err != nil {
			return nil, err
		}
	}
	if err := c.compare(g.describe(), g.members[g.rank], peer); err != nil {
		return nil, err
	}
	l := &link{rank: rank, post: c}
	g.links[rank] = l
	if m.Peer(peer).Shared {
		l.ends.Store(1)
		mem, err := shareMemory(s, m.Rank() < peer, g.options.Buffer)
		if err != nil {
			return nil, err
		}
		w.ways = append(w.ways, mem)
		l.out, l.in, l.yield = writer{ring: mem.out}, reader{ring: mem.in}, yield
	} else {
		l.ends.Store(2)
		data, err := m.Stream(ctx, peer, "data of group "+g.name)
		if err != nil {
			return nil, err
		}
		p := newPumps(data, rank, g.options.Buffer)
		w.ways = append(w.ways, p)
		l.out, l.in = writer{ring: p.out.ring}, reader{ring: p.in.ring}
	}
	return c, s.SetDeadline(time.Time{})
}

// describe is what the ranks of a group have to agree on.
func (g *group) describe() string {
	return fmt.Sprintf("group %s of ranks %v in epoch %d with rings of %d bytes", g.name, g.members, g.epoch, g.options.Buffer)
}

// release ends what lies behind the links. Where the group is well, what was sent
// still goes out.
func (w *wiring) release(well bool) {
	limit := time.Now()
	if well {
		limit = limit.Add(defaultTimeout)
	}
	for _, way := range w.ways {
		way.finish(limit)
	}
	for _, way := range w.ways {
		way.close()
	}
	w.ended.Wait()
	for _, way := range w.ways {
		if mem, ok := way.(*shared); ok {
			mem.unmap()
		}
	}
}

package engine

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

// LocalOptions are those of [Local].
type LocalOptions struct {
	Options
	Backend  backend.Backend   // of all ranks; see [Member]
	Backends []backend.Backend // in place of Backend one for each rank, as those of devices
	Threads  int               // of each rank
	Deadline time.Duration
}

// Local opens an engine whose ranks are goroutines of this process.
func Local(ctx context.Context, m *model.Model, layout shard.Layout, o LocalOptions) (*Leader, error) {
	if err := layout.Check(m.Config.Dims()); err != nil {
		return nil, err
	}
	if o.Backends != nil && len(o.Backends) != layout.Ranks() {
		return nil, fmt.Errorf("%v has %d ranks, and there are %d backends", layout, layout.Ranks(), len(o.Backends))
	}
	member := Member{Model: m, Backend: o.Backend, Threads: o.Threads, Deadline: o.Deadline}
	if o.Backends != nil {
		member.Backend = o.Backends[0]
	}
	worlds := collective.Local(layout.Ranks(), collective.Options{Timeout: member.patience()})
	links := make([]Link, layout.Ranks())
	var others sync.WaitGroup
	end := func() {
		others.Wait()
		for _, w := range worlds {
			_ = w.Close()
		}
	}
	for _, place := range layout.Places()[1:] {
		ours, theirs := net.Pipe()
		links[place.Rank] = ours
		rank := member
		rank.Place, rank.World = place, worlds[place.Rank]
		if o.Backends != nil {
			rank.Backend = o.Backends[place.Rank]
		}
		others.Go(func() { _ = Serve(context.Background(), rank, theirs) }) // rank 0 has the cause
	}
	member.Place, member.World = layout.Places()[0], worlds[0]
	l, err := Lead(ctx, member, links, o.Options)
	if err != nil {
		for _, link := range links[1:] {
			link.Close()
		}
		end()
		return nil, err
	}
	l.running.Go(end)
	return l, nil
}

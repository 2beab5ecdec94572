package engine

import (
	"cmp"
	"sync"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/portable"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

// DefaultDeadline is how long a rank may be silent, or compute 16 tokens.
const DefaultDeadline = 10 * time.Second

// startLimit bounds the waits in which ranks allocate and compile, with as many signs
// of life as ever.
const startLimit = 5 * time.Minute

// Member is what a rank brings along.
type Member struct {
	Model *model.Model
	Place shard.Place
	// Backend compiles; nil is native code, or vector functions where there is no C
	// compiler, with so many threads as Threads says, at least one.
	Backend backend.Backend
	Threads int
	// World is the group of all ranks; nil when there is one rank. The engine makes
	// groups of its own within it, and leaves it open.
	World collective.Group
	// Deadline bounds the silence of other ranks and, for every 16 tokens of its rows,
	// the computation of a pass; 0 is [DefaultDeadline]. Calls of groups have the
	// timeout of World, which should be somewhat shorter: they know better who is late.
	// Ranks look some times within it and count these looks, so that it does not pass while
	// they stand still.
	Deadline time.Duration
}

func (m *Member) deadline() time.Duration { return cmp.Or(m.Deadline, DefaultDeadline) }

// patience is the timeout of groups that goes with the deadline.
func (m *Member) patience() time.Duration { return m.deadline() * 3 / 4 }

func (m *Member) epoch() uint32 {
	if m.World == nil {
		return 0
	}
	return m.World.Epoch()
}

func (m *Member) compiler() backend.Backend {
	if m.Backend != nil {
		return m.Backend
	}
	threads := max(1, m.Threads)
	if _, err := cpu.FindCompiler(); err != nil {
		b := portable.New()
		b.Workers = threads
		return b
	}
	b := cpu.New()
	b.Threads = threads
	return b
}

// rank is that of a member, with nothing opened.
func (m *Member) rank() *rank {
	return &rank{place: m.Place, model: m.Model, backend: m.compiler(), timeout: m.patience()}
}

// endsWithin waits for goroutines, but no longer than a time. It reports whether they
// ended.
func endsWithin(g *sync.WaitGroup, limit time.Duration) bool {
	late, stop := countdown(limit)
	defer stop()
	return endsBefore(g, late)
}

// endsBefore is endsWithin with the end of the time.
func endsBefore(g *sync.WaitGroup, late <-chan struct{}) bool {
	ended := make(chan struct{})
	go func() {
		g.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-late:
		return false
	}
}

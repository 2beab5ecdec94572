package forge

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"

	"forgekernel/display"
)

// MaxPrograms is the number of programs that one function or model keeps, and
// MaxProgramBytes what all of them but the one used last may hold; beyond either the one
// that was used longest ago is forgotten.
const (
	MaxPrograms     = 64
	MaxProgramBytes = 4 << 30
)

// CacheStats counts what the cache of a function has done. A hit is a call
// that found its program compiled or being compiled.
type CacheStats struct {
	Programs  int // now in the cache
	Hits      int
	Misses    int // programs compiled, or attempts to
	Evictions int // programs forgotten for want of room
	Stale     int // programs dropped because a function they inline was redefined
}

// Display shows the counts.
func (s CacheStats) Display() display.Bundle {
	return display.Text(fmt.Sprintf("programs: %d, hits: %d, misses: %d, evictions: %d, stale: %d", s.Programs, s.Hits, s.Misses, s.Evictions, s.Stale))
}

// cache keeps programs by key and compiles each once, however many calls want
// it at the same time.
type cache struct {
	mu      sync.Mutex
	entries map[string]*list.Element // of *cached
	order   list.List                // most recently used first
	bytes   int64                    // that the programs hold
	limit   int64                    // MaxProgramBytes when 0
	stats   CacheStats
}

// cached is a program, or the attempt to compile it. What became of it is set
// when done is closed.
type cached struct {
	key         string
	done        chan struct{}
	program     *Program
	bytes       int64 // that it holds
	err         error
	interrupted bool // the context of the call that compiled has ended
}

// get returns the program of key, compiling it if need be. current judges
// whether a program found is still right.
func (c *cache) get(ctx context.Context, key string, current func(*Program) bool, compile func(context.Context) (*Program, error)) (*Program, error) {
	for {
		e, found := c.claim(key, current)
		if !found {
			return c.fill(ctx, e, compile)
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		// Another call's end is no reason for this one to fail.
		if e.err == nil || !e.interrupted {
			return e.program, e.err
		}
	}
}

// claim returns the entry of key, or a new one that the caller must settle.
func (c *cache) claim(key string, current func(*Program) bool) (e *cached, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = make(map[string]*list.Element)
	}
	if element := c.entries[key]; element != nil {
		e := element.Value.(*cached)
		if e.program == nil || current(e.program) {
			c.stats.Hits++
			c.order.MoveToFront(element)
			return e, true
		}
		c.stats.Stale++
		c.remove(e)
	}
	c.stats.Misses++
	e = &cached{key: key, done: make(chan struct{})}
	c.entries[key] = c.order.PushFront(e)
	return e, false
}

// fill compiles the program of e. Calls that wait for e are told in any case.
func (c *cache) fill(ctx context.Context, e *cached, compile func(context.Context) (*Program, error)) (p *Program, err error) {
	err = errors.New("the compiler panicked")
	defer func() { c.settle(e, p, err, ctx.Err() != nil) }()
	return compile(ctx)
}

// put enters a program that was compiled elsewhere.
func (c *cache) put(key string, p *Program) {
	if e, found := c.claim(key, func(*Program) bool { return false }); !found {
		c.settle(e, p, nil, false)
	}
}

// settle publishes what became of e, and makes room. A failure is not kept:
// the next call reports it afresh.
func (c *cache) settle(e *cached, p *Program, err error, interrupted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.program, e.err, e.interrupted = p, err, interrupted
	close(e.done)
	if err != nil {
		c.remove(e)
	} else if element := c.entries[e.key]; element != nil && element.Value == e {
		e.bytes = p.holds()
		c.bytes += e.bytes
	}
	limit := c.limit
	if limit == 0 {
		limit = MaxProgramBytes
	}
	for c.order.Len() > MaxPrograms || c.bytes > limit && c.order.Len() > 1 {
		c.stats.Evictions++
		c.remove(c.order.Back().Value.(*cached))
	}
}

// remove forgets e if it is still the entry of its key.
func (c *cache) remove(e *cached) {
	if element := c.entries[e.key]; element != nil && element.Value == e {
		c.order.Remove(element)
		delete(c.entries, e.key)
		c.bytes -= e.bytes
	}
}

// recent returns the program used last, or nil.
func (c *cache) recent() *Program {
	c.mu.Lock()
	defer c.mu.Unlock()
	for element := c.order.Front(); element != nil; element = element.Next() {
		e := element.Value.(*cached)
		select {
		case <-e.done:
			return e.program
		default:
		}
	}
	return nil
}

func (c *cache) counts() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Programs = c.order.Len()
	return s
}

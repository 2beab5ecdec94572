package eval

import (
	"sync"
	"sync/atomic"
)

// passing holds what user code cannot recover from while it goes through compiled
// code, by goroutine. That code may recover from it, as package fmt does from the
// panics of String methods: then it goes on once that code returns.
type passing struct {
	n  atomic.Int32 // of by, to look at without the lock
	mu sync.Mutex
	by map[uintptr]any
}

// note begins the way of a panic of this goroutine.
func (p *passing) note(v any) {
	id := goroutine()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by == nil {
		p.by = map[uintptr]any{}
	}
	p.by[id] = v
	p.n.Store(int32(len(p.by)))
}

// take ends it, and returns the panic if there was one.
func (p *passing) take() (v any, ok bool) {
	if p.n.Load() == 0 {
		return nil, false
	}
	id := goroutine()
	p.mu.Lock()
	defer p.mu.Unlock()
	v, ok = p.by[id]
	delete(p.by, id)
	p.n.Store(int32(len(p.by)))
	return v, ok
}

// pass repeats what compiled code, which has returned, has recovered from.
func (th *thread) pass() {
	if v, ok := th.run.engine.passing.take(); ok {
		panic(v)
	}
}

package session

import (
	"context"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"unsafe"
	"weak"
)

// origins knows which cell a goroutine belongs to. Go passes profiler labels on
// from a goroutine to those that it starts, compiled code included, so that a
// cell's labels are a mark on everything it has started. The labels' address
// is the mark: reading it costs nothing, and an entry lives as long as some
// goroutine carries it. Code that sets labels of its own leaves its cell and
// then counts for the latest one.
type origins struct {
	mu     sync.RWMutex
	byMark map[mark]*execution
}

type mark = weak.Pointer[byte]

// goroutineLabels returns the labels of the calling goroutine. The runtime keeps
// the function's name and type for packages that reach it like this.
//
//go:linkname goroutineLabels runtime/pprof.runtime_getProfLabel
func goroutineLabels() unsafe.Pointer

// enter marks the calling goroutine, and all that it will start, as e's.
func (o *origins) enter(e *execution) {
	labels := pprof.Labels("cell", strconv.FormatUint(e.id, 10))
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), labels))
	at := (*byte)(goroutineLabels())
	m := weak.Make(at)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byMark == nil {
		o.byMark = make(map[mark]*execution)
	}
	o.byMark[m] = e
	runtime.AddCleanup(at, o.forget, m)
}

func (o *origins) forget(m mark) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.byMark, m)
}

// current returns the execution that the calling goroutine belongs to, or nil.
func (o *origins) current() *execution {
	at := (*byte)(goroutineLabels())
	if at == nil {
		return nil
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.byMark[weak.Make(at)]
}

// currentContext is that of the calling goroutine's cell. A goroutine that
// belongs to none cannot be interrupted.
func (s *server) currentContext() context.Context {
	if e := s.origins.current(); e != nil {
		return e.ctx
	}
	return context.Background()
}

// currentCell is the calling goroutine's cell, or else the latest.
func (s *server) currentCell() uint64 {
	if e := s.origins.current(); e != nil {
		return e.id
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest
}

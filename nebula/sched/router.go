package sched

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Replica is what a router sends requests to; a *Scheduler is one.
type Replica interface {
	Submit(ctx context.Context, req Request) (*Stream, error)
	Pending() int              // unfinished requests
	Cached(prompt []int32) int // tokens of a prompt that need not be computed
	Err() error                // why it takes no new work, or nil
}

// Router spreads requests over replicas of one model. A request goes to the
// healthy replica with the fewest unfinished requests, in turn where several
// have as few; if its queue is full, to the next. Once a replica has accepted a
// request it stays there, whatever becomes of it. The choice depends on nothing
// but what the replicas say and on earlier choices.
type Router struct {
	replicas []Replica
	affinity int

	mu     sync.Mutex
	next   int   // who is first among equals
	asking []int // requests that a replica has not answered yet
}

// ErrUnhealthy is the error of a router none of whose replicas takes work; it
// is joined with their reasons.
var ErrUnhealthy = errors.New("no replica is healthy")

// NewRouter makes a router. With an affinity above 0 a request goes to the
// replica that has most of its prompt in its cache, as long as that has at most
// affinity more unfinished requests than the least busy one.
func NewRouter(affinity int, replicas ...Replica) (*Router, error) {
	if len(replicas) == 0 || affinity < 0 {
		return nil, fmt.Errorf("a router over %d replicas with an affinity of %d: at least one replica and 0", len(replicas), affinity)
	}
	return &Router{replicas: slices.Clone(replicas), affinity: affinity, asking: make([]int, len(replicas))}, nil
}

// candidate is a healthy replica and what it is chosen by.
type candidate struct {
	index, pending, turn, cached int
}

// Submit sends a request to a replica. When all healthy ones are full the error
// is a *QueueFull for all of them together; any other error of a replica is
// returned as it is.
func (r *Router) Submit(ctx context.Context, req Request) (*Stream, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	order, reasons := r.order(req.Prompt)
	if len(order) == 0 {
		return nil, errors.Join(append([]error{ErrUnhealthy}, reasons...)...)
	}
	var all QueueFull
	for _, c := range order {
		stream, err := r.ask(ctx, c.index, req)
		if full := (*QueueFull)(nil); errors.As(err, &full) {
			all.Pending += full.Pending
			all.Limit += full.Limit
			continue
		}
		if err == nil {
			r.next = (c.index + 1) % len(r.replicas)
		}
		return stream, err
	}
	return nil, &all
}

// ask sends a request to one replica. Others get theirs meanwhile: the leader of
// this one may be another process, which takes its time.
func (r *Router) ask(ctx context.Context, replica int, req Request) (*Stream, error) {
	r.asking[replica]++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.asking[replica]--
	}()
	return r.replicas[replica].Submit(ctx, req)
}

// order returns the healthy replicas, the best first, and the reasons of the others.
func (r *Router) order(prompt []int32) ([]candidate, []error) {
	var order []candidate
	var reasons []error
	for i, replica := range r.replicas {
		if err := replica.Err(); err != nil {
			reasons = append(reasons, fmt.Errorf("replica %d: %w", i, err))
			continue
		}
		n := len(r.replicas)
		order = append(order, candidate{index: i, pending: replica.Pending() + r.asking[i], turn: (i - r.next + n) % n})
	}
	slices.SortFunc(order, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.pending, b.pending), cmp.Compare(a.turn, b.turn))
	})
	if r.affinity > 0 {
		r.prefer(order, prompt)
	}
	return order, reasons
}

// prefer moves the replica with the longest prefix to the front, the first in
// order among equals.
func (r *Router) prefer(order []candidate, prompt []int32) {
	best := 0
	for i := range order {
		order[i].cached = r.replicas[order[i].index].Cached(prompt)
		near := order[i].pending-order[0].pending <= r.affinity
		if near && order[i].cached > order[best].cached {
			best = i
		}
	}
	if best > 0 {
		c := order[best]
		copy(order[1:best+1], order[:best])
		order[0] = c
	}
}

package sched

import (
	"slices"
	"time"

	"forgekernel/nebula/cache"
)

// Batching decides when requests of the queue begin to run.
type Batching interface {
	// start begins requests. The time is when to ask again if nothing else
	// happens; zero = never.
	start(b *batch, now time.Time) time.Time
}

// Continuous begins a request as soon as the pool has the blocks for its prompt
// and not all rows are taken. It is the default.
type Continuous struct{}

// EqualLength runs batches of requests whose prompts have the same length and
// that generate the same number of tokens, each batch from its beginning to its
// end, as simple servers do; for comparison. A batch that is not full waits for
// Window after its first request came.
type EqualLength struct{ Window time.Duration }

func (Continuous) start(b *batch, _ time.Time) time.Time {
	looked := 0
	for e := b.waiting.Front(); e != nil && looked < b.info.MaxRows && len(b.running) < b.mostRunning(); looked++ {
		r := e.Value.(*request)
		e = e.Next()
		have := b.pool.Match(r.tokens)
		if b.comes(r, have) {
			continue
		}
		if !b.fits(r, have) {
			break // whoever is behind it must not take the blocks it waits for
		}
		b.start(r)
	}
	return time.Time{}
}

func (p EqualLength) start(b *batch, now time.Time) time.Time {
	if len(b.running) > 0 || b.waiting.Len() == 0 {
		return time.Time{}
	}
	first := b.waiting.Front().Value.(*request)
	var group []*request
	for e := b.waiting.Front(); e != nil && len(group) < b.mostRunning(); e = e.Next() {
		r := e.Value.(*request)
		if len(r.Prompt) == len(first.Prompt) && r.most == first.most {
			group = append(group, r)
		}
	}
	until := first.usage.Submitted.Add(p.Window)
	if len(group) < b.mostRunning() && now.Before(until) {
		return until
	}
	for _, r := range group {
		if !b.fits(r, b.pool.Match(r.tokens)) {
			break
		}
		b.start(r)
	}
	return time.Time{}
}

// mostRunning bounds the requests that hold blocks: more could not take part in
// the steps in flight.
func (b *batch) mostRunning() int { return b.info.MaxRows * b.info.Depth }

// start gives a waiting request its sequence.
func (b *batch) start(r *request) {
	b.waiting.Remove(r.elem)
	r.elem = nil
	r.seq = b.pool.Open(r.tokens)
	b.running = append(b.running, r)
	if r.usage.Started.IsZero() {
		r.usage.Cached = r.seq.Cached()
	}
}

// fits reports whether the pool has the blocks for all tokens of a waiting
// request, besides what those that run still need for theirs, and one more for
// each, so that it is not sent back at once.
func (b *batch) fits(r *request, have cache.Match) bool {
	need := b.pool.BlocksFor(len(r.tokens)) - have.Tokens/b.pool.BlockSize()
	if b.opts.Full == Queue { // else it has been promised
		for _, o := range b.running {
			need += 1 + o.seq.Need(o.remaining())
		}
	}
	return need <= b.pool.Available()-have.Idle
}

// comes reports whether the next block of a waiting request's prompt is about to
// be computed for another one, so that it will be there to share.
func (b *batch) comes(r *request, have cache.Match) bool {
	next := have.Tokens + b.pool.BlockSize()
	if b.opts.NoSharing || next >= len(r.tokens) {
		return false
	}
	return slices.ContainsFunc(b.running, func(o *request) bool {
		return !o.done && o.seq.Len() < next && len(o.tokens) >= next && slices.Equal(o.tokens[:next], r.tokens[:next])
	})
}

package sched

import (
	"container/list"
	"errors"
	"fmt"
	"slices"
	"time"

	"forgekernel/nebula/cache"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/sample"
)

// batch is the scheduler without goroutines, clocks and engine: what waits, what
// runs, and who takes part in the next step. All its methods run under one lock.
type batch struct {
	opts Options
	info engine.Info
	pool *cache.Pool

	lastID   uint64
	waiting  list.List  // of *request, in the order in which they begin
	running  []*request // those with a sequence
	releases []uint64   // requests that the ranks are to forget before the next step
	promised int        // blocks that accepted requests may need at most
	broken   error      // why nothing is accepted any more
	stats    counters
	log      log

	// Of the step that is being formed.
	decoding int // running requests that have one token to compute or in flight
	scratch  [2][]*request
}

// request is a Request on its way.
type request struct {
	Request
	id      uint64
	tokens  []int32 // prompt and generated
	most    int     // of tokens
	sampler interface {
		Next(logits []float32) (sample.Choice, error)
		Led() bool
		Take(sample.Lead) (sample.Choice, error)
	}
	stream  *Stream
	usage   Usage
	elem    *list.Element   // in waiting
	seq     *cache.Sequence // while running
	known   bool            // to the ranks
	flying  int             // its rows in steps in flight
	done    bool            // has given out its end
	unwatch func()          // the context of Submit
}

// remaining returns the tokens that have to be computed before the next is
// known. It is 0 while the step that computes them is in flight.
func (r *request) remaining() int { return len(r.tokens) - r.seq.Len() }

func newBatch(info engine.Info, opts Options) (*batch, error) {
	if info.Vocab < 1 || info.Context < 2 || info.MaxRows < 1 || info.MaxTokens < info.MaxRows || info.Depth < 1 {
		return nil, fmt.Errorf("an engine for %d tokens of vocabulary, %d of context, %d rows and %d tokens a step, and %d steps in flight cannot be scheduled",
			info.Vocab, info.Context, info.MaxRows, info.MaxTokens, info.Depth)
	}
	pool, err := cache.New(cache.Config{Blocks: info.Blocks, BlockSize: info.BlockSize, Salt: opts.Salt, NoSharing: opts.NoSharing})
	if err != nil {
		return nil, err
	}
	opts, err = opts.withDefaults()
	if err != nil {
		return nil, err
	}
	return &batch{opts: opts, info: info, pool: pool}, nil
}

// pending counts the requests that hold a place: queued and in flight.
func (b *batch) pending() int { return b.waiting.Len() + len(b.running) }

// newRequest makes a request, or says what is wrong with it. It needs no lock.
func (b *batch) newRequest(req Request) (*request, error) {
	if err := b.check(req); err != nil {
		return nil, err
	}
	sampler, err := sample.New(req.Params, b.info.Vocab, req.Prompt)
	if err != nil {
		return nil, err
	}
	most := b.longest()
	usage := Usage{Prompt: len(req.Prompt), Full: most}
	if n := req.Params.MaxTokens; n > 0 && n <= most-len(req.Prompt) {
		most, usage.Full = len(req.Prompt)+n, 0
	}
	return &request{
		Request: req, most: most, sampler: sampler, tokens: slices.Clone(req.Prompt),
		usage: usage, stream: newStream(), unwatch: func() {},
	}, nil
}

// admit puts a request into the queue, or says why not.
func (b *batch) admit(r *request, now time.Time) error {
	if b.broken != nil {
		return b.broken
	}
	if n := b.pending(); n >= b.opts.Limit {
		return &QueueFull{Pending: n, Limit: b.opts.Limit}
	}
	need := b.pool.BlocksFor(r.most)
	if b.opts.Full == Refuse && b.promised+need > b.pool.Blocks() {
		return &cache.OutOfBlocks{Need: need, Free: b.pool.Blocks() - b.promised}
	}
	b.promised += need
	b.lastID++
	r.id = b.lastID
	r.usage.Submitted = now
	r.elem = b.waiting.PushBack(r)
	return nil
}

// longest returns the most tokens that a request can have: those of the context,
// or of the whole pool.
func (b *batch) longest() int { return min(b.info.Context, b.pool.Blocks()*b.pool.BlockSize()) }

func (b *batch) check(req Request) error {
	switch {
	case len(req.Prompt) == 0:
		return errors.New("the prompt has no tokens")
	case len(req.Prompt) >= b.longest():
		return &TooLong{Prompt: len(req.Prompt), Most: b.longest()}
	}
	for i, token := range req.Prompt {
		if token < 0 || int(token) >= b.info.Vocab {
			return fmt.Errorf("token %d of the prompt is %d; the vocabulary has %d", i, token, b.info.Vocab)
		}
	}
	return nil
}

// finish ends a request, once. Its blocks stay until no step uses them.
func (b *batch) finish(r *request, reason Reason, err error, now time.Time) {
	if r.done {
		return
	}
	r.done = true
	r.unwatch()
	b.stats.finished[reason]++
	r.stream.Push(Event{At: now, Finish: &Finish{Reason: reason, Err: err, Usage: r.usage}})
	switch {
	case r.seq == nil:
		b.waiting.Remove(r.elem)
		b.promised -= b.pool.BlocksFor(r.most)
	case r.flying == 0:
		b.retire(r)
	}
}

// retire takes a finished request, which no step uses, out of the running.
func (b *batch) retire(r *request) {
	b.promised -= b.pool.BlocksFor(r.most)
	b.vacate(r)
}

// vacate gives back all that a running request holds.
func (b *batch) vacate(r *request) {
	r.seq.Release()
	r.seq = nil
	if r.known {
		r.known = false
		b.releases = append(b.releases, r.id)
	}
	b.running = slices.DeleteFunc(b.running, func(o *request) bool { return o == r })
}

// fail ends all requests with the failure of the engine, and refuses later ones.
// Steps in flight will not come back.
func (b *batch) fail(cause error, now time.Time) {
	if b.broken != nil {
		return
	}
	b.broken = &EngineError{Err: cause}
	b.endAll(func(r *request) error { return &EngineError{Generated: r.usage.Generated, Err: cause} }, true, now)
	b.releases = nil
}

// close ends all requests and refuses later ones. Steps in flight come back.
func (b *batch) close(now time.Time) {
	if b.broken == nil {
		b.broken = ErrClosed
	}
	b.endAll(func(*request) error { return ErrClosed }, false, now)
}

func (b *batch) endAll(err func(*request) error, lost bool, now time.Time) {
	all := slices.Clone(b.running)
	for e := b.waiting.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*request))
	}
	for _, r := range all {
		if lost && r.flying > 0 {
			r.flying = 0
			if r.done {
				b.retire(r)
			}
		}
		b.finish(r, Failed, err(r), now)
	}
}

// choice is what a sampler made of one row.
type choice struct {
	sample.Choice
	err error
}

// complete takes in a step that came back. choices has an entry for each row;
// those of rows without logits are not looked at.
func (b *batch) complete(f *flight, choices []choice, now time.Time) {
	prompt, generated := 0, 0
	for i, r := range f.rows {
		row := &f.step.Rows[i]
		if row.Pos < len(r.Prompt) {
			prompt += len(row.Tokens)
		}
		r.flying--
		switch {
		case r.done:
			if r.flying == 0 {
				b.retire(r)
			}
		case row.Logits && choices[i].err != nil:
			b.finish(r, Failed, choices[i].err, now)
		case row.Logits:
			generated++
			b.accept(r, choices[i].Choice, now)
		}
	}
	b.stats.step(f.sent, now, prompt, generated)
	b.log.took(f.number, now.Sub(f.sent))
}

// accept adds a token to a request and gives it out.
func (b *batch) accept(r *request, c sample.Choice, now time.Time) {
	r.tokens = append(r.tokens, c.Token)
	r.usage.Generated++
	r.usage.Last = now
	if r.usage.Generated == 1 {
		r.usage.First = now
	}
	r.stream.Push(Event{Choice: c, Index: r.usage.Generated - 1, At: now})
	switch {
	case c.Stop:
		b.finish(r, Stopped, nil, now)
	case len(r.tokens) >= r.most:
		b.finish(r, Length, nil, now)
	}
}

package sched

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"forgekernel/nebula/engine"
)

// Full says what happens when the pool has no block left.
type Full uint8

const (
	// Queue accepts requests beyond the pool: when it is full, the youngest give
	// their blocks up and compute again later.
	Queue Full = iota
	// Refuse accepts a request only if all the blocks that it may need are not
	// promised to others; Submit returns a *cache.OutOfBlocks otherwise.
	Refuse
)

// Options are the policies of a scheduler. The zero value is a good one.
type Options struct {
	Limit     int      // most unfinished requests, queued and in flight; 0 = 256
	Chunk     int      // most prompt tokens of a step that also decodes, or of one of several in flight; 0 = 64
	Batching  Batching // nil = Continuous
	Full      Full
	Salt      string // identity of the model, for the content of blocks
	NoSharing bool   // compute every prompt whole; for comparison
	Threads   int    // that choose tokens of one step, row by row; 0 = 1
}

// Defaults of Options.
const (
	DefaultLimit = 256
	DefaultChunk = 64
)

func (o Options) withDefaults() (Options, error) {
	if o.Limit < 0 || o.Chunk < 0 || o.Threads < 0 {
		return o, fmt.Errorf("a limit of %d requests, chunks of %d tokens, %d threads: none can be negative", o.Limit, o.Chunk, o.Threads)
	}
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	if o.Chunk == 0 {
		o.Chunk = DefaultChunk
	}
	if o.Batching == nil {
		o.Batching = Continuous{}
	}
	return o, nil
}

// Scheduler drives one engine. It is safe for concurrent use.
type Scheduler struct {
	engine engine.Engine
	wake   chan struct{} // holds a token while the loop has something to look at
	sent   chan *flight  // to the goroutine that waits for results
	back   chan *flight
	ended  chan struct{}

	mu     sync.Mutex
	batch  *batch
	closed bool
}

// New starts a scheduler of an engine, which stays the caller's to close. Nobody
// else may submit steps to it until Close has returned.
func New(e engine.Engine, opts Options) (*Scheduler, error) {
	b, err := newBatch(e.Info(), opts)
	if err != nil {
		return nil, err
	}
	s := &Scheduler{
		engine: e, batch: b, wake: make(chan struct{}, 1), ended: make(chan struct{}),
		sent: make(chan *flight, e.Info().Depth), back: make(chan *flight),
	}
	go s.await()
	go s.loop()
	return s, nil
}

// Submit queues a request. The request ends when ctx does. Errors are
// *QueueFull, *TooLong, *cache.OutOfBlocks (with Refuse), *EngineError,
// ErrClosed, or say what is wrong with the request.
func (s *Scheduler) Submit(ctx context.Context, req Request) (*Stream, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r, err := s.batch.newRequest(req)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.batch.admit(r, time.Now()); err != nil {
		return nil, err
	}
	r.stream.end = func(reason Reason, err error) { s.end(r, reason, err) }
	s.watch(ctx, r)
	s.signal()
	return r.stream, nil
}

// watch ends the request with its context or at its deadline.
func (s *Scheduler) watch(ctx context.Context, r *request) {
	free := context.CancelFunc(func() {})
	if !r.Deadline.IsZero() {
		ctx, free = context.WithDeadline(ctx, r.Deadline)
	}
	stop := context.AfterFunc(ctx, func() {
		reason := Cancelled
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			reason = Expired
		}
		s.end(r, reason, context.Cause(ctx))
	})
	r.unwatch = func() { stop(); free() }
}

func (s *Scheduler) end(r *request, reason Reason, err error) {
	s.mu.Lock()
	s.batch.finish(r, reason, err, time.Now())
	s.mu.Unlock()
	s.signal()
}

func (s *Scheduler) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close ends all requests with ErrClosed, waits for the steps in flight, and
// leaves the engine without requests.
func (s *Scheduler) Close() {
	s.mu.Lock()
	s.closed = true
	s.batch.close(time.Now())
	s.mu.Unlock()
	s.signal()
	<-s.ended
}

// Pending returns the number of unfinished requests, queued and in flight.
func (s *Scheduler) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batch.pending()
}

// Cached returns how many tokens of a prompt are in the cache now.
func (s *Scheduler) Cached(prompt []int32) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batch.pool.Match(prompt).Tokens
}

// Err returns why no request is accepted any more, or nil.
func (s *Scheduler) Err() error {
	s.mu.Lock()
	err := s.batch.broken
	s.mu.Unlock()
	if err == nil {
		err = s.engine.Status().Err
	}
	return err
}

// Metrics returns a snapshot.
func (s *Scheduler) Metrics() Metrics {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batch.metrics(time.Now())
}

// loop sends steps while the engine takes more, and takes in those that come
// back, until the scheduler is closed or the engine fails.
func (s *Scheduler) loop() {
	defer close(s.ended)
	defer close(s.sent)
	depth, flying := s.engine.Info().Depth, 0
	var err error
	for err == nil {
		var again <-chan time.Time
		if flying < depth {
			s.mu.Lock()
			f, at := s.batch.plan(time.Now())
			closed := s.closed
			s.mu.Unlock()
			if err = s.send(f); err != nil {
				break
			}
			if len(f.rows) > 0 {
				flying++
				continue
			}
			if closed && flying == 0 {
				return
			}
			if !at.IsZero() {
				again = time.After(time.Until(at))
			}
		}
		select {
		case f := <-s.back:
			flying--
			err = s.settle(f)
		case <-s.wake:
		case <-again:
		}
	}
	s.mu.Lock()
	s.batch.fail(err, time.Now())
	s.mu.Unlock()
	for ; flying > 0; flying-- {
		<-s.back
	}
}

// send hands a step to the engine, after the requests that are to be forgotten.
func (s *Scheduler) send(f *flight) error {
	ctx := context.Background() // the engine's own deadlines hold
	for _, id := range f.releases {
		if err := s.engine.Release(ctx, id); err != nil {
			return err
		}
	}
	if len(f.rows) == 0 {
		return nil
	}
	ticket, err := s.engine.Submit(ctx, f.step)
	if err != nil {
		return err
	}
	f.ticket = ticket
	s.sent <- f
	return nil
}

// await waits for the steps in flight, in order.
func (s *Scheduler) await() {
	for f := range s.sent {
		f.result, f.err = s.engine.Wait(context.Background(), f.ticket)
		s.back <- f
	}
}

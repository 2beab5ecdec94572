package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/cache"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/model"
	"forgekernel/nebula/sample"
	"forgekernel/nebula/shard"
	"forgekernel/nebula/trace"
)

// rank is one part of the model with its part of the cache. One goroutine at a time
// executes.
type rank struct {
	place   shard.Place
	model   *model.Model
	backend backend.Backend
	sizes   sizes
	groups  *groups // nil until the ranks have joined
	ledger  *cache.Ledger
	cutter  cutter
	timeout time.Duration // of calls of groups in programs with one deadline
	appends []cache.Append
	rec     *trace.Recorder
	notes   []string // of the description

	pools    *pools
	ahead    *ahead        // of the program that ran last
	requests []uint64      // of a pass
	idle     time.Duration // since when nothing executes, on the clock of rec
	at       atomic.Uint64 // step that executes, or executed last
	busy     atomic.Bool

	mu       sync.Mutex // of what follows
	programs map[bucket]*program
	free     []*work
}

// open allocates the rank's part of the cache. It waits for no other rank.
func (r *rank) open() error {
	var err error
	if r.ledger, err = cache.NewLedger(r.sizes.blocks, r.sizes.blockSize, r.sizes.context); err != nil {
		return err
	}
	r.cutter = newCutter(r.sizes)
	if r.sizes.regions > 0 {
		r.rec = trace.New(r.sizes.regions)
	}
	if b, ok := r.backend.(*cpu.Backend); ok && r.sizes.kernels == 1 {
		apart := *b
		apart.Apart = true
		r.backend = &apart
	}
	r.backend, r.notes = tuned(r.backend)
	r.programs = make(map[bucket]*program)
	f, c := r.form(bucket{rows: 1, tokens: 1}), r.model.Config
	from, to := r.place.Layers(c.Layers)
	r.pools, err = openPools(r.backend, 2*(to-from), ir.Spec{DType: r.sizes.dtype, Shape: f.CacheShape(c)})
	return err
}

// close gives back what a device holds. Nothing executes any more.
func (r *rank) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	for _, p := range r.programs {
		err = errors.Join(err, p.close())
	}
	return errors.Join(err, r.pools.close())
}

// prepare compiles the programs that are not there yet. A panic is an error.
func (r *rank) prepare(ctx context.Context, list []bucket) (err error) {
	defer protect(&err)
	var missing []bucket
	for _, b := range list {
		if r.program(b) == nil && !slices.Contains(missing, b) {
			missing = append(missing, b)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	programs, err := r.compile(ctx, missing)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range programs {
		r.programs[p.bucket] = p
	}
	return nil
}

// program is that of a bucket; nil when it is not prepared.
func (r *rank) program(b bucket) *program {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.programs[b]
}

// work returns an empty one, which recycle takes back.
func (r *rank) work() *work {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.free)
	if n == 0 {
		return new(work)
	}
	w := r.free[n-1]
	r.free = r.free[:n-1]
	return w
}

func (r *rank) recycle(w *work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free = append(r.free, w)
}

// fits checks that a step has rows and tokens that programs can take.
func (r *rank) fits(rows []Row) *Refused {
	s, vocab := r.sizes, r.model.Config.Vocab
	if len(rows) < 1 || len(rows) > s.maxRows {
		return &Refused{-1, fmt.Sprintf("it has %d rows; a step has 1 to %d", len(rows), s.maxRows)}
	}
	total := 0
	for i := range rows {
		total += len(rows[i].Tokens)
		if len(rows[i].Tokens) < 1 || total > s.maxTokens {
			return &Refused{i, fmt.Sprintf("it has %d tokens and brings the step to %d; a row has at least one, a step at most %d", len(rows[i].Tokens), total, s.maxTokens)}
		}
		for _, t := range rows[i].Tokens {
			if t < 0 || int(t) >= vocab {
				return &Refused{i, fmt.Sprintf("token %d is not in the vocabulary of %d", t, vocab)}
			}
		}
	}
	return nil
}

// enter checks a step against the ledger and enters it there, nothing of it when it
// is refused. An engine never goes on after a step that failed, so that one that was
// entered counts as done.
func (r *rank) enter(rows []Row) *Refused {
	r.appends = r.appends[:0]
	for i := range rows {
		row := &rows[i]
		r.appends = append(r.appends, cache.Append{Request: row.Request, Pos: row.Pos, Tokens: len(row.Tokens), Blocks: row.Blocks})
	}
	err := r.ledger.Begin(r.appends)
	if err == nil {
		r.ledger.End()
		return nil
	}
	if e := (*cache.AppendError)(nil); errors.As(err, &e) {
		return &Refused{e.Row, fmt.Sprintf("request %d: %s", e.Request, e.Reason)}
	}
	return &Refused{-1, err.Error()}
}

// hand gives a step that this rank has checked to the goroutine that executes, and returns
// when all ranks have checked the same one. Processors that execute want it to wait until
// then; devices begin at once, and wait for one another themselves: nothing that they
// compute is given to anybody before the ranks agree, and they end if these do not.
func (r *rank) hand(ctx context.Context, w *work, enqueue func() error) error {
	number, hash := w.number, w.hash // the work may be over, and used again
	if r.pools.held == nil {
		if err := r.agree(ctx, number, hash); err != nil {
			return err
		}
		return enqueue()
	}
	if err := enqueue(); err != nil {
		return err
	}
	return r.agree(ctx, number, hash)
}

// agree returns when all ranks have checked the same step.
func (r *rank) agree(ctx context.Context, number uint64, hash uint32) (err error) {
	defer protect(&err)
	start := r.rec.Now()
	if err := r.groups.consent(ctx, hash); err != nil {
		return err
	}
	r.rec.Add(trace.Region{Kind: trace.Agree, Lane: trace.Control, Step: number, Start: start})
	return nil
}

// waits is the rank that this one waits for to execute its step, or between steps for
// what comes of one; -1 where it waits for none.
func (r *rank) waits() int {
	if r.groups == nil {
		return -1
	}
	return r.groups.waits(r.busy.Load())
}

// deliver takes the logits of a pass, [rows of the program, vocab], and their leads; nil
// where there are none, or nobody wants them. Rows of padding are undefined.
type deliver func(p *pass, logits *tensor.Tensor, leads []sample.Lead) error

// room gives the tensor that the logits of a pass are left in.
type room func(p *program) (*tensor.Tensor, error)

// execute runs the passes of a step. A panic is an error.
func (r *rank) execute(ctx context.Context, w *work, room room, done deliver) (err error) {
	r.rec.Add(trace.Region{Kind: trace.Wait, Start: r.idle})
	defer func() { r.idle = r.rec.Now() }()
	r.at.Store(w.number)
	r.busy.Store(true)
	defer r.busy.Store(false)
	defer protect(&err)
	for i := range w.passes {
		p := &w.passes[i]
		if err := r.run(ctx, w, p, room, done); err != nil {
			return err
		}
	}
	return nil
}

func (r *rank) run(ctx context.Context, w *work, p *pass, room room, done deliver) error {
	prog := r.program(p.bucket)
	if prog == nil {
		return fmt.Errorf("program %v was not prepared", p.bucket)
	}
	prog.fill(w.rows, p.of)
	var logits *tensor.Tensor
	if prog.head && (prog.leads == nil || w.wantsAll(p)) {
		var err error
		if logits, err = room(prog); err != nil {
			return err
		}
	}
	if prog.leads == nil && prog.head {
		prog.outputs[0] = logits
	}
	if n := p.deadlines(); n > 1 {
		ctx = collective.WithTimeout(ctx, time.Duration(n)*r.timeout)
	}
	start := r.rec.Now() // a region is the program alone, from which the engine's own cost follows
	if err := r.runProgram(ctx, prog, w, p); err != nil {
		return err
	}
	r.rec.Add(trace.Region{Kind: trace.Step, Name: prog.name, Step: w.number, Start: start})
	if prog.leads == nil {
		return done(p, logits, nil)
	}
	if logits != nil {
		if err := prog.leads.logits.Download(ctx, logits); err != nil {
			return err
		}
	}
	return done(p, logits, prog.leads.read())
}

// runProgram runs a program on its arguments. What another one had begun is over then.
func (r *rank) runProgram(ctx context.Context, prog *program, w *work, p *pass) error {
	if r.ahead != nil && r.ahead != prog.ahead {
		if err := r.ahead.drop(ctx); err != nil {
			return err
		}
	}
	if r.ahead = prog.ahead; r.ahead == nil {
		return prog.run(ctx)
	}
	r.requests = r.requests[:0]
	for _, i := range p.of {
		r.requests = append(r.requests, w.rows[i].Request)
	}
	return r.ahead.run(ctx, prog, r.requests, len(w.passes) == 1 && w.greedy(p))
}

package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"forgekernel/nebula/engine"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/trace"
)

// sequence is a request that is driven past the scheduler, on blocks of its own.
type sequence struct {
	id     uint64
	prompt []int32
	blocks []int32
	at     int // tokens in the cache
}

// sequences are those of a batch.
func (r *run) sequences(size int) []*sequence {
	list := make([]*sequence, size)
	next := int32(0)
	for i := range list {
		r.last++
		s := &sequence{id: r.last, prompt: r.prompts[i]}
		for range r.width() {
			s.blocks = append(s.blocks, next)
			next++
		}
		list[i] = s
	}
	return list
}

// row is the next n tokens of a sequence as a part of a step, of a greedy request.
func (s *sequence) row(tokens []int32, logits bool) engine.Row {
	row := engine.Row{Request: s.id, Tokens: tokens, Pos: s.at, Blocks: s.blocks, Logits: logits, Lead: true}
	s.at += len(tokens)
	return row
}

// flight is a step that has been submitted.
type flight struct {
	ticket engine.Ticket
	sent   time.Time
	part   int // of the batch
}

// pipeline keeps as many steps in flight as there are stages.
type pipeline struct {
	engine engine.Engine
	depth  int
	flying []flight
	landed func(f flight, at time.Time) // with the time at which its result was there
}

func (p *pipeline) submit(ctx context.Context, part int, rows []engine.Row) error {
	if len(p.flying) == p.depth {
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
	sent := time.Now()
	t, err := p.engine.Submit(ctx, engine.Step{Rows: rows})
	if err == nil {
		p.flying = append(p.flying, flight{t, sent, part})
	}
	return err
}

// wait takes the result of the oldest step.
func (p *pipeline) wait(ctx context.Context) error {
	f := p.flying[0]
	p.flying = p.flying[1:]
	_, err := p.engine.Wait(ctx, f.ticket)
	if err == nil {
		p.landed(f, time.Now())
	}
	return err
}

func (p *pipeline) drain(ctx context.Context) error {
	for len(p.flying) > 0 {
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// prefill computes all prompts, and returns how long that took. Steps are as large as
// may be; those of several in flight as the scheduler would have them.
func (r *run) prefill(ctx context.Context, batch []*sequence) (time.Duration, error) {
	p := pipeline{engine: r.subject.Engine, depth: r.info.Depth, landed: func(flight, time.Time) {}}
	most := r.info.MaxTokens
	if r.info.Depth > 1 {
		most = min(most, sched.DefaultChunk)
	}
	start := time.Now()
	var rows []engine.Row
	room := most
	send := func() error {
		err := p.submit(ctx, 0, rows)
		rows, room = nil, most
		return err
	}
	for _, s := range batch {
		for s.at < len(s.prompt) {
			n := min(room, len(s.prompt)-s.at)
			rows = append(rows, s.row(s.prompt[s.at:s.at+n], s.at+n == len(s.prompt)))
			if room -= n; room == 0 || len(rows) == r.info.MaxRows {
				if err := send(); err != nil {
					return 0, err
				}
			}
		}
	}
	if len(rows) > 0 {
		if err := send(); err != nil {
			return 0, err
		}
	}
	err := p.drain(ctx)
	return time.Since(start), err
}

// decoded is what the decode steps of one repetition took.
type decoded struct {
	rounds      []float64 // seconds in which the whole batch got one token further
	first, last engine.Ticket
	steps       []step // with one stage
}

// step is one step and the time from its submission to its result, in seconds.
type step struct {
	ticket engine.Ticket
	took   float64
}

// decode takes every sequence of a batch further by all new tokens but the first.
func (r *run) decode(ctx context.Context, batch []*sequence) (d decoded, err error) {
	parts := split(batch, r.info.Depth)
	before := time.Now()
	p := pipeline{engine: r.subject.Engine, depth: len(parts)}
	p.landed = func(f flight, at time.Time) {
		if d.first == 0 {
			d.first = f.ticket
		}
		d.last = f.ticket
		if f.part == 0 {
			d.rounds = append(d.rounds, at.Sub(before).Seconds())
			before = at
		}
		d.steps = append(d.steps, step{f.ticket, at.Sub(f.sent).Seconds()})
	}
	rows := make([][]engine.Row, len(parts))
	for k := range r.o.New - 1 {
		for i, part := range parts {
			rows[i] = rows[i][:0]
			for _, s := range part {
				// Given tokens: which one it is makes no difference to the time.
				rows[i] = append(rows[i], s.row(s.prompt[k%len(s.prompt):][:1], true))
			}
			if err := p.submit(ctx, i, rows[i]); err != nil {
				return d, err
			}
		}
	}
	return d, p.drain(ctx)
}

// split divides a batch into n parts, or as many as it has sequences.
func split(batch []*sequence, n int) [][]*sequence {
	n = min(n, len(batch))
	parts := make([][]*sequence, n)
	for i := range parts {
		parts[i] = batch[len(batch)*i/n : len(batch)*(i+1)/n]
	}
	return parts
}

// sampleEngine measures a batch once, past the scheduler.
func (r *run) sampleEngine(ctx context.Context, b *Batch) error {
	batch := r.sequences(b.Size)
	took, err := r.prefill(ctx, batch)
	if err != nil {
		return err
	}
	d, err := r.decode(ctx, batch)
	if err != nil {
		return err
	}
	b.Prefill.Samples = append(b.Prefill.Samples, took.Seconds())
	b.Decode.Samples = append(b.Decode.Samples, d.rounds...)
	if err := r.inspect(ctx, b, d); err != nil {
		return err
	}
	return r.release(ctx, batch)
}

// release gives the blocks of a batch back.
func (r *run) release(ctx context.Context, batch []*sequence) error {
	for _, s := range batch {
		if err := r.subject.Engine.Release(ctx, s.id); err != nil {
			return err
		}
	}
	return nil
}

// inspect finds out what the times of decode steps do not say.
func (r *run) inspect(ctx context.Context, b *Batch, d decoded) error {
	if b.KVUsed == 0 {
		for rank := range r.info.TP * r.info.PP {
			d, err := r.subject.Engine.Describe(ctx, rank)
			if err != nil {
				return err
			}
			b.KVUsed += d.KVUsed
		}
	}
	ranks, err := r.subject.Engine.Trace(ctx)
	if err != nil {
		return err
	}
	if b.Overhead != nil {
		return b.Overhead.beyond(d.steps, ranks[0].Regions)
	}
	for i, bubble := range trace.Bubbles(between(ranks, d.first, d.last)) {
		b.Bubbles[i] = append(b.Bubbles[i], bubble.Share())
	}
	return nil
}

// beyond adds what each step took beyond the programs that are in the trace.
func (s *Series) beyond(steps []step, regions []trace.Region) error {
	programs := make(map[uint64]time.Duration)
	for _, g := range regions {
		if g.Kind == trace.Step {
			programs[g.Step] += g.End - g.Start
		}
	}
	for _, x := range steps {
		took, ok := programs[uint64(x.ticket)]
		if !ok {
			return fmt.Errorf("step %d is not in the trace: its ranks keep too few regions", x.ticket)
		}
		s.Samples = append(s.Samples, x.took-took.Seconds())
	}
	return nil
}

// between is what ranks did from the beginning of one step to the end of another.
func between(ranks trace.Job, first, last engine.Ticket) trace.Job {
	from, to := time.Duration(math.MaxInt64), time.Duration(math.MinInt64)
	for _, r := range ranks {
		for _, g := range r.Regions {
			if g.Kind == trace.Step && uint64(first) <= g.Step && g.Step <= uint64(last) {
				from, to = min(from, g.Start-r.Offset), max(to, g.End-r.Offset)
			}
		}
	}
	out := slices.Clone(ranks)
	for i, r := range out {
		out[i].Regions = nil
		for _, g := range r.Regions {
			if g.End-r.Offset > from && g.Start-r.Offset < to {
				out[i].Regions = append(out[i].Regions, g)
			}
		}
	}
	return out
}

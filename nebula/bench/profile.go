package bench

import (
	"context"
	"errors"

	"forgekernel/nebula/engine"
	"forgekernel/nebula/trace"
)

// Profile is what the ranks of a job did for one batch: its prefill and its decode
// steps.
type Profile struct {
	Trace  trace.Job // all of it
	Decode trace.Job // the decode steps alone
}

// Bubbles is how much of the time of the decode steps each rank waited for others of the
// pipeline.
func (p *Profile) Bubbles() []trace.Bubble { return trace.Bubbles(p.Decode) }

// Record runs a batch as [Run] does, once to compile and once to be recorded. The ranks
// have to keep as many regions as that takes.
func Record(ctx context.Context, s Subject, o Settings) (*Profile, error) {
	if len(o.Batches) != 1 {
		return nil, errors.New("a profile is of one size of batch")
	}
	if err := o.Check(s.Model.Config); err != nil {
		return nil, err
	}
	r := &run{subject: s, o: o, info: s.Engine.Info(), last: firstRequest, prompts: prompts(o, s.Model.Config.Vocab)}
	if err := r.fits(); err != nil {
		return nil, err
	}
	if _, _, err := r.pass(ctx); err != nil {
		return nil, err
	}
	first, d, err := r.pass(ctx)
	if err != nil {
		return nil, err
	}
	ranks, err := s.Engine.Trace(ctx)
	if err != nil {
		return nil, err
	}
	p := &Profile{Trace: between(ranks, first, d.last), Decode: between(ranks, d.first, d.last)}
	for _, r := range ranks {
		if len(r.Regions) > 0 && r.Lost > 0 && r.Regions[0].Step >= uint64(first) {
			return nil, errors.New("the ranks keep too few regions for this batch: profile fewer tokens")
		}
	}
	return p, nil
}

// pass runs the batch, and tells the first step of its prefill.
func (r *run) pass(ctx context.Context) (engine.Ticket, decoded, error) {
	first := engine.Ticket(r.subject.Engine.Status().Steps + 1)
	batch := r.sequences(r.o.Batches[0])
	if _, err := r.prefill(ctx, batch); err != nil {
		return 0, decoded{}, err
	}
	d, err := r.decode(ctx, batch)
	if err != nil {
		return 0, d, err
	}
	return first, d, r.release(ctx, batch)
}

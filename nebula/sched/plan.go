package sched

import (
	"cmp"
	"slices"
	"time"

	"forgekernel/nebula/engine"
)

// flight is a step on its way through the engine.
type flight struct {
	number   uint64 // in the log
	step     engine.Step
	rows     []*request // of step.Rows, one each
	releases []uint64   // to be sent before the step
	sent     time.Time
	ticket   engine.Ticket
	result   engine.Result
	err      error
}

// plan forms the next step. It may be without rows, when all requests are in
// flight or wait for something; then the time is when to ask again (zero = when
// something happens).
func (b *batch) plan(now time.Time) (*flight, time.Time) {
	again := b.opts.Batching.start(b, now)
	most := min(b.info.MaxRows, len(b.running))
	f := &flight{sent: now, rows: make([]*request, 0, most), step: engine.Step{Rows: make([]engine.Row, 0, most)}}
	decodes, prompts := b.ready()
	b.addDecodes(f, decodes)
	b.addPrompts(f, slices.DeleteFunc(prompts, func(r *request) bool { return r.seq == nil })) // preempted by decoders
	for _, r := range f.rows {
		r.flying++
		r.known = true
		r.seq.Publish()
		if r.usage.Started.IsZero() {
			r.usage.Started = now
		}
	}
	if len(f.rows) > 0 {
		b.log.add(b, f)
	}
	f.releases, b.releases = b.releases, nil
	return f, again
}

// ready returns the running requests that need one token computed, and those that
// need more. Tokens that are known can be computed while the ones before them are
// in flight: chunks of one prompt follow one another through the stages.
func (b *batch) ready() (decodes, prompts []*request) {
	decodes, prompts = b.scratch[0][:0], b.scratch[1][:0]
	b.decoding = 0
	for _, r := range b.running {
		if r.done {
			continue // until its steps are back
		}
		switch r.remaining() {
		case 0:
			b.decoding++
		case 1:
			b.decoding++
			decodes = append(decodes, r)
		default:
			prompts = append(prompts, r)
		}
	}
	b.scratch = [2][]*request{decodes, prompts}
	return decodes, prompts
}

// addDecodes adds the rows of one token: an even share of all that decode, so
// that with several steps in flight each has its part. What is left out of one
// step comes into one of the next: as many steps as may be in flight have shares
// for all. They also leave a row to a prompt, because no more requests run than
// those steps have rows.
func (b *batch) addDecodes(f *flight, ready []*request) {
	share := ceil(b.decoding, b.info.Depth)
	for _, r := range ready {
		if len(f.rows) < share && r.seq != nil { // not preempted by one before it
			b.add(f, r, 1)
		}
	}
}

func ceil(n, parts int) int { return (n + parts - 1) / parts }

// addPrompts fills the step up with chunks of prompts, again an even share of
// them, and small chunks where decoders or later stages would wait for them.
func (b *batch) addPrompts(f *flight, ready []*request) {
	rows := min(b.info.MaxRows-len(f.rows), ceil(len(ready), b.info.Depth))
	tokens := b.info.MaxTokens - len(f.rows)
	if b.decoding > 0 || b.info.Depth > 1 {
		tokens = min(tokens, b.opts.Chunk)
	}
	most := arrange(ready, rows, tokens)
	for _, r := range ready {
		if rows == 0 || tokens == 0 {
			return
		}
		if r.seq == nil { // preempted by one before it
			continue
		}
		n := min(r.remaining(), most)
		if b.add(f, r, n) {
			tokens -= n
			rows--
		}
		most = tokens
	}
}

// arrange puts prompts into the order in which they get tokens, and returns how
// many the first may have. It is the oldest and may have at least half, so that it
// always goes on; what it leaves goes to those that need least, which would wait
// long behind it.
func arrange(prompts []*request, rows, tokens int) (most int) {
	if len(prompts) == 0 {
		return 0
	}
	slices.SortFunc(prompts, func(a, c *request) int { return cmp.Compare(a.id, c.id) })
	rest := prompts[1:]
	slices.SortStableFunc(rest, func(a, c *request) int { return cmp.Compare(a.remaining(), c.remaining()) })
	others := 0
	for _, r := range rest[:min(len(rest), max(rows-1, 0))] {
		others += r.remaining()
	}
	return max(ceil(tokens, 2), tokens-others)
}

// add puts the next n tokens of a request into the step. Where blocks are short,
// younger requests give theirs up; it reports false if that was not enough.
func (b *batch) add(f *flight, r *request, n int) bool {
	pos := r.seq.Len()
	tokens := r.tokens[pos : pos+n]
	for r.seq.Extend(tokens) != nil {
		if !b.preempt(f, r) {
			return false
		}
	}
	f.rows = append(f.rows, r)
	f.step.Rows = append(f.step.Rows, engine.Row{
		Request: r.id, Tokens: tokens, Pos: pos, Blocks: r.seq.Blocks(), Logits: pos+n == len(r.tokens), Lead: r.sampler.Led(),
	})
	return true
}

// preempt sends the youngest request that is younger than r and not in flight
// back to the front of the queue.
func (b *batch) preempt(f *flight, r *request) bool {
	victim := r
	for _, o := range b.running {
		if o.id > victim.id && o.flying == 0 {
			victim = o
		}
	}
	if victim == r {
		return false
	}
	if i := slices.Index(f.rows, victim); i >= 0 {
		f.rows = slices.Delete(f.rows, i, i+1)
		f.step.Rows = slices.Delete(f.step.Rows, i, i+1)
	}
	b.vacate(victim)
	victim.usage.Preempted++
	b.stats.preemptions++
	victim.elem = b.waiting.PushFront(victim)
	return true
}

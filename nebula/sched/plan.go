package sched

import (
	"cmp"
	"slices"
	"time"

	"forgekernel/nebula/engine"
)

// flight is a step on its way through the engine.
type flight struct {
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
	b.addDecodes(f, decodes, len(prompts) > 0)
	b.addPrompts(f, prompts)
	for _, r := range f.rows {
		r.busy, r.known = true, true
		r.seq.Publish()
		if r.usage.Started.IsZero() {
			r.usage.Started = now
		}
	}
	f.releases, b.releases = b.releases, nil
	return f, again
}

// ready returns the running requests that are not in flight: those that need
// one token computed, and those that need more.
func (b *batch) ready() (decodes, prompts []*request) {
	decodes, prompts = b.scratch[0][:0], b.scratch[1][:0]
	b.decoding, b.filling = 0, 0
	for _, r := range b.running {
		left := r.remaining()
		if left > 1 {
			b.filling++
		} else {
			b.decoding++
		}
		switch {
		case r.busy:
		case left > 1:
			prompts = append(prompts, r)
		default:
			decodes = append(decodes, r)
		}
	}
	b.scratch = [2][]*request{decodes, prompts}
	return decodes, prompts
}

// addDecodes adds the rows of one token: an even share of all that decode, so
// that with several steps in flight each has its part. One row is left for
// prompts if there are any.
func (b *batch) addDecodes(f *flight, ready []*request, prompts bool) {
	rows := b.info.MaxRows
	if prompts && rows > 1 {
		rows--
	}
	share := min(rows, ceil(b.decoding, b.info.Depth))
	for _, r := range ready {
		if len(f.rows) == share {
			b.rotate(f.rows)
			break
		}
		if r.seq != nil { // not preempted by one before it
			b.add(f, r, 1)
		}
	}
}

func ceil(n, parts int) int { return (n + parts - 1) / parts }

// rotate puts the requests that had their turn behind the others.
func (b *batch) rotate(served []*request) {
	order := make([]*request, 0, len(b.running))
	for _, r := range b.running {
		if !slices.Contains(served, r) {
			order = append(order, r)
		}
	}
	b.running = append(order, served...)
}

// addPrompts fills the step up with chunks of prompts, again an even share of
// them. The oldest has at least half of the tokens, so that it always goes on;
// what it leaves goes to those that need least, which would wait long behind it.
func (b *batch) addPrompts(f *flight, ready []*request) {
	ready = slices.DeleteFunc(ready, func(r *request) bool { return r.seq == nil }) // preempted by a decoder
	if len(ready) == 0 {
		return
	}
	tokens := b.info.MaxTokens - len(f.rows)
	if b.decoding > 0 {
		tokens = min(tokens, b.opts.Chunk)
	}
	rows := min(b.info.MaxRows-len(f.rows), ceil(b.filling, b.info.Depth))
	slices.SortFunc(ready, func(a, c *request) int { return cmp.Compare(a.id, c.id) })
	rest := ready[1:]
	slices.SortStableFunc(rest, func(a, c *request) int { return cmp.Compare(a.remaining(), c.remaining()) })
	others := 0
	for _, r := range rest[:min(len(rest), max(rows-1, 0))] {
		others += r.remaining()
	}
	most := max(ceil(tokens, 2), tokens-others)
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
		Request: r.id, Tokens: tokens, Pos: pos, Blocks: r.seq.Blocks(), Logits: pos+n == len(r.tokens),
	})
	return true
}

// preempt sends the youngest request that is younger than r and not in flight
// back to the queue.
func (b *batch) preempt(f *flight, r *request) bool {
	victim := r
	for _, o := range b.running {
		if o.id > victim.id && !o.busy {
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
	next := b.waiting.Front()
	for next != nil && next.Value.(*request).id < victim.id {
		next = next.Next()
	}
	if next == nil {
		victim.elem = b.waiting.PushBack(victim)
	} else {
		victim.elem = b.waiting.InsertBefore(victim, next)
	}
	return true
}

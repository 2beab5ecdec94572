package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"forgekernel/forge/tensor"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/sample"
)

// flight is a step on rank 0, from Submit to Wait.
type flight struct {
	number   uint64
	requests []uint64
	wants    []bool // logits, by row
	all      []bool // of these, more than their lead
	led      bool   // the last stage finds leads
	// deadlines is how many deadlines the step has: one, and those that its passes have
	// beyond that, on each stage.
	deadlines int
	tokens    int
	passes    []pass
	order     []int // rows of the passes
	result    Result
	done      chan struct{} // gets a token at the end
	awaited   bool          // by a call of Wait
	memory    *results
	take      deliver // f.deliver
}

// flights are the steps that nobody has waited for yet.
type flights struct {
	mu     sync.Mutex
	known  map[uint64]*flight
	flying []*flight // not completed, in order
	looked int       // times at the first of these
	spare  []*flight
	memory *results
	steps  uint64 // completed
	total  uint64 // tokens of completed steps
}

// kept is how many results are kept for calls of Wait that never come.
const kept = 256

// launch begins the flight of a step.
func (l *flights) launch(w *work, stages int) *flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	var f *flight
	if n := len(l.spare); n > 0 {
		f, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		f = &flight{done: make(chan struct{}, 1), memory: l.memory}
		f.take = f.deliver
	}
	f.set(w, stages)
	if l.known == nil {
		l.known = make(map[uint64]*flight)
	}
	l.known[f.number] = f
	if l.flying = append(l.flying, f); len(l.flying) == 1 {
		l.looked = 0
	}
	return f
}

// set copies what outlives the work of this rank.
func (f *flight) set(w *work, stages int) {
	f.number, f.tokens, f.deadlines, f.awaited = w.number, 0, 1, false
	f.requests, f.wants, f.all, f.order, f.passes = f.requests[:0], f.wants[:0], f.all[:0], append(f.order[:0], w.order...), f.passes[:0]
	for i := range w.rows {
		r := &w.rows[i]
		f.requests, f.wants, f.all = append(f.requests, r.Request), append(f.wants, r.Logits), append(f.all, r.Logits && !r.Lead)
		f.tokens += len(r.Tokens)
	}
	at := 0
	for _, p := range w.passes {
		f.passes = append(f.passes, pass{p.bucket, f.order[at : at+len(p.of)]})
		f.deadlines += stages * (p.deadlines() - 1)
		at += len(p.of)
	}
	f.result = Result{Times: Times{Submitted: time.Now()}, record: f.memory.record(len(w.rows))}
	f.result.Logits = f.result.record.rows
}

// begin notes that this rank executes the step.
func (l *flights) begin(f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.result.Times.Started = time.Now()
}

// complete ends the flight of the first step in flight.
func (l *flights) complete(f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.result.Times.Done = time.Now()
	l.flying = slices.Delete(l.flying, 0, 1)
	l.looked = 0
	l.steps++
	l.total += uint64(f.tokens)
	if old := l.known[f.number-kept]; old != nil && !old.awaited {
		delete(l.known, old.number)
	}
	f.done <- struct{}{}
}

// await finds the flight of a step for a call of Wait.
func (l *flights) await(t Ticket) (*flight, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.known[uint64(t)]
	switch {
	case f == nil:
		return nil, fmt.Errorf("step %d was never submitted, or its result has been taken", t)
	case f.awaited:
		return nil, fmt.Errorf("another call waits for step %d", t)
	}
	f.awaited = true
	return f, nil
}

// abandon is the end of a call of Wait without the result.
func (l *flights) abandon(f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.awaited = false
}

// land takes the result of a flight that is over.
func (l *flights) land(f *flight) Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, f.number)
	r := f.result
	f.result = Result{}
	l.spare = append(l.spare, f)
	return r
}

// flies reports whether a request has a step in flight.
func (l *flights) flies(request uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.flying, func(f *flight) bool { return slices.Contains(f.requests, request) })
}

// look notes a look at the first step in flight, if there is one: which it is, how often
// that has been looked at, and how many deadlines it has.
func (l *flights) look() (number uint64, seen, deadlines int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.flying) == 0 {
		return 0, 0, 0
	}
	l.looked++
	first := l.flying[0]
	return first.number, l.looked, first.deadlines
}

// counts are the completed steps and their tokens.
func (l *flights) counts() (steps, tokens uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.steps, l.total
}

// deliver gives the rows of a pass their logits, and their leads if there are any.
func (f *flight) deliver(p *pass, logits *tensor.Tensor, leads []sample.Lead) error {
	if leads != nil {
		f.result.Leads = f.result.record.leads
		for slot, row := range p.of {
			f.result.Leads[row] = leads[slot]
		}
	}
	if logits == nil {
		return nil
	}
	f.result.record.tensors = append(f.result.record.tensors, logits)
	all, vocab := logits.Float32(), logits.Dim(-1)
	for slot, row := range p.of {
		if f.wants[row] {
			f.result.Logits[row] = all[slot*vocab : (slot+1)*vocab : (slot+1)*vocab]
		}
	}
	return nil
}

// receive takes the logits of all passes from the last stage, or their leads where nobody
// wants more.
func (f *flight) receive(ctx context.Context, from collective.Group, none *tensor.Tensor) (err error) {
	defer protect(&err)
	for i := range f.passes {
		p := &f.passes[i]
		var leads []sample.Lead
		if p.logits && f.led {
			if leads, err = receiveLeads(ctx, from, p.rows); err != nil {
				return err
			}
		}
		var logits *tensor.Tensor
		switch {
		case !p.logits:
			if err := from.Recv(ctx, 1, none); err != nil {
				return err
			}
			continue
		case leads == nil || slices.ContainsFunc(p.of, func(row int) bool { return f.all[row] }):
			if logits, err = f.memory.room(p.rows); err != nil {
				return err
			}
			if err := from.Recv(ctx, 1, logits); err != nil {
				return err
			}
		}
		if err := f.deliver(p, logits, leads); err != nil {
			return err
		}
	}
	return nil
}

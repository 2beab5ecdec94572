package sched

import (
	"slices"
	"time"
)

// Step is what one step of the engine was formed of.
type Step struct {
	Number  uint64 // from 1
	Parts   []Part
	Waiting []uint64 // requests in the queue, in the order in which they begin
	Used    int      // blocks that running requests hold
	// Took is the time from sending the step to its results; 0 while it is in flight.
	Took time.Duration
}

// Part is what one request has of a step: so many of its tokens are computed, from a
// position on. The first part of a request begins where what the cache has of its
// prompt ends.
type Part struct {
	Request uint64 // numbered from 1, in the order in which they came
	Pos     int
	Tokens  int
	Prompt  bool // they belong to the prompt
	Next    bool // the request gets its next token
}

// log keeps the latest steps. What it holds is used again when it is full.
type log struct {
	formed uint64
	last   [kept]Step // the step n at n % kept
}

// add enters a step as it stands and returns its number.
func (l *log) add(b *batch, f *flight) {
	l.formed++
	f.number = l.formed
	s := &l.last[l.formed%kept]
	s.Number, s.Took, s.Used = l.formed, 0, b.pool.Stats().Used
	s.Parts, s.Waiting = s.Parts[:0], s.Waiting[:0]
	for i, r := range f.rows {
		row := &f.step.Rows[i]
		s.Parts = append(s.Parts, Part{Request: r.id, Pos: row.Pos, Tokens: len(row.Tokens), Prompt: row.Pos < len(r.Prompt), Next: row.Logits})
	}
	for e := b.waiting.Front(); e != nil; e = e.Next() {
		s.Waiting = append(s.Waiting, e.Value.(*request).id)
	}
}

// took enters how long a step was under way.
func (l *log) took(number uint64, d time.Duration) {
	if s := &l.last[number%kept]; s.Number == number {
		s.Took = d
	}
}

// steps copies what is kept, oldest first.
func (l *log) steps() []Step {
	var list []Step
	for n := max(1, int64(l.formed)-kept+1); n <= int64(l.formed); n++ {
		s := l.last[n%kept]
		s.Parts, s.Waiting = slices.Clone(s.Parts), slices.Clone(s.Waiting)
		list = append(list, s)
	}
	return list
}

// Steps are the latest steps, up to 256 of them, oldest first.
func (s *Scheduler) Steps() []Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batch.log.steps()
}

package sched

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// settle takes in a step that came back. Samplers run outside the lock; only this
// goroutine and those that it waits for call them.
func (s *Scheduler) settle(f *flight) error {
	if f.err != nil {
		return f.err
	}
	if len(f.result.Logits) != len(f.rows) {
		return fmt.Errorf("the engine gave results of %d rows for a step of %d", len(f.result.Logits), len(f.rows))
	}
	var wanted []int
	s.mu.Lock()
	for i, r := range f.rows {
		if f.step.Rows[i].Logits && !r.done {
			wanted = append(wanted, i)
		}
	}
	s.mu.Unlock()
	choices := f.choose(wanted, s.batch.opts.Threads)
	f.result.Reuse()
	s.mu.Lock()
	s.batch.complete(f, choices, time.Now())
	s.mu.Unlock()
	return nil
}

// choose makes the choices of some rows, on so many threads. What a sampler chooses
// depends on its own row alone.
func (f *flight) choose(rows []int, threads int) []choice {
	choices := make([]choice, len(f.rows))
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(rows)); i = next.Add(1) - 1 {
			row := rows[i]
			c, sampler := &choices[row], f.rows[row].sampler
			if f.result.Leads != nil && f.step.Rows[row].Lead {
				c.Choice, c.err = sampler.Take(f.result.Leads[row])
			} else {
				c.Choice, c.err = sampler.Next(f.result.Logits[row])
			}
		}
	}
	var others sync.WaitGroup
	for range min(threads, len(rows)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return choices
}

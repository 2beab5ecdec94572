package sched

import (
	"slices"
	"time"

	"forgekernel/nebula/cache"
)

// Metrics is what a scheduler is doing and has done, for displays.
type Metrics struct {
	Queued, Running int
	// Rate is the tokens generated in the last seconds over the time they took
	// by the clock, idle time included.
	Rate        float64
	StepTime    time.Duration // median of the last steps, from sending to results
	Steps       uint64
	Prompt      uint64 // prompt tokens computed, again after a preemption
	Generated   uint64
	Preemptions uint64
	Finished    map[Reason]uint64
	KV          cache.Stats
	Err         error // why nothing is accepted any more
}

const (
	rateWindow = 5 * time.Second
	kept       = 256 // steps that rate and step time are taken from
)

// counters are the sums behind Metrics.
type counters struct {
	steps, prompt, generated, preemptions uint64
	finished                              [reasons]uint64
	last                                  [kept]stepRecord // the step n at n % kept
}

type stepRecord struct {
	sent, done time.Time
	generated  int
}

func (c *counters) step(sent, done time.Time, prompt, generated int) {
	c.last[c.steps%kept] = stepRecord{sent, done, generated}
	c.steps++
	c.prompt += uint64(prompt)
	c.generated += uint64(generated)
}

// recent returns the steps that are kept, oldest first.
func (c *counters) recent() []stepRecord {
	if c.steps <= kept {
		return c.last[:c.steps]
	}
	at := c.steps % kept
	return append(slices.Clone(c.last[at:]), c.last[:at]...)
}

func (c *counters) rate(now time.Time) float64 {
	var from time.Time
	tokens := 0
	for _, s := range c.recent() {
		if s.done.Before(now.Add(-rateWindow)) {
			continue
		}
		if from.IsZero() || s.sent.Before(from) {
			from = s.sent
		}
		tokens += s.generated
	}
	took := now.Sub(from)
	if tokens == 0 || took <= 0 {
		return 0
	}
	return float64(tokens) / took.Seconds()
}

func (c *counters) stepTime() time.Duration {
	var times []time.Duration
	for _, s := range c.recent() {
		times = append(times, s.done.Sub(s.sent))
	}
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[len(times)/2]
}

func (b *batch) metrics(now time.Time) Metrics {
	m := Metrics{
		Queued: b.waiting.Len(), Running: len(b.running),
		Rate: b.stats.rate(now), StepTime: b.stats.stepTime(), Steps: b.stats.steps,
		Prompt: b.stats.prompt, Generated: b.stats.generated, Preemptions: b.stats.preemptions,
		Finished: map[Reason]uint64{}, KV: b.pool.Stats(), Err: b.broken,
	}
	for reason, n := range b.stats.finished {
		if n > 0 {
			m.Finished[Reason(reason)] = n
		}
	}
	return m
}

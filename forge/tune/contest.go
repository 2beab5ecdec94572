package tune

import (
	"context"
	"fmt"
	"time"

	"forgekernel/forge/capture"
)

// entrant is a candidate that is ready to be timed, or the reason why it is not.
type entrant struct {
	gate *capture.Gate
	err  error
	run  func(ctx context.Context, n int) error // runs the candidate n times
	runs int                                    // in one sample
	// cool drives out of the caches what the rest of a program would; nil for a
	// program that fits them.
	cool func()
}

// contest times entrants in turn.
type contest struct {
	wall     func() time.Duration
	settings Settings
	entrants []*entrant
}

// warmups are the runs before the first sample.
const warmups = 3

// qualify warms the entrants up and finds out how many runs a sample needs.
func (c *contest) qualify(ctx context.Context) error {
	for _, e := range c.entrants {
		if e.err != nil {
			continue
		}
		var quickest time.Duration
		for i := range warmups {
			took, err := c.time(ctx, e, 1)
			if err != nil {
				return err
			}
			if i == 0 || took < quickest {
				quickest = took
			}
		}
		// A single run of a quick kernel is mostly the call; time as many as would
		// take long enough if it were not, and reckon again.
		e.runs = 1 + int(c.settings.MinSample/max(quickest, time.Nanosecond))
		took, err := c.time(ctx, e, e.runs)
		if err != nil {
			return err
		}
		if e.err == nil {
			e.runs = 1 + int(c.settings.MinSample*time.Duration(e.runs)/max(took, time.Nanosecond))
		}
	}
	return nil
}

// time times n runs. A failure of the candidate disqualifies it; the error is that
// of ctx.
func (c *contest) time(ctx context.Context, e *entrant, n int) (time.Duration, error) {
	start := c.wall()
	if e.err == nil {
		e.err = e.run(ctx, n)
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return c.wall() - start, nil
}

// standing are the indices of those without an error.
func (c *contest) standing() []int {
	var list []int
	for i, e := range c.entrants {
		if e.err == nil {
			list = append(list, i)
		}
	}
	return list
}

// rounds samples the given entrants in turn and keeps the seconds of one run. There
// are more rounds than the fewest as long as it is not later than until.
func (c *contest) rounds(ctx context.Context, who []int, until time.Duration, keep func(i int, seconds float64)) error {
	if len(who) == 0 {
		return nil
	}
	for round := range c.settings.MaxRounds {
		if round >= c.settings.Rounds && c.wall() >= until {
			break
		}
		for j := range who {
			i := who[(round+j)%len(who)]
			e := c.entrants[i]
			if e.err != nil {
				continue
			}
			if e.runs == 1 && e.cool != nil {
				e.cool() // many runs in a row warm the caches again
			}
			took, err := c.time(ctx, e, e.runs)
			if err != nil {
				return err
			}
			if took <= 0 && e.err == nil {
				e.err = fmt.Errorf("the clock did not advance during %d runs", e.runs)
			}
			if e.err == nil {
				keep(i, took.Seconds()/float64(e.runs))
			}
		}
	}
	return nil
}

// report notes how the candidates of a kernel fared. What failed has no samples.
func (c *contest) report(k *Kernel) {
	for i, e := range c.entrants {
		candidate := &k.Candidates[i]
		candidate.Gate, candidate.Runs = e.gate, e.runs
		if e.err != nil {
			*candidate = Candidate{Schedule: candidate.Schedule, Cost: candidate.Cost, Gate: e.gate, Error: e.err.Error()}
		}
	}
}

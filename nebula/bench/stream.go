package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"forgekernel/forge/backend/cpu"
)

// stream measures the bandwidth of memory with as many cores as a job computes with.
type stream []*cpu.Stream

// newStream makes one for the ranks of a job, all of which are to be on this host.
func newStream(ctx context.Context, t Topology) (stream, error) {
	if t.Local != t.Ranks() {
		return nil, fmt.Errorf("%d of %d ranks are on other hosts", t.Ranks()-t.Local, t.Ranks())
	}
	var s stream
	for range min(t.Local*t.Threads, t.Cores) {
		one, err := cpu.New().NewStream(ctx)
		if err != nil {
			return nil, err
		}
		s = append(s, one)
	}
	return s, nil
}

// passes is how often a measurement reads the memory; the quickest counts, for what
// slows it is not the memory.
const passes = 5

// run is the bytes a second of all cores together.
func (s stream) run() (rate float64) {
	for range passes {
		var all sync.WaitGroup
		bytes := make([]float64, len(s))
		start := time.Now()
		for i, one := range s {
			all.Go(func() { bytes[i] = one.Run() })
		}
		all.Wait()
		took, sum := time.Since(start).Seconds(), 0.0
		for _, n := range bytes {
			sum += n
		}
		rate = max(rate, sum/took)
	}
	return rate
}

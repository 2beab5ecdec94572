package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"forgekernel/forge/backend/cpu"
	"forgekernel/nebula/launch"
)

// stream measures the bandwidth of memory with as many cores as a job computes with.
type stream struct {
	cores      []*cpu.Stream
	processors []int // nil for those of this process
}

// newStream makes one for the ranks of a job, all of which are to be on this host.
func newStream(ctx context.Context, t Topology, processors []int) (*stream, error) {
	if t.Local != t.Ranks() {
		return nil, fmt.Errorf("%d of %d ranks are on other hosts", t.Ranks()-t.Local, t.Ranks())
	}
	s := &stream{processors: processors}
	for range min(t.Local*t.Threads, t.Cores) {
		one, err := cpu.New().NewStream(ctx)
		if err != nil {
			return nil, err
		}
		s.cores = append(s.cores, one)
	}
	return s, nil
}

// passes is how often a measurement reads the memory; the quickest counts, for what
// slows it is not the memory.
const passes = 5

// run is the bytes a second of all cores together.
func (s *stream) run() (rate float64, err error) {
	for range passes {
		var all sync.WaitGroup
		bytes, errs := make([]float64, len(s.cores)), make([]error, len(s.cores))
		start := time.Now()
		for i, one := range s.cores {
			all.Go(func() {
				if s.processors != nil {
					errs[i] = launch.Keep(s.processors)
				}
				bytes[i] = one.Run()
			})
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return 0, err
		}
		took, sum := time.Since(start).Seconds(), 0.0
		for _, n := range bytes {
			sum += n
		}
		rate = max(rate, sum/took)
	}
	return rate, nil
}

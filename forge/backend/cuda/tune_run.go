package cuda

import (
	"context"
	"errors"
	"fmt"
	"time"

	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/cuda/tuning"
)

// runner runs the steps of a program many times in one launch, between two marks of the
// device's clock. What the steps read is where the last run has left it.
type runner struct {
	x          *Executable
	f          *frame
	graph      *driver.Graph
	begin, end *driver.Event
	runs       int
	candidate  *tuning.Candidate
}

// mostRuns bounds the runs of one launch.
const mostRuns = 1000

// newRunner prepares launches that take about as long as a sample should, of a program
// that has run.
func newRunner(ctx context.Context, x *Executable, sample time.Duration) (*runner, error) {
	if err := x.device.use(); err != nil {
		return nil, err
	}
	f, err := x.frame(ctx)
	if err != nil {
		x.device.leave()
		return nil, err
	}
	r := &runner{x: x, f: f, runs: 1}
	err = x.device.c.Do(ctx, func() (err error) {
		if r.begin, err = x.device.c.NewEvent(true); err == nil {
			r.end, err = x.device.c.NewEvent(true)
		}
		return err
	})
	for _, repeat := range []int{1, 0} { // a single run is mostly the marks
		if err == nil {
			err = r.capture(ctx)
		}
		var took time.Duration
		for range 3 {
			if err == nil {
				took, err = r.sample(ctx)
			}
		}
		if err == nil && repeat > 0 {
			r.runs = int(min(mostRuns, 1+sample/max(took, time.Microsecond)))
		}
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// capture makes the graph of all runs.
func (r *runner) capture(ctx context.Context) error {
	return r.x.device.c.Do(ctx, func() error {
		if r.graph != nil {
			if err := r.graph.Close(); err != nil {
				return err
			}
			r.graph = nil
		}
		g, err := r.f.stream.Capture(func() error {
			if err := r.f.stream.RecordTime(r.begin); err != nil {
				return err
			}
			for range r.runs {
				for i := range r.x.steps {
					if err := r.x.put(ctx, r.f, i, false); err != nil {
						return err
					}
				}
			}
			return r.f.stream.RecordTime(r.end)
		})
		r.graph = g
		return err
	})
}

// sample is the time of one launch.
func (r *runner) sample(ctx context.Context) (took time.Duration, err error) {
	c := r.x.device.c
	if err = c.Do(ctx, func() error { return r.graph.Launch(r.f.stream) }); err != nil {
		return 0, err
	}
	if err = r.f.stream.Wait(ctx); err != nil {
		return 0, err
	}
	err = c.Do(ctx, func() error { took, err = r.end.Since(r.begin); return err })
	if err == nil && r.x.canFail && r.f.fault() != noFault {
		r.f.setFault(noFault)
		err = errors.New("it finds an error in inputs that it took before")
	}
	return took, err
}

// close gives the frame back.
func (r *runner) close() {
	_ = r.x.device.c.Do(context.Background(), func() error { // what fails here fails again at the next use
		var err error
		if r.graph != nil {
			err = r.graph.Close()
		}
		for _, e := range []*driver.Event{r.begin, r.end} {
			if e != nil {
				err = errors.Join(err, e.Close())
			}
		}
		return err
	})
	r.x.device.release(r.f)
}

// race lets runners take turns, each round beginning with another one. One that fails
// is out, with its samples.
func race(ctx context.Context, runners []*runner, rounds int) error {
	for round := range rounds {
		for j := range runners {
			r := runners[(round+j)%len(runners)]
			if r.candidate.Error != "" {
				continue
			}
			took, err := r.sample(ctx)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err == nil && took <= 0 {
				err = fmt.Errorf("the clock of the device did not advance during %d runs", r.runs)
			}
			if err != nil {
				r.candidate.Error, r.candidate.Samples = err.Error(), nil
				continue
			}
			r.candidate.Samples = append(r.candidate.Samples, took.Seconds()/float64(r.runs))
		}
	}
	return nil
}

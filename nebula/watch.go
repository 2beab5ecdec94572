package nebula

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"forgekernel/display"
)

// watchInterval is how often a watched status is shown.
const watchInterval = 250 * time.Millisecond

// Watch shows the status of the job and keeps what it shows up to date until stop is
// called, the job or ctx has ended, or the cell is interrupted. The last state stays.
func (j *Job) Watch(ctx context.Context) (stop func()) {
	ctx, done := withCell(ctx)
	sink := display.SinkFrom(ctx)
	out := display.Output{ID: uuid.NewString(), Bundle: j.Display()}
	if err := sink.Show(out); err != nil {
		done()
		return func() {}
	}
	out.Update = true
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(watchInterval)
		defer tick.Stop()
		for running := true; running; {
			select {
			case <-ctx.Done():
				running = false
			case <-tick.C:
			}
			s := j.Status()
			out.Bundle = s.Display()
			if sink.Show(out) != nil || s.State != "healthy" {
				return
			}
		}
	}()
	return sync.OnceFunc(func() { done(); <-ended })
}

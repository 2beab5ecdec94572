package engine

import (
	"context"
	"time"

	"forgekernel/forge/tensor"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/sample"
)

// run is the goroutine of rank 0 that executes.
func (l *Leader) run() {
	ctx := l.self.within(l.health.ctx)
	for {
		select {
		case <-l.quit:
			return
		case j := <-l.queue:
			l.do(ctx, j)
		}
	}
}

// do prepares programs or executes a step.
func (l *Leader) do(ctx context.Context, j job) {
	switch {
	case l.health.failing():
	case j.work == nil:
		j.done(l.self.prepare(ctx, j.prepare))
	default:
		if err := l.execute(ctx, j); err != nil {
			l.blame(0, opExecute, err)
		}
		l.self.recycle(j.work)
	}
}

func (l *Leader) execute(ctx context.Context, j job) error {
	f := j.flight
	l.begin(f)
	if !l.self.place.Last() {
		return l.self.execute(ctx, j.work, scratch, drop)
	}
	if err := l.self.execute(ctx, j.work, l.room, f.take); err != nil {
		return err
	}
	l.landed(f)
	return nil
}

// drop delivers nothing: a later stage has the logits.
func drop(*pass, *tensor.Tensor, []sample.Lead) error { return nil }

// collect is the goroutine of rank 0 that receives the logits of the last stage.
func (l *Leader) collect() {
	none := tensor.Scalar(tensor.I32, 0)
	for {
		select {
		case <-l.quit:
			return
		case f := <-l.arrivals:
			ctx := l.health.ctx
			if f.deadlines > 1 {
				ctx = collective.WithTimeout(ctx, time.Duration(f.deadlines)*l.self.timeout)
			}
			if err := f.receive(ctx, l.self.groups.logits, none); err != nil {
				cause := causeOf(0, l.health.epoch, f.number, opExecute, err)
				l.health.fail(report{0, min(noResult, weigh(0, err)), cause})
				continue
			}
			l.landed(f)
		}
	}
}

// landed completes a step and makes room for another.
func (l *Leader) landed(f *flight) {
	l.complete(f)
	<-l.slots
}

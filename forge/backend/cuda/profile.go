package cuda

import (
	"context"
	"errors"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda/driver"
)

// laps is the run of a frame with marks, for an observer.
type laps struct {
	graph *driver.Graph
	marks []*driver.Event // before the first step, twice, and behind each
}

// newLaps captures a run with marks, within Do. A mark is a node of the graph, which the
// device stops for: what it costs is the time between the first two.
func (x *Executable) newLaps(ctx context.Context, f *frame) (*laps, error) {
	l := &laps{marks: make([]*driver.Event, len(x.steps)+2)}
	var err error
	for i := range l.marks {
		if l.marks[i], err = x.device.c.NewEvent(true); err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
	l.graph, err = f.stream.Capture(func() error {
		return x.work(ctx, f, func(i int) error {
			if i == 0 {
				if err := f.stream.RecordTime(l.marks[0]); err != nil {
					return err
				}
			}
			return f.stream.RecordTime(l.marks[i+1])
		})
	})
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *laps) close() error {
	var err error
	if l.graph != nil {
		err = l.graph.Close()
	}
	for _, e := range l.marks {
		if e != nil {
			err = errors.Join(err, e.Close())
		}
	}
	return err
}

// tell tells an observer of the nodes of a run that is over.
func (x *Executable) tell(l *laps, o backend.Observer) error {
	n := len(l.marks) - 1
	whole, err := l.marks[n].Since(l.marks[1])
	if err != nil {
		return err
	}
	mark, err := l.marks[1].Since(l.marks[0])
	if err != nil {
		return err
	}
	at := time.Now().Add(-whole)
	for i := range x.steps {
		took, err := l.marks[i+2].Since(l.marks[i+1])
		if err != nil {
			return err
		}
		end := at.Add(max(0, took-mark))
		if node := x.steps[i].node; node != nil {
			o(node, at, end)
		}
		at = at.Add(took)
	}
	return nil
}

// observed is launch with marks, for an observer.
func (x *Executable) observed(ctx context.Context, f *frame, o backend.Observer) error {
	c := x.device.c
	err := c.Do(ctx, func() (err error) {
		if f.laps == nil {
			if f.laps, err = x.newLaps(ctx, f); err != nil {
				return err
			}
		}
		return f.laps.graph.Launch(f.stream)
	})
	if err == nil {
		err = f.stream.Wait(ctx)
	}
	if err == nil {
		err = c.Do(ctx, func() error { return x.tell(f.laps, o) })
	}
	return err
}

// timed is launch between two marks, and the time between them.
func (x *Executable) timed(ctx context.Context, f *frame) (took time.Duration, err error) {
	c := x.device.c
	var start, end *driver.Event
	err = c.Do(ctx, func() (err error) {
		if start, err = c.NewEvent(true); err != nil {
			return err
		}
		if end, err = c.NewEvent(true); err != nil {
			return err
		}
		return errors.Join(f.stream.Record(start), f.start(), f.stream.Record(end))
	})
	if err == nil {
		err = f.stream.Wait(ctx)
	}
	if err == nil {
		err = c.Do(ctx, func() (err error) {
			took, err = end.Since(start)
			return errors.Join(err, start.Close(), end.Close())
		})
	}
	return took, err
}

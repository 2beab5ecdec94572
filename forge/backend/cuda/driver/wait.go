package driver

import (
	"context"
	"time"
)

// While it waits, a goroutine asks without a pause for as long as spin, which keeps its
// processor busy and sees the end within a microsecond, and then more and more rarely.
const (
	spin     = 10 * time.Millisecond
	minPause = 20 * time.Microsecond
	maxPause = 200 * time.Microsecond
)

// Wait blocks until the stream is empty, or ctx has ended, in which case the device
// goes on. It is called outside of Do.
func (s *Stream) Wait(ctx context.Context) error {
	return s.c.wait(ctx, "cuStreamQuery", s.handle)
}

// Wait blocks until the device is past an event, or ctx has ended, in which case the
// device goes on. It is called outside of Do.
func (c *Context) Wait(ctx context.Context, e *Event) error {
	return c.wait(ctx, "cuEventQuery", e.handle)
}

func (c *Context) wait(ctx context.Context, question string, handle uintptr) error {
	var past bool
	err := c.Do(ctx, func() (err error) { past, err = c.spin(ctx, question, handle); return err })
	for pause := minPause; err == nil && !past; pause = min(2*pause, maxPause) {
		time.Sleep(pause)
		err = c.Do(ctx, func() (err error) { past, err = c.ask(question, handle); return err })
	}
	return err
}

// Spin asks until the stream is empty, ctx has ended or some milliseconds are over, and
// reports whether it is empty.
func (s *Stream) Spin(ctx context.Context) (bool, error) {
	return s.c.spin(ctx, "cuStreamQuery", s.handle)
}

func (c *Context) spin(ctx context.Context, question string, handle uintptr) (bool, error) {
	ended, start := ctx.Done(), time.Now()
	for {
		if past, err := c.ask(question, handle); past || err != nil {
			return past, err
		}
		select {
		case <-ended:
			return false, context.Cause(ctx)
		default:
		}
		if time.Since(start) > spin {
			return false, nil
		}
	}
}

// ask puts a question whose answer may be that it is not ready.
func (c *Context) ask(question string, handle uintptr) (bool, error) {
	switch code := Result(c.lib.lib.CallPair(question, handle, 0)); code {
	case 0:
		return true, nil
	case NotReady:
		return false, nil
	default:
		return false, c.fail(code, question, "")
	}
}

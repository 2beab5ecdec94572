package driver

import (
	"context"
	"errors"
	"time"
)

// Measures of [Context.CopyRate].
const (
	copiedBytes = 1 << 30 // many times what caches hold
	copyRounds  = 12
)

// CopyRate measures how many bytes in a second the memory of the device gives and
// takes: those read and those written by the quickest of several copies within it, by
// the clock of the device.
func (c *Context) CopyRate(ctx context.Context) (rate float64, err error) {
	err = c.Do(ctx, func() (err error) {
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		m, err := s.Alloc(2 * copiedBytes)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Free(m), s.Synchronize()) }()
		var marks [2]*Event
		for i := range marks {
			if marks[i], err = c.NewEvent(true); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, marks[i].Close()) }()
		}
		if err := s.Fill(m, 0, m.Bytes, 0x5a); err != nil {
			return err
		}
		for range copyRounds {
			took, err := s.lap(marks, func() error { return s.Copy(m, copiedBytes, m, 0, copiedBytes) })
			if err != nil {
				return err
			}
			rate = max(rate, 2*copiedBytes/took.Seconds())
		}
		return nil
	})
	return rate, err
}

// lap is the time of work on a stream by the device's clock.
func (s *Stream) lap(marks [2]*Event, work func() error) (time.Duration, error) {
	if err := errors.Join(s.Record(marks[0]), work(), s.Record(marks[1]), s.Synchronize()); err != nil {
		return 0, err
	}
	return marks[1].Since(marks[0])
}

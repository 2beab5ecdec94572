package driver

import (
	"context"
	"errors"
	"time"
)

// FLOPs is how many operations of float32 the device does in a second at most, two for
// each multiply-add: by its clock and its lanes. Products of matrices in other types
// may be quicker. It is 0 for a driver that tells no clock.
func (d *Device) FLOPs() float64 {
	return 2 * float64(d.SMs) * float64(d.Capability.lanes()) * float64(d.Clock) * 1e3
}

// lanes is how many multiply-adds of float32 a multiprocessor does in a clock, by the
// table of arithmetic throughput in NVIDIA's CUDA C++ Programming Guide.
func (c Capability) lanes() int {
	switch {
	case c == 60, c >= 70 && c <= 80:
		return 64
	}
	return 128
}

// Measures of [Context.CopyRate].
const (
	copiedBytes = 256 << 20 // several times what caches hold
	copyRounds  = 8
)

// CopyRate measures how many bytes in a second the memory of the device gives and
// takes: those read and those written by the quickest of several copies within it.
func (c *Context) CopyRate(ctx context.Context) (rate float64, err error) {
	err = c.Do(ctx, func() (err error) {
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		var both [2]*Memory
		for i := range both {
			if both[i], err = s.Alloc(copiedBytes); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.Free(both[i]), s.Synchronize()) }()
		}
		for range copyRounds {
			start := time.Now()
			if err := errors.Join(s.Copy(both[1], 0, both[0], 0, copiedBytes), s.Synchronize()); err != nil {
				return err
			}
			rate = max(rate, 2*copiedBytes/time.Since(start).Seconds())
		}
		return nil
	})
	return rate, err
}

package capture

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"forgekernel/display"
	"forgekernel/forge/tensor"
)

// MinBlocks is the fewest blocks whose lowest and highest enclose the middle of what they
// are drawn from with a confidence of at least 95 %: see [Estimate].
const MinBlocks = 6

// MaxSpread bounds the time over which blocks are spread.
const MaxSpread = time.Hour

// checkBlocks refuses blocks that no capture can have.
func (s Settings) checkBlocks() error {
	switch {
	case s.Blocks == 0 && s.Spread == 0:
		return nil
	case s.Blocks < MinBlocks || s.Blocks > s.Samples:
		return fmt.Errorf("%d blocks of %d samples; there are none, or %d and more of at least one sample each", s.Blocks, s.Samples, MinBlocks)
	case s.Samples%s.Blocks != 0:
		return fmt.Errorf("%d samples do not divide into %d blocks", s.Samples, s.Blocks)
	case s.Spread < 0 || s.Spread > MaxSpread:
		return fmt.Errorf("blocks cannot be spread over %v; it is at most %v", s.Spread, MaxSpread)
	}
	return nil
}

// rounds takes the samples of a workload: in each round one of every trial, and every
// round begins with another one. Before each block but the first, renew prepares the
// trials anew.
func (m *Instrument) rounds(ctx context.Context, trials []*trial, renew func(int) error, meter *display.Meter) error {
	blocks := max(m.Settings.Blocks, 1)
	perBlock := m.Settings.Samples / blocks
	begin := m.Clock.Wall()
	for block := range blocks {
		if block > 0 {
			if wait := begin + m.Settings.Spread*time.Duration(block)/time.Duration(blocks) - m.Clock.Wall(); wait > 0 {
				if err := m.Clock.Sleep(ctx, wait); err != nil {
					return err
				}
			}
			for i := range trials {
				if err := renew(i); err != nil {
					return err
				}
			}
		}
		runtime.GC() // what preparing left behind is not to be cleared in a sample
		taken, err := m.block(ctx, trials, block*perBlock, perBlock, meter)
		if err != nil {
			return err
		}
		if block == 0 {
			perBlock = taken // all blocks have as many as the time of the first allowed
		}
		if !slices.ContainsFunc(trials, func(t *trial) bool { return t.run != nil }) {
			return nil
		}
	}
	return nil
}

// block takes at most n rounds, of which first is the number of the first, and tells
// how many there were. The budget ends the first block early.
func (m *Instrument) block(ctx context.Context, trials []*trial, first, n int, meter *display.Meter) (int, error) {
	budget := m.Settings.Budget / time.Duration(max(m.Settings.Blocks, 1))
	begin := m.Clock.Wall()
	for k := range n {
		if first == 0 && k > 0 && budget > 0 && m.Clock.Wall()-begin >= budget {
			return k, nil
		}
		for i := range trials {
			if err := m.sample(ctx, trials[(first+k+i)%len(trials)]); err != nil {
				return k, err
			}
		}
		meter.Add(1)
	}
	return n, nil
}

// renew gives a trial a form of the program that has memory of its own: where the
// parts of a program stand in memory changes how fast it is, and differs from one
// process to the next.
func (m *Instrument) renew(ctx context.Context, t *trial, c Candidate, s *Subject, want []*tensor.Tensor) error {
	if t.run == nil {
		return nil
	}
	if err := t.release(); err != nil {
		return t.fail(ctx, err)
	}
	p, err := c.Prepare(ctx, s)
	if err != nil {
		return t.fail(ctx, err)
	}
	t.run = p.Runner
	return t.pass(ctx, s, want)
}

// release gives back what a runner holds outside the reach of the garbage collector.
func (t *trial) release() error {
	if c, ok := t.run.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

package cuda

import (
	"context"
	"errors"
	"fmt"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/tensor"
)

var _ backend.Chainable = (*Executable)(nil)

// Chain is a program in two frames, whose runs take turns. What a run feeds to the next is
// written by its kernels to where that one's copy to the device finds it.
type Chain struct {
	x              *Executable
	frames         [2]*frame
	done           [2]*driver.Event
	fed            []feed
	started, ended int // runs; those between are under way
	closed         bool
}

// feed is a [backend.Feed] with the buffers of both.
type feed struct {
	backend.Feed
	from, to int
}

// Chain implements [backend.Chainable].
func (x *Executable) Chain(ctx context.Context, inputs, outputs []backend.Held, fed []backend.Feed) (backend.Chain, error) {
	b, err := x.bind(inputs, outputs)
	if err != nil {
		return nil, err
	}
	if err := backend.CheckFeeds(x.Graph(), inputs, outputs, fed); err != nil {
		return nil, err
	}
	c := &Chain{x: x}
	for _, f := range fed {
		k, err := x.feed(f)
		if err != nil {
			return nil, err
		}
		c.fed = append(c.fed, k)
	}
	d := x.device
	if err := d.use(); err != nil {
		return nil, err
	}
	if err := d.m.enter(ctx); err != nil {
		d.leave()
		return nil, err
	}
	defer d.m.leave()
	if err := d.c.Do(ctx, func() error { return c.open(ctx, b) }); err != nil {
		d.leave()
		return nil, errors.Join(err, d.c.Do(context.Background(), c.free))
	}
	return c, nil
}

// feed finds the buffers of what is fed.
func (x *Executable) feed(f backend.Feed) (feed, error) {
	k := feed{f, -1, -1}
	for i := range x.Buffers {
		switch b := &x.Buffers[i]; {
		case b.Result == f.Output:
			k.from = i
		case b.Input == f.Input && !b.Updated:
			k.to = i
		}
	}
	if k.from < 0 || k.to < 0 || x.size(&x.Buffers[k.from]) == 0 {
		return k, fmt.Errorf("%s: result %d has no memory of its own, or input %d", x.Graph().Name, f.Output, f.Input)
	}
	for _, s := range x.steps {
		for _, at := range s.args {
			if at.Buffer == k.from && !s.waits() {
				return k, fmt.Errorf("%s: result %d is not of a kernel of the program", x.Graph().Name, f.Output)
			}
		}
	}
	return k, nil
}

// open makes the frames, within Do.
func (c *Chain) open(ctx context.Context, b binding) (err error) {
	for i := range c.frames {
		f := &frame{binding: b, layout: c.x.layOut(b), stream: c.x.device.m.stream}
		c.frames[i] = f
		if err := c.x.reserve(f); err != nil {
			return err
		}
		if c.done[i], err = c.x.device.c.NewEvent(false); err != nil {
			return err
		}
	}
	for i, f := range c.frames {
		next := c.frames[1-i]
		for _, k := range c.fed {
			f.buffers[k.from] = next.host.Address() + uint64(next.at[k.to])
		}
		if err := c.x.capture(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// Start implements [backend.Chain].
func (c *Chain) Start(ctx context.Context, inputs []*tensor.Tensor) error {
	x, m := c.x, c.x.device.m
	flying := c.started - c.ended
	if flying == len(c.frames) {
		return fmt.Errorf("%d runs of the chain are under way", flying)
	}
	f := c.frames[c.started%2]
	for _, k := range c.fed {
		switch {
		case k.Input >= len(inputs):
		case inputs[k.Input] == nil && c.started == 0:
			return fmt.Errorf("%s: there is no run before the first, whose results could be input %d", x.Graph().Name, k.Input)
		case inputs[k.Input] != nil && flying > 0:
			return fmt.Errorf("%s: input %d comes from the run that is under way", x.Graph().Name, k.Input)
		}
	}
	fed := func(i int) bool {
		for _, k := range c.fed {
			if k.Input == i && inputs[i] == nil {
				return true
			}
		}
		return false
	}
	if err := backend.CheckUnbound(x.Graph(), "input", inputs, func(i int) bool { return f.inputs[i] != nil || fed(i) }); err != nil {
		return err
	}
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.leave()
	if c.closed {
		return errClosed
	}
	x.fill(f, inputs)
	done := c.done[c.started%2]
	if err := x.device.c.Do(ctx, func() error { return errors.Join(f.graph.Launch(f.stream), f.stream.Record(done)) }); err != nil {
		return err
	}
	c.started++
	return nil
}

// Wait implements [backend.Chain].
func (c *Chain) Wait(ctx context.Context, outputs []*tensor.Tensor) error {
	x, i := c.x, c.ended%2
	if c.ended == c.started {
		return errors.New("no run of the chain is under way")
	}
	f := c.frames[i]
	if outputs != nil {
		if err := backend.CheckUnbound(x.Graph(), "output", outputs, func(i int) bool { return f.outputs[i] != nil }); err != nil {
			return err
		}
	}
	if err := x.device.c.Wait(ctx, c.done[i]); err != nil {
		return err
	}
	c.ended++
	if err := x.faulted(f); err != nil || outputs == nil {
		return err
	}
	x.take(f, outputs)
	next := c.frames[1-i]
	for _, k := range c.fed {
		copy(planned.Bytes(outputs[k.Output]), next.host.Bytes[next.at[k.to]:])
	}
	return nil
}

// Close implements [backend.Chain].
func (c *Chain) Close() error {
	d := c.x.device
	if err := d.m.enter(context.Background()); err != nil {
		return err
	}
	defer d.m.leave()
	if c.closed {
		return nil
	}
	c.closed, c.ended = true, c.started
	defer d.leave()
	err := d.m.stream.Wait(context.Background())
	return errors.Join(err, d.c.Do(context.Background(), c.free))
}

// free gives the frames and events back, within Do.
func (c *Chain) free() error {
	var err error
	for i := range c.frames {
		if c.frames[i] != nil {
			err = errors.Join(err, c.frames[i].close())
		}
		if c.done[i] != nil {
			err = errors.Join(err, c.done[i].Close())
		}
	}
	return err
}

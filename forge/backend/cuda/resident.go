package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var (
	_ backend.Resident = (*Backend)(nil)
	_ backend.Bindable = (*Executable)(nil)
	_ backend.Timed    = (*Bound)(nil)
)

// Held is a tensor in the memory of the device.
type Held struct {
	m      *memory
	spec   ir.Spec
	memory *driver.Memory // nil when there are no elements, or after Close
	close  sync.Once
}

// Room is the bytes of the device that nobody has taken, and all that there are.
func (b *Backend) Room(ctx context.Context) (free, total int64, err error) {
	err = b.Context.Do(ctx, func() error {
		st, err := b.Context.Statistics()
		free, total = st.Free+st.Reserved-st.Used, st.Total
		return err
	})
	return free, total, err
}

// Hold takes memory of the device for a tensor of zeros.
func (b *Backend) Hold(ctx context.Context, spec ir.Spec) (backend.Held, error) {
	h := &Held{m: b.memory, spec: spec}
	if spec.Elements() == 0 {
		return h, nil
	}
	if err := h.m.enter(ctx); err != nil {
		return nil, err
	}
	defer h.m.leave()
	var err error
	if h.memory, err = h.m.alloc(ctx, spec.Bytes()); err != nil {
		return nil, err
	}
	return h, h.m.c.Do(ctx, func() error {
		return errors.Join(h.m.stream.Fill(h.memory, 0, h.memory.Bytes, 0), h.m.stream.Synchronize())
	})
}

// Spec is the type and shape of the tensor.
func (h *Held) Spec() ir.Spec { return h.spec }

func (h *Held) address() uint64 {
	if h.memory == nil {
		return 0
	}
	return h.memory.Address
}

// Upload fills the tensor.
func (h *Held) Upload(ctx context.Context, t *tensor.Tensor) error {
	return h.with(ctx, t, func(raw []byte) error { return h.m.upload(h.memory, raw) })
}

// Download fills a tensor of the host.
func (h *Held) Download(ctx context.Context, t *tensor.Tensor) error {
	return h.with(ctx, t, func(raw []byte) error { return h.m.download(raw, h.memory) })
}

func (h *Held) with(ctx context.Context, t *tensor.Tensor, do func(raw []byte) error) error {
	if have := ir.SpecOf(t); have.DType != h.spec.DType || !slices.Equal(have.Shape, h.spec.Shape) {
		return fmt.Errorf("%v cannot be copied to or from %v", have, h.spec)
	}
	if h.spec.Elements() == 0 {
		return nil
	}
	if err := h.m.enter(ctx); err != nil {
		return err
	}
	defer h.m.leave()
	if h.memory == nil {
		return errClosed
	}
	return do(planned.Bytes(t))
}

var errClosed = errors.New("the memory of the device has been given back")

// Close gives the memory back.
func (h *Held) Close() error {
	var err error
	h.close.Do(func() {
		if h.memory == nil {
			return
		}
		if err = h.m.enter(context.Background()); err != nil {
			return
		}
		defer h.m.leave()
		err = h.m.free(h.memory)
		h.memory = nil
	})
	return err
}

// Bound is a program with some of its inputs and outputs in held memory. Its runs, and
// those of all others of the device, take turns.
type Bound struct {
	x      *Executable
	f      *frame
	closed bool // guarded by the turn
}

// Bind implements [backend.Bindable].
func (x *Executable) Bind(ctx context.Context, inputs, outputs []backend.Held) (backend.Bound, error) {
	b, err := x.bind(inputs, outputs)
	if err != nil {
		return nil, err
	}
	d := x.device
	if err := d.use(); err != nil {
		return nil, err
	}
	bound := &Bound{x: x}
	if err := d.m.enter(ctx); err != nil {
		d.leave()
		return nil, err
	}
	defer d.m.leave()
	if err := d.c.Do(ctx, func() (err error) { bound.f, err = x.newFrame(ctx, b, d.m.stream); return err }); err != nil {
		d.leave()
		return nil, err
	}
	return bound, nil
}

// bind checks held memory against the graph.
func (x *Executable) bind(inputs, outputs []backend.Held) (binding, error) {
	b, g := x.unbound(), x.Graph()
	if err := backend.CheckHeld(g, inputs, outputs); err != nil {
		return b, err
	}
	for _, part := range []struct {
		have []backend.Held
		into []*Held
	}{{inputs, b.inputs}, {outputs, b.outputs}} {
		for i, h := range part.have {
			if h == nil {
				continue
			}
			own, ok := h.(*Held)
			if !ok || own.m != x.device.m {
				return b, fmt.Errorf("%s: a tensor of %v is held by another backend or device", g.Name, h.Spec())
			}
			part.into[i] = own
		}
	}
	return b, nil
}

// Run implements [backend.Bound]. It is one launch and allocates nothing.
func (b *Bound) Run(ctx context.Context, outputs, inputs []*tensor.Tensor) error {
	return b.run(ctx, outputs, inputs, b.x.launch)
}

// Time implements [backend.Timed].
func (b *Bound) Time(ctx context.Context, outputs, inputs []*tensor.Tensor) (took time.Duration, err error) {
	err = b.run(ctx, outputs, inputs, func(ctx context.Context, f *frame) (err error) {
		took, err = b.x.timed(ctx, f)
		return err
	})
	return took, err
}

func (b *Bound) run(ctx context.Context, outputs, inputs []*tensor.Tensor, launch func(context.Context, *frame) error) error {
	x, f, m := b.x, b.f, b.x.device.m
	if err := f.check(x, outputs, inputs); err != nil {
		return err
	}
	if err := m.enter(ctx); err != nil {
		return err
	}
	if b.closed {
		m.leave()
		return errClosed
	}
	x.fill(f, inputs)
	if err := launch(ctx, f); err != nil {
		go b.abandon()
		return err
	}
	defer m.leave()
	if err := x.faulted(f); err != nil {
		return err
	}
	x.take(f, outputs)
	return nil
}

// faulted is what a step of the frame's run found wrong, once, or why its ranks gave up.
func (x *Executable) faulted(f *frame) error {
	if err := f.given(); err != nil {
		return err
	}
	if !x.canFail || f.fault() == noFault {
		return nil
	}
	s := x.steps[min(f.fault(), len(x.steps)-1)]
	f.setFault(noFault)
	return fmt.Errorf("%s: %s found an index that is out of range, or a divisor of 0", x.Graph().Name, s.String())
}

// abandon ends the turn of a run that was given up, when the device is done with it. A
// stream that cannot be asked is lost with the context.
func (b *Bound) abandon() {
	m := b.x.device.m
	if err := m.stream.Wait(context.Background()); err == nil {
		b.f.setFault(noFault)
		m.leave()
	}
}

// check compares the tensors that come with a run with the specs of the graph.
func (f *frame) check(x *Executable, outputs, inputs []*tensor.Tensor) error {
	if err := backend.CheckUnbound(x.Graph(), "input", inputs, func(i int) bool { return f.inputs[i] != nil }); err != nil {
		return err
	}
	return backend.CheckUnbound(x.Graph(), "output", outputs, func(i int) bool { return f.outputs[i] != nil })
}

// Close gives back what the binding has, but not the held memory.
func (b *Bound) Close() error {
	m := b.x.device.m
	if err := m.enter(context.Background()); err != nil {
		return err
	}
	defer m.leave()
	if b.closed {
		return nil
	}
	b.closed = true
	defer b.x.device.leave()
	return m.c.Do(context.Background(), b.f.close)
}

package cuda

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var (
	_ backend.Resident = (*Backend)(nil)
	_ backend.Bindable = (*Executable)(nil)
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
	m := x.device.m
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.leave()
	bound := &Bound{x: x}
	if err := m.c.Do(ctx, func() (err error) { bound.f, err = x.newFrame(ctx, b, m.stream); return err }); err != nil {
		return nil, err
	}
	runtime.AddCleanup(bound, func(f *frame) { go release(m, f) }, bound.f)
	return bound, nil
}

// release gives back what a binding had that nobody closed.
func release(m *memory, f *frame) {
	if m.enter(context.Background()) == nil {
		_ = m.c.Do(context.Background(), f.close) // nobody is left to be told
		m.leave()
	}
}

// bind checks held memory against the graph.
func (x *Executable) bind(inputs, outputs []backend.Held) (binding, error) {
	b := x.unbound()
	g := x.Graph()
	for _, part := range []struct {
		kind   string
		have   []backend.Held
		values []*ir.Value
		into   []*Held
	}{{"input", inputs, g.Inputs, b.inputs}, {"output", outputs, g.Outputs, b.outputs}} {
		if len(part.have) != len(part.values) {
			return b, fmt.Errorf("%s has %d %ss, and %d were bound", g.Name, len(part.values), part.kind, len(part.have))
		}
		for i, v := range part.values {
			if part.have[i] == nil {
				continue
			}
			h, ok := part.have[i].(*Held)
			if !ok || h.m != x.device.m {
				return b, fmt.Errorf("%s: %s %s is held by another backend or device", g.Name, part.kind, v.Name)
			}
			if h.spec.DType != v.Spec.DType || !slices.Equal(h.spec.Shape, v.Spec.Shape) {
				return b, fmt.Errorf("%s: %s %s is held as %v, the program was compiled for %v", g.Name, part.kind, v.Name, h.spec, v.Spec)
			}
			part.into[i] = h
		}
	}
	return b, x.apart(b)
}

// apart refuses an output in memory of another output, or of an input that the program
// does not update to give it.
func (x *Executable) apart(b binding) error {
	updates := make(map[*Held]int) // the output that an input becomes
	for i := range x.Buffers {
		if buf := &x.Buffers[i]; buf.Updated && buf.Result >= 0 && b.inputs[buf.Input] != nil {
			updates[b.inputs[buf.Input]] = buf.Result
		}
	}
	seen := make(map[*Held]string)
	for i, h := range b.outputs {
		if h == nil || h.memory == nil {
			continue
		}
		name := x.Graph().Outputs[i].Name
		for k, in := range b.inputs {
			if becomes, known := updates[in]; in == h && (!known || becomes != i) {
				return fmt.Errorf("%s: %s and %s are held in the same memory, and the run would write it", x.Graph().Name, name, x.Graph().Inputs[k].Name)
			}
		}
		if other := seen[h]; other != "" {
			return fmt.Errorf("%s: %s and %s are held in the same memory, and the run would write it", x.Graph().Name, other, name)
		}
		seen[h] = name
	}
	return nil
}

// Run implements [backend.Bound]. It is one launch and allocates nothing.
func (b *Bound) Run(ctx context.Context, outputs, inputs []*tensor.Tensor) error {
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
	if err := x.launch(ctx, f); err != nil {
		go m.leaveEmpty()
		return err
	}
	defer m.leave()
	if x.canFail && f.fault() != noFault {
		s := x.steps[min(f.fault(), len(x.steps)-1)]
		f.setFault(noFault)
		return fmt.Errorf("%s: %s found an index that is out of range, or a divisor of 0", x.Graph().Name, s.String())
	}
	x.take(f, outputs)
	return nil
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
	return m.c.Do(context.Background(), b.f.close)
}

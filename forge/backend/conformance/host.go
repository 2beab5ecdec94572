package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// OnHost makes of a backend one whose device is the host itself, for tests of what uses
// a [backend.Resident].
func OnHost(b backend.Backend) backend.Resident { return &hostBackend{Backend: b, room: 1 << 30} }

type hostBackend struct {
	backend.Backend
	mu   sync.Mutex
	used int64
	room int64
}

var errNoRoom = errors.New("the device has no such room")

func (b *hostBackend) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	exe, err := b.Backend.Compile(ctx, g)
	if err != nil {
		return nil, err
	}
	return &hostExecutable{exe}, nil
}

func (b *hostBackend) Room(context.Context) (free, total int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.room - b.used, b.room, nil
}

func (b *hostBackend) Hold(_ context.Context, spec ir.Spec) (backend.Held, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if spec.Bytes() > b.room-b.used {
		return nil, errNoRoom
	}
	x, err := tensor.Zeros(spec.DType, spec.Shape...)
	if err != nil {
		return nil, err
	}
	b.used += spec.Bytes()
	return &hostHeld{b: b, x: x}, nil
}

// hostHeld is a tensor that the tests may reach only as one of a device.
type hostHeld struct {
	b      *hostBackend
	mu     sync.Mutex
	x      *tensor.Tensor
	closed bool
}

func (h *hostHeld) Spec() ir.Spec { return ir.SpecOf(h.x) }

func (h *hostHeld) Upload(_ context.Context, t *tensor.Tensor) error { return h.copy(h.x, t) }

func (h *hostHeld) Download(_ context.Context, t *tensor.Tensor) error { return h.copy(t, h.x) }

func (h *hostHeld) copy(to, from *tensor.Tensor) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errors.New("the memory has been given back")
	}
	if have, want := ir.SpecOf(to), ir.SpecOf(from); have.String() != want.String() {
		return fmt.Errorf("%v cannot be copied to %v", want, have)
	}
	copy(planned.Bytes(to), planned.Bytes(from))
	return nil
}

func (h *hostHeld) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.closed = true
		h.b.mu.Lock()
		defer h.b.mu.Unlock()
		h.b.used -= h.Spec().Bytes()
	}
	return nil
}

type hostExecutable struct{ backend.Executable }

func (x *hostExecutable) Bind(_ context.Context, inputs, outputs []backend.Held) (backend.Bound, error) {
	if err := backend.CheckHeld(x.Graph(), inputs, outputs); err != nil {
		return nil, err
	}
	return &hostBound{x: x, inputs: inputs, outputs: outputs}, nil
}

func (x *hostExecutable) Close() error { return nil }

type hostBound struct {
	x               *hostExecutable
	inputs, outputs []backend.Held
	mu              sync.Mutex
	closed          bool
}

func (b *hostBound) Run(ctx context.Context, outputs, inputs []*tensor.Tensor) error {
	g := b.x.Graph()
	if err := errors.Join(
		backend.CheckUnbound(g, "input", inputs, func(i int) bool { return b.inputs[i] != nil }),
		backend.CheckUnbound(g, "output", outputs, func(i int) bool { return b.outputs[i] != nil }),
	); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errors.New("the binding is closed")
	}
	return backend.RunInto(ctx, b.x.Executable, merge(outputs, b.outputs), merge(inputs, b.inputs))
}

// merge puts the tensors that are held where a run brings none.
func merge(list []*tensor.Tensor, held []backend.Held) []*tensor.Tensor {
	all := make([]*tensor.Tensor, len(list))
	for i, x := range list {
		if all[i] = x; x == nil {
			all[i] = held[i].(*hostHeld).x
		}
	}
	return all
}

func (b *hostBound) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// Chain implements [backend.Chainable]: runs are done when they are started.
func (x *hostExecutable) Chain(_ context.Context, inputs, outputs []backend.Held, fed []backend.Feed) (backend.Chain, error) {
	g := x.Graph()
	if err := errors.Join(backend.CheckHeld(g, inputs, outputs), backend.CheckFeeds(g, inputs, outputs, fed)); err != nil {
		return nil, err
	}
	return &hostChain{hostBound: hostBound{x: x, inputs: inputs, outputs: outputs}, fed: fed}, nil
}

type hostChain struct {
	hostBound
	fed     []backend.Feed
	latest  []*tensor.Tensor   // results of the run that was started last
	waiting [][]*tensor.Tensor // those that nobody has waited for
}

func (c *hostChain) Start(ctx context.Context, inputs []*tensor.Tensor) error {
	if len(c.waiting) == 2 {
		return errors.New("two runs are under way")
	}
	all := append([]*tensor.Tensor(nil), inputs...)
	for _, f := range c.fed {
		switch {
		case all[f.Input] != nil && len(c.waiting) > 0:
			return fmt.Errorf("input %d comes from the run that is under way", f.Input)
		case all[f.Input] != nil:
		case c.latest == nil:
			return fmt.Errorf("there is no run before the first, whose results could be input %d", f.Input)
		default:
			all[f.Input] = c.latest[f.Output]
		}
	}
	results := make([]*tensor.Tensor, len(c.outputs))
	for i, v := range c.x.Graph().Outputs {
		if c.outputs[i] == nil {
			var err error
			if results[i], err = tensor.Zeros(v.Spec.DType, v.Spec.Shape...); err != nil {
				return err
			}
		}
	}
	if err := c.Run(ctx, results, all); err != nil {
		return err
	}
	c.latest, c.waiting = results, append(c.waiting, results)
	return nil
}

func (c *hostChain) Wait(_ context.Context, outputs []*tensor.Tensor) error {
	if len(c.waiting) == 0 {
		return errors.New("no run is under way")
	}
	results := c.waiting[0]
	c.waiting = c.waiting[1:]
	for i := range outputs {
		if outputs[i] != nil {
			copy(planned.Bytes(outputs[i]), planned.Bytes(results[i]))
		}
	}
	return nil
}

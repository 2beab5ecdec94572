package capture

import (
	"context"
	"errors"
	"fmt"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// OnDevice is the candidate that runs a variant of the program on a device, where the
// inputs are before the first run and the results stay.
func OnDevice(b backend.Resident, v Variant, threads int) Candidate {
	return &onDevice{b, Label{b.Name(), v, threads}}
}

// onDevice is a candidate whose tensors are held by a device.
type onDevice struct {
	backend backend.Resident
	label   Label
}

func (c *onDevice) Label() Label { return c.label }

func (c *onDevice) Prepare(ctx context.Context, s *Subject) (Prepared, error) {
	g := s.Optimised
	if c.label.Variant == Written {
		g = s.Written
	}
	exe, err := c.backend.Compile(ctx, g)
	if err != nil {
		return Prepared{}, err
	}
	x, ok := exe.(backend.Bindable)
	if !ok {
		return Prepared{}, fmt.Errorf("programs of backend %s cannot be bound to the memory of a device", c.backend.Name())
	}
	r := &resident{program: x}
	for _, t := range s.Inputs {
		h, err := r.hold(ctx, c.backend, ir.SpecOf(t))
		if err == nil {
			err = h.Upload(ctx, t)
		}
		if err != nil {
			return Prepared{}, err
		}
		r.inputs = append(r.inputs, nil)
	}
	for _, v := range x.Graph().Outputs {
		if _, err := r.hold(ctx, c.backend, v.Spec); err != nil {
			return Prepared{}, err
		}
		r.outputs = append(r.outputs, nil)
	}
	n := len(s.Inputs)
	r.bound, err = x.Bind(ctx, r.held[:n], r.held[n:])
	return Prepared{Runner: r, Cache: cacheState(exe)}, err
}

// resident is a program with all its tensors on a device.
type resident struct {
	held            []backend.Held // of the inputs, then of the outputs
	program         backend.Bindable
	bound           backend.Bound
	inputs, outputs []*tensor.Tensor // nil, as many as there are
}

func (r *resident) hold(ctx context.Context, b backend.Resident, s ir.Spec) (backend.Held, error) {
	h, err := b.Hold(ctx, s)
	if err == nil {
		r.held = append(r.held, h)
	}
	return h, err
}

// Run gives results of the host.
func (r *resident) Run(ctx context.Context) ([]*tensor.Tensor, error) {
	if err := r.Repeat(ctx); err != nil {
		return nil, err
	}
	var list []*tensor.Tensor
	for _, h := range r.held[len(r.inputs):] {
		t, err := tensor.Zeros(h.Spec().DType, h.Spec().Shape...)
		if err == nil {
			err = h.Download(ctx, t)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// Repeat leaves the results on the device.
func (r *resident) Repeat(ctx context.Context) error { return r.bound.Run(ctx, r.outputs, r.inputs) }

// Close gives the memory of the device back.
func (r *resident) Close() error {
	errs := []error{r.bound.Close(), r.program.Close()}
	for _, h := range r.held {
		errs = append(errs, h.Close())
	}
	return errors.Join(errs...)
}

// DeviceTime is the time of one run by the clock of the device.
func (r *resident) DeviceTime(ctx context.Context) (time.Duration, error) {
	t, ok := r.bound.(backend.Timed)
	if !ok {
		return 0, errors.New("the device does not time runs")
	}
	return t.Time(ctx, r.outputs, r.inputs)
}

// deviceTimer is a runner that has a clock other than the host's.
type deviceTimer interface {
	DeviceTime(ctx context.Context) (time.Duration, error)
}

// device is the middle of the times that a device told; "" when it told none.
func (s *Series) device() string {
	if len(s.Device) == 0 {
		return ""
	}
	return formatTime(Summarise(s.Device).Median)
}

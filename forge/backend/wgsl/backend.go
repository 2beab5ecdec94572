package wgsl

import (
	"context"
	"fmt"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Backend runs programs on a device of WebGPU.
type Backend struct{ Device Device }

var _ backend.Backend = (*Backend)(nil)

// Name is "gpu".
func (b *Backend) Name() string { return "gpu" }

// Compile makes the plan of a graph for the device.
func (b *Backend) Compile(_ context.Context, g *ir.Graph) (backend.Executable, error) {
	p, err := NewProgram(g, TargetOf(b.Device))
	if err != nil {
		return nil, err
	}
	return &Executable{program: p, device: b.Device, constants: p.constants()}, nil
}

// Executable is a program with a device. Runs share the constants.
type Executable struct {
	program   *Program
	device    Device
	constants map[int][]byte // by buffer
}

var (
	_ backend.Into    = (*Executable)(nil)
	_ backend.Noted   = (*Executable)(nil)
	_ backend.Sourced = (*Executable)(nil)
)

// Graph is the program in execution order.
func (x *Executable) Graph() *ir.Graph { return x.program.Graph }

// Plan is what the device runs.
func (x *Executable) Plan() *Plan { return x.program.Plan }

// Kernels tells how each node is run.
func (x *Executable) Kernels() []backend.Kernel { return x.program.Kernels() }

// Listing is the WGSL that runs, with its kernels told apart.
func (x *Executable) Listing() *backend.Listing { return x.program.List() }

// Code is the WGSL that runs.
func (x *Executable) Code() display.Source { return x.Listing().Source() }

// Notes say which device runs the program.
func (x *Executable) Notes() []string {
	return []string{fmt.Sprintf("The program runs on %s.", x.device.Adapter())}
}

// Run computes the outputs of the graph.
func (x *Executable) Run(ctx context.Context, inputs ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	return x.program.Run(inputs, func(outputs []*tensor.Tensor) error { return x.run(ctx, outputs, inputs) })
}

// RunInto is Run with results in memory of the caller; see [backend.Into].
func (x *Executable) RunInto(ctx context.Context, outputs, inputs []*tensor.Tensor) error {
	if err := backend.CheckInputs(x.Graph(), inputs); err != nil {
		return err
	}
	if err := backend.CheckOutputs(x.Graph(), outputs); err != nil {
		return err
	}
	if err := x.program.CheckApart(new(planned.Frame), outputs, inputs); err != nil {
		return err
	}
	return x.run(ctx, outputs, inputs)
}

func (x *Executable) run(ctx context.Context, outputs, inputs []*tensor.Tensor) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p, m := x.program.Plan, x.program.filled(x.constants, inputs)
	if err := x.device.Run(ctx, p, m); err != nil {
		return err
	}
	if p.Faulted(m) {
		return x.explain(ctx, inputs)
	}
	for i, t := range outputs {
		if b := x.program.Outputs[i]; b >= 0 {
			decode(t, p.Buffers[b].Elem, m[b])
		}
	}
	return nil
}

// explain is the error of a run that failed, as the interpreter tells it.
func (x *Executable) explain(ctx context.Context, inputs []*tensor.Tensor) error {
	again, err := interp.New().Compile(ctx, x.Graph())
	if err != nil {
		return err
	}
	if _, err := again.Run(ctx, inputs...); err != nil {
		return err
	}
	return fmt.Errorf("%s: a kernel of the device found an error that the interpreter does not find", x.Graph().Name)
}

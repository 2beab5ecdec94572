package cpu

import (
	"context"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Run computes the outputs of the graph. Native code looks between kernels, and
// in the outer loops of those that have some, whether ctx has ended.
func (x *executable) Run(ctx context.Context, inputs ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	return x.Program.Run(inputs, func(outputs []*tensor.Tensor) error {
		f := x.frame()
		defer x.release(f)
		return x.run(ctx, f, outputs, inputs)
	})
}

// RunInto is Run with results in memory of the caller. It allocates nothing when
// all nodes have kernels and ctx ends with that of the run before.
func (x *executable) RunInto(ctx context.Context, outputs, inputs []*tensor.Tensor) error {
	if err := backend.CheckInputs(x.Program.Graph, inputs); err != nil {
		return err
	}
	if err := backend.CheckOutputs(x.Program.Graph, outputs); err != nil {
		return err
	}
	f := x.frame()
	defer x.release(f)
	if err := x.CheckApart(f.Frame, outputs, inputs); err != nil {
		return err
	}
	return x.run(ctx, f, outputs, inputs)
}

func (x *executable) run(ctx context.Context, f *frame, outputs, inputs []*tensor.Tensor) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	x.fill(f, outputs, inputs)
	if err := x.execute(ctx, f, inputs); err != nil {
		return err
	}
	runtime.KeepAlive(outputs)
	return nil
}

func (x *executable) execute(ctx context.Context, f *frame, inputs []*tensor.Tensor) error {
	f.args[1] = uintptr(unsafe.Pointer(f.watch.of(ctx)))
	f.args[2] = 0
	if x.team != nil && working.CompareAndSwap(false, true) {
		defer working.Store(false)
		f.args[2] = x.team.address
	}
	var laps backend.Laps
	if x.apart { // so that calls are steps
		laps = backend.NewLaps(ctx)
	}
	for i, c := range x.calls {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if c.node == nil {
			result, _, _ := purego.SyscallN(c.function, f.args...)
			switch r := int(int32(result)); {
			case r == 1:
				return context.Cause(ctx)
			case r > 1:
				*f.fault = 0
				return x.faulted(ctx, f, x.steps[r-faultOf(0)].node)
			}
		} else if err := x.Evaluate(ctx, f.Frame, c.node); err != nil {
			return err
		}
		laps.Done(x.steps[i].node)
	}
	runtime.KeepAlive(f)
	runtime.KeepAlive(inputs)
	runtime.KeepAlive(x)
	return nil
}

// faulted is the error of a node whose kernel found it: that of the operator's own
// evaluation, for which the operands still stand where they stood.
func (x *executable) faulted(ctx context.Context, f *frame, n *ir.Node) error {
	if err := x.Evaluate(ctx, f.Frame, n); err != nil {
		return err
	}
	return fmt.Errorf("%s: %v = %s: native code found an error that the operator does not find: this is a bug in the backend", x.Program.Graph.Name, n.Out[0], n.Op.Name)
}

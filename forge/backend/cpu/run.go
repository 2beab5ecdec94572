package cpu

import (
	"context"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
)

// Run computes the outputs of the graph. Native code looks between kernels, and
// in the outer loops of those that have some, whether ctx has ended.
func (x *executable) Run(ctx context.Context, inputs ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	if err := backend.CheckInputs(x.graph, inputs); err != nil {
		return nil, err
	}
	outputs := make([]*tensor.Tensor, len(x.graph.Outputs))
	for i, v := range x.graph.Outputs {
		t, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
		if err != nil {
			return nil, err
		}
		outputs[i] = t
	}
	f := x.frame()
	defer x.release(f)
	if err := x.run(ctx, f, outputs, inputs); err != nil {
		return nil, err
	}
	return outputs, nil
}

// RunInto is Run with results in memory of the caller. It allocates nothing when
// all nodes have kernels and ctx ends with that of the run before.
func (x *executable) RunInto(ctx context.Context, outputs, inputs []*tensor.Tensor) error {
	if err := backend.CheckInputs(x.graph, inputs); err != nil {
		return err
	}
	if err := backend.CheckOutputs(x.graph, outputs); err != nil {
		return err
	}
	f := x.frame()
	defer x.release(f)
	if err := x.checkApart(f, outputs, inputs); err != nil {
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
	for _, i := range x.copied {
		v := x.graph.Outputs[i]
		at := x.place(v)
		gather(bytesOf(outputs[i]), f.memory[at.buffer], int(at.offset), v.Spec.Shape, x.entries[v].Strides, v.Spec.DType.Size())
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
	for _, c := range x.calls {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if c.node == nil {
			if stopped, _, _ := purego.SyscallN(c.function, f.args...); int32(stopped) != 0 {
				return context.Cause(ctx)
			}
			continue
		}
		if err := x.evaluate(ctx, f, c.node, inputs); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("%s: %v = %s: %w", x.graph.Name, c.node.Out[0], c.node.Op.Name, err)
		}
	}
	runtime.KeepAlive(f)
	runtime.KeepAlive(inputs)
	runtime.KeepAlive(x)
	return nil
}

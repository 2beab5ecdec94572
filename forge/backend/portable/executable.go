package portable

import (
	"context"
	"sync"
	"sync/atomic"
	"unsafe"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/backend/portable/vector"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Executable is a program ready to run. Runs share nothing but the frames in the
// pool, each of which serves one run at a time.
type Executable struct {
	*planned.Program
	set     *vector.Set
	steps   []step
	kernels []backend.Kernel
	scratch int // elements, the most of any kernel
	frames  sync.Pool
}

// Graph is the program in execution order.
func (x *Executable) Graph() *ir.Graph { return x.Program.Graph }

// Kernels tells what runs each node.
func (x *Executable) Kernels() []backend.Kernel { return append([]backend.Kernel{}, x.kernels...) }

// Reference is why the first node runs by its operator's evaluation, when all do;
// empty when one has a kernel, or there is no work.
func (x *Executable) Reference() string {
	why := ""
	for _, s := range x.steps {
		switch {
		case s.kernel != nil:
			return ""
		case why == "":
			why = s.why
		}
	}
	return why
}

// Unvectored are the nodes that run by their operator's evaluation here, though they have
// loop kernels, of which other backends make code: see [loop.Lower].
func (x *Executable) Unvectored() (nodes []*ir.Node) {
	for _, s := range x.steps {
		if s.kernel != nil {
			continue
		}
		if _, err := x.Lower(s.node); err == nil {
			nodes = append(nodes, s.node)
		}
	}
	return nodes
}

// frame is the memory of one run.
type frame struct {
	*planned.Frame
	call
}

// call is what a kernel works on.
type call struct {
	params  []operand
	scratch []float32
	stop    *atomic.Bool
}

// operand is a parameter: its first element is data[first].
type operand struct {
	data  []float32
	first int
}

// Run computes the outputs of the graph. Kernels look now and then whether ctx has
// ended.
func (x *Executable) Run(ctx context.Context, inputs ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	return x.Program.Run(inputs, func(outputs []*tensor.Tensor) error {
		f := x.frame()
		defer x.release(f)
		return x.run(ctx, f, outputs, inputs)
	})
}

// RunInto is Run with results in memory of the caller.
func (x *Executable) RunInto(ctx context.Context, outputs, inputs []*tensor.Tensor) error {
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

// frame returns one that no run has.
func (x *Executable) frame() *frame {
	if f, ok := x.frames.Get().(*frame); ok {
		return f
	}
	return &frame{Frame: x.NewFrame(), call: call{scratch: planned.Zeros[float32](x.scratch)}}
}

func (x *Executable) run(ctx context.Context, f *frame, outputs, inputs []*tensor.Tensor) error {
	x.Fill(f.Frame, outputs, inputs)
	// The watch may wake when another run has the frame already: it holds the flag
	// of its own run.
	stop := new(atomic.Bool)
	f.stop = stop
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	}
	if err := x.execute(ctx, f); err != nil {
		return err
	}
	x.Copy(f.Frame, outputs)
	return nil
}

func (x *Executable) execute(ctx context.Context, f *frame) error {
	laps := backend.NewLaps(ctx)
	for _, s := range x.steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if s.kernel == nil {
			if err := x.Evaluate(ctx, f.Frame, s.node); err != nil {
				return err
			}
			laps.Done(s.node)
			continue
		}
		x.point(f, s.args)
		if !s.kernel.run(&f.call) {
			return context.Cause(ctx)
		}
		laps.Done(s.node)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// point makes the memory of a step's parameters those of the call.
func (x *Executable) point(f *frame, args []planned.Place) {
	f.params = f.params[:0]
	for _, at := range args {
		var o operand
		if at.Buffer >= 0 {
			b := f.Memory[at.Buffer]
			o.data = unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
			o.first = int(at.Offset) / 4
		}
		f.params = append(f.params, o)
	}
}

func (x *Executable) release(f *frame) {
	x.Release(f.Frame)
	clear(f.params)
	x.frames.Put(f)
}

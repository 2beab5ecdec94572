package cpu

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// executable is a program with its machine code. Runs share nothing but the
// frames in the pool, each of which serves one run at a time.
type executable struct {
	*program
	lib    *library // nil when there is no native step
	code   string
	calls  []call
	fixed  []uintptr // the pointer table with constants filled in
	frames sync.Pool
}

// call is a native function or the evaluation of a node.
type call struct {
	function uintptr
	node     *ir.Node
}

func newExecutable(p *program, lib *library, code string) (*executable, error) {
	x := &executable{program: p, lib: lib, code: code}
	for i, s := range p.steps {
		switch {
		case s.kernel == nil:
			x.calls = append(x.calls, call{node: s.node})
		case i == 0 || p.steps[i-1].kernel == nil:
			f, err := lib.function(entryName(p.index, i))
			if err != nil {
				return nil, err
			}
			x.calls = append(x.calls, call{function: f})
		}
	}
	x.fixed = make([]uintptr, len(p.Buffers))
	for i, b := range p.Buffers {
		switch {
		case b.Constant != nil:
			x.fixed[i] = address(planned.Bytes(b.Constant))
		case b.Packed != nil:
			x.fixed[i] = uintptr(unsafe.Pointer(unsafe.SliceData(b.Packed)))
		}
	}
	return x, nil
}

// Graph is the program in execution order.
func (x *executable) Graph() *ir.Graph { return x.program.Graph }

// Kernels tells what runs each node.
func (x *executable) Kernels() []backend.Kernel { return append([]backend.Kernel{}, x.kernels...) }

// Code is the generated C.
func (x *executable) Code() display.Source {
	return display.Source{Lang: "c", Code: x.code, Name: x.program.Graph.Name + ".c"}
}

// frame is the memory of one run, and the pointers to it that native code gets.
type frame struct {
	*planned.Frame
	table []uintptr
	args  []uintptr
}

func (x *executable) newFrame() *frame {
	return &frame{Frame: x.NewFrame(), table: make([]uintptr, len(x.Buffers)), args: make([]uintptr, 2)}
}

// never is what a run whose context cannot end looks at between kernels.
var never atomic.Int32

// Run computes the outputs of the graph. Native code looks between kernels, and
// in the outer loops of those that have some, whether ctx has ended.
func (x *executable) Run(ctx context.Context, inputs ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	if err := backend.CheckInputs(x.program.Graph, inputs); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f, ok := x.frames.Get().(*frame)
	if !ok {
		f = x.newFrame()
	}
	defer x.release(f)
	if err := x.fill(f, inputs); err != nil {
		return nil, err
	}
	stop := &never
	if ctx.Done() != nil {
		stop = new(atomic.Int32)
		defer context.AfterFunc(ctx, func() { stop.Store(1) })()
	}
	if err := x.execute(ctx, f, stop); err != nil {
		return nil, err
	}
	return x.Results(f.Frame)
}

// fill points the table to the memory of this run.
func (x *executable) fill(f *frame, inputs []*tensor.Tensor) error {
	if err := x.Fill(f.Frame, inputs); err != nil {
		return err
	}
	copy(f.table, x.fixed)
	for i, b := range f.Memory {
		if x.fixed[i] == 0 {
			f.table[i] = address(b)
		}
	}
	return nil
}

// address is where bytes stand. The caller keeps them alive.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// release forgets the caller's memory.
func (x *executable) release(f *frame) {
	x.Forget(f.Frame)
	x.frames.Put(f)
}

func (x *executable) execute(ctx context.Context, f *frame, stop *atomic.Int32) error {
	f.args[0] = uintptr(unsafe.Pointer(unsafe.SliceData(f.table)))
	f.args[1] = uintptr(unsafe.Pointer(stop))
	for _, c := range x.calls {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if c.node == nil {
			stopped, _, _ := purego.SyscallN(c.function, f.args...)
			runtime.KeepAlive(stop)
			if int32(stopped) != 0 {
				return context.Cause(ctx)
			}
			continue
		}
		if err := x.Evaluate(ctx, f.Frame, c.node); err != nil {
			return err
		}
	}
	runtime.KeepAlive(f)
	runtime.KeepAlive(x)
	return nil
}

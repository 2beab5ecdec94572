package cpu

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/plan"
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
	x.fixed = make([]uintptr, len(p.buffers))
	for i := range p.buffers {
		switch b := &p.buffers[i]; {
		case b.constant != nil:
			x.fixed[i] = address(bytesOf(b.constant))
		case b.packed != nil:
			b.packed = aligned(b.packed)
			x.fixed[i] = uintptr(unsafe.Pointer(unsafe.SliceData(b.packed)))
		}
	}
	return x, nil
}

// aligned is a copy of s that begins at a multiple of [plan.Align] bytes.
func aligned[T any](s []T) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	room := make([]T, len(s)+plan.Align/size)
	shift := 0
	if over := int(uintptr(unsafe.Pointer(unsafe.SliceData(room))) % plan.Align); over > 0 {
		shift = (plan.Align - over) / size
	}
	out := room[shift : shift+len(s) : shift+len(s)]
	copy(out, s)
	return out
}

// Graph is the program in execution order.
func (x *executable) Graph() *ir.Graph { return x.graph }

// Kernels tells what runs each node.
func (x *executable) Kernels() []backend.Kernel { return append([]backend.Kernel{}, x.kernels...) }

// Code is the generated C.
func (x *executable) Code() display.Source {
	return display.Source{Lang: "c", Code: x.code, Name: x.graph.Name + ".c"}
}

// Cached reports whether the machine code was found compiled.
func (x *executable) Cached() bool { return x.lib == nil || x.lib.cached }

// frame is the memory of one run.
type frame struct {
	table []uintptr
	slots [][]byte
	// memory is what each buffer of this run consists of, to read and write values
	// from Go and to keep it alive.
	memory  [][]byte
	outputs []*tensor.Tensor // by buffer
	args    []uintptr
}

func (x *executable) newFrame() *frame {
	f := &frame{
		table: make([]uintptr, len(x.buffers)), memory: make([][]byte, len(x.buffers)),
		outputs: make([]*tensor.Tensor, len(x.buffers)), args: make([]uintptr, 2),
	}
	for i, s := range x.plan.Slots {
		f.slots = append(f.slots, aligned(make([]byte, s.Bytes)))
		f.memory[i] = f.slots[i]
	}
	return f
}

// never is what a run whose context cannot end looks at between kernels.
var never atomic.Int32

// Run computes the outputs of the graph. Native code looks between kernels, and
// in the outer loops of those that have some, whether ctx has ended.
func (x *executable) Run(ctx context.Context, inputs ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	if err := backend.CheckInputs(x.graph, inputs); err != nil {
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
	if err := x.execute(ctx, f, inputs, stop); err != nil {
		return nil, err
	}
	return x.results(f)
}

// fill points the table to the memory of this run.
func (x *executable) fill(f *frame, inputs []*tensor.Tensor) error {
	copy(f.table, x.fixed)
	for i := range x.buffers {
		switch b := &x.buffers[i]; {
		case b.input >= 0:
			t := inputs[b.input]
			if b.updated {
				t = t.Clone()
			}
			f.memory[i] = bytesOf(t)
		case b.constant != nil:
			f.memory[i] = bytesOf(b.constant)
		case b.output != nil:
			t, err := tensor.Zeros(b.output.Spec.DType, b.output.Spec.Shape...)
			if err != nil {
				return err
			}
			f.outputs[i], f.memory[i] = t, bytesOf(t)
		case b.packed != nil:
			continue
		}
		f.table[i] = address(f.memory[i])
	}
	return nil
}

// release forgets the caller's memory.
func (x *executable) release(f *frame) {
	for i := range x.buffers {
		if x.buffers[i].slot < 0 {
			f.memory[i], f.outputs[i] = nil, nil
		}
	}
	x.frames.Put(f)
}

func (x *executable) execute(ctx context.Context, f *frame, inputs []*tensor.Tensor, stop *atomic.Int32) error {
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

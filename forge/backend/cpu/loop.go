package cpu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
)

// repeatCode runs a program n times, so that what a call from Go costs does not
// hide what the program does.
const repeatCode = `
int forge_repeat(int (*run)(char *const *, const int *, void *), char *const *p, const int *stop, void *team, long n) {
  for (long i = 0; i < n; i++) if (run(p, stop, team)) return 1;
  return 0;
}
`

// Loop is a program of [Backend.CompileVariants] with its inputs and memory, to be
// run many times in a row. It is not safe for concurrent use.
type Loop struct {
	exe    *executable
	frame  *frame
	memory []*tensor.Tensor // inputs and outputs
	repeat uintptr
}

// NewLoop makes the loop of a program, all of which must be native code.
func NewLoop(exe backend.Executable, inputs ...*tensor.Tensor) (*Loop, error) {
	x, ok := exe.(*executable)
	if !ok || len(x.calls) != 1 || x.calls[0].node != nil {
		return nil, fmt.Errorf("%s is not one native function", exe.Graph().Name)
	}
	if err := backend.CheckInputs(x.graph, inputs); err != nil {
		return nil, err
	}
	repeat, err := x.lib.function("forge_repeat")
	if err != nil {
		return nil, err
	}
	outputs := make([]*tensor.Tensor, len(x.graph.Outputs))
	for i, v := range x.graph.Outputs {
		if outputs[i], err = tensor.Zeros(v.Spec.DType, v.Spec.Shape...); err != nil {
			return nil, err
		}
	}
	l := &Loop{exe: x, frame: x.frame(), memory: slices.Concat(inputs, outputs), repeat: repeat}
	x.fill(l.frame, outputs, inputs)
	return l, nil
}

// Run runs the program n times, unless ctx ends before.
func (l *Loop) Run(ctx context.Context, n int) error {
	stop := new(atomic.Int32)
	defer context.AfterFunc(ctx, func() { stop.Store(1) })()
	table := uintptr(unsafe.Pointer(unsafe.SliceData(l.frame.table)))
	help := uintptr(0)
	if l.exe.team != nil && working.CompareAndSwap(false, true) {
		defer working.Store(false)
		help = l.exe.team.address
	}
	stopped, _, _ := purego.SyscallN(l.repeat, l.exe.calls[0].function, table, uintptr(unsafe.Pointer(stop)), help, uintptr(n))
	runtime.KeepAlive(stop)
	runtime.KeepAlive(l)
	if int32(stopped) == 0 {
		return nil
	}
	if ctx.Err() == nil {
		return errors.New("the program stopped by itself")
	}
	return context.Cause(ctx)
}

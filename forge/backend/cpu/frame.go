package cpu

import (
	"unsafe"

	"forgekernel/forge/backend/planned"
	"forgekernel/forge/tensor"
)

// frame is the memory of one run.
type frame struct {
	*planned.Frame
	table []uintptr // the pointers that native code gets: to the buffers, and to fault
	fault *int32    // set by a kernel that cannot go on
	args  []uintptr // table, flag to stop, team
	watch watch
}

// frame returns one that no run has.
func (x *executable) frame() *frame {
	if f, ok := x.frames.Get().(*frame); ok {
		return f
	}
	n := len(x.Buffers)
	f := &frame{Frame: x.NewFrame(), table: make([]uintptr, n+1), fault: new(int32), args: make([]uintptr, 3)}
	f.table[n] = uintptr(unsafe.Pointer(f.fault))
	f.args[0] = uintptr(unsafe.Pointer(unsafe.SliceData(f.table)))
	return f
}

// fill points the table to the memory of a run.
func (x *executable) fill(f *frame, outputs, inputs []*tensor.Tensor) {
	x.Fill(f.Frame, outputs, inputs)
	for i, b := range f.Memory {
		f.table[i] = planned.Address(b)
	}
}

// release forgets the caller's memory.
func (x *executable) release(f *frame) {
	x.Release(f.Frame)
	x.frames.Put(f)
}

package cpu

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"forgekernel/forge/tensor"
)

// frame is the memory of one run.
type frame struct {
	table []uintptr // the pointers that native code gets: to the buffers, and to fault
	fault *int32    // set by a kernel that cannot go on
	// memory is what each buffer of this run consists of, to read and write values
	// from Go and to keep it alive. Packed matrices have none.
	memory [][]byte
	args   []uintptr // table, flag to stop, team
	watch  watch
	spans  []span
}

// frame returns one that no run has.
func (x *executable) frame() *frame {
	if f, ok := x.frames.Get().(*frame); ok {
		return f
	}
	n := len(x.buffers)
	f := &frame{table: make([]uintptr, n+1), fault: new(int32), memory: make([][]byte, n), args: make([]uintptr, 3)}
	f.table[n] = uintptr(unsafe.Pointer(f.fault))
	f.args[0] = uintptr(unsafe.Pointer(unsafe.SliceData(f.table)))
	for i := range x.buffers {
		switch b := &x.buffers[i]; {
		case b.slot >= 0:
			f.memory[i] = aligned(make([]byte, x.plan.Slots[b.slot].Bytes))
		case b.constant != nil:
			f.memory[i] = bytesOf(b.constant)
		case b.scratch > 0:
			f.memory[i] = aligned(make([]byte, b.scratch))
		case b.packed != nil:
			f.table[i] = uintptr(unsafe.Pointer(unsafe.SliceData(b.packed)))
			continue
		case b.result < 0:
			f.memory[i] = aligned(make([]byte, b.written(x.graph)))
		}
		f.table[i] = address(f.memory[i])
	}
	return f
}

// fill points the table to the memory of the caller.
func (x *executable) fill(f *frame, outputs, inputs []*tensor.Tensor) {
	for _, i := range x.moving {
		b := &x.buffers[i]
		switch {
		case b.result >= 0:
			f.memory[i] = bytesOf(outputs[b.result])
		case b.input >= 0 && !b.updated:
			f.memory[i] = bytesOf(inputs[b.input])
		}
		f.table[i] = address(f.memory[i])
		if b.updated && !inPlace(b, outputs, inputs) {
			copy(f.memory[i], bytesOf(inputs[b.input]))
		}
	}
}

// inPlace reports whether the caller wants what becomes of an input where it is.
func inPlace(b *buffer, outputs, inputs []*tensor.Tensor) bool {
	return b.updated && b.result >= 0 && address(bytesOf(inputs[b.input])) == address(bytesOf(outputs[b.result]))
}

// release forgets the caller's memory.
func (x *executable) release(f *frame) {
	for _, i := range x.moving {
		if b := &x.buffers[i]; b.result >= 0 || !b.updated && b.input >= 0 {
			f.memory[i] = nil
		}
	}
	x.frames.Put(f)
}

// span is the memory of an input or an output.
type span struct {
	from, to uintptr
	output   bool
	name     string
}

// checkApart refuses outputs in memory that belongs to another output or to an
// input, unless it is the input which the program updates to give the output.
func (x *executable) checkApart(f *frame, outputs, inputs []*tensor.Tensor) error {
	f.spans = f.spans[:0]
	for i, t := range outputs {
		from := address(bytesOf(t))
		f.spans = append(f.spans, span{from, from + uintptr(t.Bytes()), true, x.graph.Outputs[i].Name})
	}
	for i, t := range inputs {
		from := address(bytesOf(t))
		f.spans = append(f.spans, span{from, from + uintptr(t.Bytes()), false, x.graph.Inputs[i].Name})
	}
	for _, i := range x.moving {
		if b := &x.buffers[i]; inPlace(b, outputs, inputs) {
			f.spans[len(outputs)+b.input].to = 0
		}
	}
	slices.SortFunc(f.spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var all, output span // those that reach farthest
	for _, s := range f.spans {
		if s.from >= s.to {
			continue
		}
		if with := &all; s.output && s.from < all.to || s.from < output.to {
			if !s.output {
				with = &output
			}
			return fmt.Errorf("%s: %s and %s lie in the same memory, and the run would write it", x.graph.Name, with.name, s.name)
		}
		if s.to > all.to {
			all = s
		}
		if s.output && s.to > output.to {
			output = s
		}
	}
	return nil
}

package planned

import (
	"unsafe"

	"forgekernel/forge/ir"
	"forgekernel/forge/plan"
	"forgekernel/forge/tensor"
)

// Frame is the memory of one run at a time.
type Frame struct {
	// Memory is what each buffer of this run consists of.
	Memory [][]byte
	inputs []*tensor.Tensor
	spans  []span

	// What evaluations need again in the next run: values that stand in memory of the
	// frame, as tensors, and what a node is called with.
	stand  map[*ir.Value]*tensor.Tensor
	call   ir.Call
	copied []bool
}

// NewFrame allocates what belongs to the frame, each buffer at a multiple of
// [plan.Align] bytes.
func (p *Program) NewFrame() *Frame {
	f := &Frame{Memory: make([][]byte, len(p.Buffers)), stand: make(map[*ir.Value]*tensor.Tensor)}
	for i := range p.Buffers {
		switch b := &p.Buffers[i]; {
		case b.Slot >= 0:
			f.Memory[i] = Zeros[byte](int(p.Plan.Slots[b.Slot].Bytes))
		case b.Constant != nil:
			f.Memory[i] = Bytes(b.Constant)
		case b.Scratch > 0:
			f.Memory[i] = Zeros[byte](int(b.Scratch))
		case b.Packed != nil:
			f.Memory[i] = b.Packed.bytes
		case b.Result < 0:
			f.Memory[i] = Zeros[byte](int(b.written(p.Graph)))
		}
	}
	return f
}

// Fill makes memory of the caller that of a run, and copies inputs that the run
// writes into. It allocates nothing.
func (p *Program) Fill(f *Frame, outputs, inputs []*tensor.Tensor) {
	f.inputs = inputs
	for i := range p.Buffers {
		b := &p.Buffers[i]
		switch {
		case b.Result >= 0:
			f.Memory[i] = Bytes(outputs[b.Result])
		case b.Input >= 0 && !b.Updated:
			f.Memory[i] = Bytes(inputs[b.Input])
		}
		if b.Updated && !inPlace(b, outputs, inputs) {
			copy(f.Memory[i], Bytes(inputs[b.Input]))
		}
	}
}

// inPlace reports whether the caller wants what becomes of an input where it is.
func inPlace(b *Buffer, outputs, inputs []*tensor.Tensor) bool {
	return b.Updated && b.Result >= 0 && Address(Bytes(inputs[b.Input])) == Address(Bytes(outputs[b.Result]))
}

// Release drops what a frame holds of the caller's memory.
func (p *Program) Release(f *Frame) {
	f.inputs = nil
	for i := range p.Buffers {
		if p.Buffers[i].lent() {
			f.Memory[i] = nil
		}
	}
}

// lent reports whether the memory of a buffer is the caller's.
func (b *Buffer) lent() bool { return b.Result >= 0 || !b.Updated && b.Input >= 0 }

// Bytes is the storage of a tensor.
func Bytes(t *tensor.Tensor) []byte {
	switch t.DType() {
	case tensor.F32:
		return Raw(t.Float32())
	case tensor.F64:
		return Raw(t.Float64())
	case tensor.I64:
		return Raw(t.Int64())
	case tensor.I32:
		return Raw(t.Int32())
	case tensor.Bool:
		return Raw(t.Bool())
	}
	return Raw(t.Bits16())
}

// Raw is the storage of a slice.
func Raw[T any](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

// Address is where memory begins.
func Address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// Zeros makes a slice that begins at a multiple of [plan.Align] bytes.
func Zeros[T any](n int) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	room := make([]T, n+plan.Align/size)
	shift := 0
	if over := int(uintptr(unsafe.Pointer(unsafe.SliceData(room))) % plan.Align); over > 0 {
		shift = (plan.Align - over) / size
	}
	return room[shift : shift+n : shift+n]
}

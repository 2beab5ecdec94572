package planned

import (
	"unsafe"

	"forgekernel/forge/plan"
	"forgekernel/forge/tensor"
)

// Frame is the memory of one run at a time.
type Frame struct {
	// Memory is what each buffer of this run consists of; nil for packed ones.
	Memory  [][]byte
	inputs  []*tensor.Tensor
	outputs []*tensor.Tensor // by buffer
}

// NewFrame allocates the slots, each at a multiple of [plan.Align] bytes.
func (p *Program) NewFrame() *Frame {
	f := &Frame{Memory: make([][]byte, len(p.Buffers)), outputs: make([]*tensor.Tensor, len(p.Buffers))}
	for i, b := range p.Buffers {
		switch {
		case b.Slot >= 0:
			f.Memory[i] = Zeros[byte](int(p.Plan.Slots[b.Slot].Bytes))
		case b.Scratch > 0:
			f.Memory[i] = Zeros[byte](int(b.Scratch))
		}
	}
	return f
}

// Fill gives a frame the memory of a run: inputs, constants and fresh outputs.
func (p *Program) Fill(f *Frame, inputs []*tensor.Tensor) error {
	f.inputs = inputs
	for i := range p.Buffers {
		switch b := &p.Buffers[i]; {
		case b.Input >= 0:
			t := inputs[b.Input]
			if b.Updated {
				t = t.Clone()
			}
			f.Memory[i] = Bytes(t)
		case b.Constant != nil:
			f.Memory[i] = Bytes(b.Constant)
		case b.Output != nil:
			t, err := tensor.Zeros(b.Output.Spec.DType, b.Output.Spec.Shape...)
			if err != nil {
				return err
			}
			f.outputs[i], f.Memory[i] = t, Bytes(t)
		}
	}
	return nil
}

// Forget drops what a frame holds of the caller's memory.
func (p *Program) Forget(f *Frame) {
	f.inputs = nil
	for i := range p.Buffers {
		if b := &p.Buffers[i]; b.Input >= 0 || b.Output != nil {
			f.Memory[i], f.outputs[i] = nil, nil
		}
	}
}

// Bytes is the storage of a tensor.
func Bytes(t *tensor.Tensor) []byte {
	var p unsafe.Pointer
	switch t.DType() {
	case tensor.F32:
		p = unsafe.Pointer(unsafe.SliceData(t.Float32()))
	case tensor.F64:
		p = unsafe.Pointer(unsafe.SliceData(t.Float64()))
	case tensor.I64:
		p = unsafe.Pointer(unsafe.SliceData(t.Int64()))
	case tensor.I32:
		p = unsafe.Pointer(unsafe.SliceData(t.Int32()))
	case tensor.Bool:
		p = unsafe.Pointer(unsafe.SliceData(t.Bool()))
	default:
		p = unsafe.Pointer(unsafe.SliceData(t.Bits16()))
	}
	return unsafe.Slice((*byte)(p), t.Bytes())
}

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

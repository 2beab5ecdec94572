package cpu

import (
	"context"
	"unsafe"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// bytesOf is the storage of a tensor as bytes.
func bytesOf(t *tensor.Tensor) []byte {
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

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// evaluate runs a node by its operator's own evaluation, on operands copied out
// of their places and results copied back.
func (x *executable) evaluate(ctx context.Context, f *frame, n *ir.Node, inputs []*tensor.Tensor) error {
	c := &ir.Call{Ctx: ctx, Node: n, Workers: x.threads}
	for _, v := range n.In {
		t, err := x.operand(f, v, inputs)
		if err != nil {
			return err
		}
		c.In = append(c.In, t)
	}
	for _, v := range n.Out {
		t, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
		if err != nil {
			return err
		}
		c.Out = append(c.Out, t)
	}
	if err := n.Op.Eval(c); err != nil {
		return err
	}
	for i, v := range n.Out {
		if at := x.place(v); at.buffer >= 0 {
			scatter(f.memory[at.buffer], bytesOf(c.Out[i]), int(at.offset), v.Spec.Shape, x.entries[v].Strides, v.Spec.DType.Size())
		}
	}
	return nil
}

// operand is a value as a dense tensor: a constant or an input itself where it is
// one that nothing overwrites, else a copy.
func (x *executable) operand(f *frame, v *ir.Value, inputs []*tensor.Tensor) (*tensor.Tensor, error) {
	if e := x.entries[v]; e.Base == e.Name {
		if at := x.place(v); at.buffer >= 0 {
			switch b := &x.buffers[at.buffer]; {
			case b.constant != nil:
				return b.constant, nil
			case b.input >= 0 && !b.updated:
				return inputs[b.input], nil
			}
		}
	}
	return x.copyOf(f, v)
}

// copyOf gathers a value through its strides.
func (x *executable) copyOf(f *frame, v *ir.Value) (*tensor.Tensor, error) {
	t, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
	if err != nil || t.Len() == 0 {
		return t, err
	}
	at := x.place(v)
	gather(bytesOf(t), f.memory[at.buffer], int(at.offset), v.Spec.Shape, x.entries[v].Strides, v.Spec.DType.Size())
	return t, nil
}

// gather copies the elements that begin at byte from of src to dst, in row-major
// order, and returns what is left of dst.
func gather(dst, src []byte, from int, shape, strides []int, size int) []byte {
	if len(shape) == 0 {
		return dst[copy(dst[:size], src[from:from+size]):]
	}
	if len(shape) == 1 && strides[0] == 1 {
		n := shape[0] * size
		return dst[copy(dst[:n], src[from:from+n]):]
	}
	for i := range shape[0] {
		dst = gather(dst, src, from+i*strides[0]*size, shape[1:], strides[1:], size)
	}
	return dst
}

// scatter is the inverse of gather, and returns what is left of src.
func scatter(dst, src []byte, from int, shape, strides []int, size int) []byte {
	if len(shape) == 0 {
		return src[copy(dst[from:from+size], src):]
	}
	if len(shape) == 1 && strides[0] == 1 {
		return src[copy(dst[from:from+shape[0]*size], src):]
	}
	for i := range shape[0] {
		src = scatter(dst, src, from+i*strides[0]*size, shape[1:], strides[1:], size)
	}
	return src
}

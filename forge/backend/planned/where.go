package planned

import (
	"unsafe"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// meet reports whether two tensors have memory in common.
func meet(x, y *tensor.Tensor) bool {
	a, b := Bytes(x), Bytes(y)
	from, to := Address(a), Address(b)
	return from < to+uintptr(len(b)) && to < from+uintptr(len(a))
}

// where is a value as a tensor over the memory where it stands; nil if it is not
// dense, or stands nowhere.
func (p *Program) where(f *Frame, v *ir.Value) (*tensor.Tensor, error) {
	at, spec := p.Place(v), &v.Spec
	layout := ir.Layout{Strides: p.Strides(v)}
	if at.Buffer < 0 || spec.Elements() == 0 || !layout.Contiguous(spec.Shape) {
		return nil, nil
	}
	if t := f.stand[v]; t != nil {
		return t, nil
	}
	t, err := over(spec, f.Memory[at.Buffer][at.Offset:][:spec.Bytes()])
	if err == nil && !p.Buffers[at.Buffer].lent() {
		f.stand[v] = t
	}
	return t, err
}

// over is memory as a tensor.
func over(spec *ir.Spec, b []byte) (*tensor.Tensor, error) {
	switch spec.DType {
	case tensor.F32:
		return tensor.Over(spec.Shape, elements[float32](b))
	case tensor.F64:
		return tensor.Over(spec.Shape, elements[float64](b))
	case tensor.I64:
		return tensor.Over(spec.Shape, elements[int64](b))
	case tensor.I32:
		return tensor.Over(spec.Shape, elements[int32](b))
	case tensor.Bool:
		return tensor.Over(spec.Shape, elements[bool](b))
	}
	return tensor.OverBits16(spec.DType, spec.Shape, elements[uint16](b))
}

// elements is memory as elements of one type.
func elements[T any](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

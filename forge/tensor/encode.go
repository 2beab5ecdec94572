package tensor

import (
	"fmt"
	"io"
	"unsafe"
)

// Encode returns the elements in row-major order, little-endian; a bool is one
// byte. It is the data format of .npy files.
func (t *Tensor) Encode() []byte { return append([]byte{}, t.raw()...) }

// EncodeTo writes what [Tensor.Encode] returns, without a copy.
func (t *Tensor) EncodeTo(w io.Writer) error {
	_, err := w.Write(t.raw())
	return err
}

// Decode makes a tensor from what [Tensor.Encode] returned. The length must
// match exactly, and the bytes of a bool must be 0 or 1.
func Decode(dtype DType, shape []int, raw []byte) (*Tensor, error) {
	n, err := Elements(shape)
	if err != nil {
		return nil, err
	}
	if n*dtype.Size() != len(raw) || !dtype.Valid() {
		return nil, fmt.Errorf("%v%s needs %d bytes, got %d", dtype, FormatShape(shape), n*dtype.Size(), len(raw))
	}
	t, err := Zeros(dtype, shape...)
	if err != nil {
		return nil, err
	}
	return t, t.DecodeAt(0, raw)
}

// DecodeAt stores elements from what [Tensor.Encode] returned of them, beginning
// with element at of the row-major order. Like copying into a slice it panics when
// they are more than there are.
func (t *Tensor) DecodeAt(at int, raw []byte) error {
	if t.dtype == Bool {
		for i, b := range raw {
			if b > 1 {
				return fmt.Errorf("byte %d of a bool tensor is %d; it must be 0 or 1", i, b)
			}
		}
	}
	copy(t.raw()[at*t.dtype.Size():][:len(raw)], raw)
	return nil
}

// raw is the storage as bytes. The platforms of this module are little-endian, as
// the encoding is.
func (t *Tensor) raw() []byte {
	switch s := t.data.(type) {
	case []float32:
		return bytesOf(s)
	case []float64:
		return bytesOf(s)
	case []uint16:
		return bytesOf(s)
	case []int64:
		return bytesOf(s)
	case []int32:
		return bytesOf(s)
	}
	return bytesOf(t.data.([]bool))
}

func bytesOf[T Element | uint16](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

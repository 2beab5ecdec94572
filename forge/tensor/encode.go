package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Encode returns the elements in row-major order, little-endian; a bool is one
// byte. It is the data format of .npy files.
func (t *Tensor) Encode() []byte {
	out := make([]byte, 0, t.Bytes())
	le := binary.LittleEndian
	switch s := t.data.(type) {
	case []float32:
		for _, v := range s {
			out = le.AppendUint32(out, math.Float32bits(v))
		}
	case []float64:
		for _, v := range s {
			out = le.AppendUint64(out, math.Float64bits(v))
		}
	case []uint16:
		for _, v := range s {
			out = le.AppendUint16(out, v)
		}
	case []int64:
		for _, v := range s {
			out = le.AppendUint64(out, uint64(v))
		}
	case []int32:
		for _, v := range s {
			out = le.AppendUint32(out, uint32(v))
		}
	case []bool:
		for _, v := range s {
			b := byte(0)
			if v {
				b = 1
			}
			out = append(out, b)
		}
	}
	return out
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
	le := binary.LittleEndian
	switch s := t.data.(type) {
	case []float32:
		for i := range s {
			s[i] = math.Float32frombits(le.Uint32(raw[4*i:]))
		}
	case []float64:
		for i := range s {
			s[i] = math.Float64frombits(le.Uint64(raw[8*i:]))
		}
	case []uint16:
		for i := range s {
			s[i] = le.Uint16(raw[2*i:])
		}
	case []int64:
		for i := range s {
			s[i] = int64(le.Uint64(raw[8*i:]))
		}
	case []int32:
		for i := range s {
			s[i] = int32(le.Uint32(raw[4*i:]))
		}
	case []bool:
		for i, b := range raw {
			if b > 1 {
				return nil, fmt.Errorf("byte %d of a bool tensor is %d; it must be 0 or 1", i, b)
			}
			s[i] = b == 1
		}
	}
	return t, nil
}

package onnx

import (
	"fmt"
	"math"

	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

// held is the element type in which a file's type is held. Integers of fewer than
// 32 bits are held as i32, and unsigned ones as the next larger type.
var held = map[proto.DataType]tensor.DType{
	proto.Float: tensor.F32, proto.Double: tensor.F64, proto.Float16: tensor.F16, proto.BFloat16: tensor.BF16,
	proto.Int64: tensor.I64, proto.Uint64: tensor.I64, proto.Uint32: tensor.I64,
	proto.Int32: tensor.I32, proto.Int16: tensor.I32, proto.Uint16: tensor.I32, proto.Int8: tensor.I32, proto.Uint8: tensor.I32,
	proto.Bool: tensor.Bool,
}

// externalData is the location of data in another file.
const externalData = 1

// widths are the bytes of an element in raw data.
var widths = map[proto.DataType]int{
	proto.Float: 4, proto.Double: 8, proto.Float16: 2, proto.BFloat16: 2, proto.Int64: 8, proto.Uint64: 8, proto.Uint32: 4,
	proto.Int32: 4, proto.Int16: 2, proto.Uint16: 2, proto.Int8: 1, proto.Uint8: 1, proto.Bool: 1,
}

// dtypeOf is the element type in which values of a file's type are held.
func dtypeOf(t proto.DataType) (tensor.DType, error) {
	d, ok := held[t]
	if !ok {
		return 0, fmt.Errorf("elements of type %v are not supported", t)
	}
	return d, nil
}

// shapeOf checks the dimensions of a tensor of a file.
func shapeOf(dims []int64) ([]int, int, error) {
	shape := make([]int, len(dims))
	for i, d := range dims {
		if d < 0 || d > math.MaxInt32 {
			return nil, 0, fmt.Errorf("%d is no dimension", d)
		}
		shape[i] = int(d)
	}
	n, err := tensor.Elements(shape)
	return shape, n, err
}

// decode makes a tensor of a file's; external data comes from files.
func decode(t *proto.Tensor, files *externalFiles) (*tensor.Tensor, error) {
	out, err := decodeTensor(t, files)
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	return out, nil
}

func decodeTensor(t *proto.Tensor, files *externalFiles) (*tensor.Tensor, error) {
	dtype, err := dtypeOf(t.Type)
	if err != nil {
		return nil, err
	}
	if t.Segment {
		return nil, fmt.Errorf("it is one segment of a tensor, which is not supported")
	}
	shape, n, err := shapeOf(t.Dims)
	if err != nil {
		return nil, err
	}
	raw := t.Raw
	switch {
	case t.Location == externalData:
		if raw, err = files.read(t.External, n*widths[t.Type]); err != nil {
			return nil, err
		}
	case t.Location != 0:
		return nil, fmt.Errorf("data location %d is unknown", t.Location)
	case !t.HasRaw:
		return decodeFields(t, dtype, shape, n)
	}
	if len(raw) != n*widths[t.Type] {
		return nil, fmt.Errorf("%v%s has %d bytes of data; it needs %d", t.Type, tensor.FormatShape(shape), len(raw), n*widths[t.Type])
	}
	return decodeRaw(t.Type, dtype, shape, raw)
}

// decodeRaw widens what is not held as it is stored.
func decodeRaw(source proto.DataType, dtype tensor.DType, shape []int, raw []byte) (*tensor.Tensor, error) {
	read, narrow := narrowTypes[source]
	if !narrow {
		return tensor.Decode(dtype, shape, raw)
	}
	wide := make([]int64, len(raw)/widths[source])
	for i := range wide {
		wide[i] = read(raw[i*widths[source]:])
	}
	return integers(source, dtype, shape, wide)
}

// decodeFields reads the typed fields.
func decodeFields(t *proto.Tensor, dtype tensor.DType, shape []int, n int) (*tensor.Tensor, error) {
	count := len(t.Floats) + len(t.Doubles) + len(t.Int32s) + len(t.Int64s) + len(t.Uint64s)
	if count != n {
		return nil, fmt.Errorf("%v%s has %d elements of data; it needs %d", t.Type, tensor.FormatShape(shape), count, n)
	}
	switch {
	case t.Type == proto.Float && len(t.Floats) == n:
		return tensor.From(shape, append([]float32{}, t.Floats...))
	case t.Type == proto.Double && len(t.Doubles) == n:
		return tensor.From(shape, append([]float64{}, t.Doubles...))
	case (t.Type == proto.Float16 || t.Type == proto.BFloat16) && len(t.Int32s) == n:
		bits := make([]uint16, n)
		for i, v := range t.Int32s {
			bits[i] = uint16(v)
		}
		return tensor.FromBits16(dtype, shape, bits)
	case t.Type == proto.Bool && len(t.Int32s) == n:
		list := make([]bool, n)
		for i, v := range t.Int32s {
			list[i] = v != 0
		}
		return tensor.From(shape, list)
	}
	wide := append(make([]int64, 0, n), t.Int64s...)
	for _, v := range t.Int32s {
		wide = append(wide, int64(v))
	}
	for _, v := range t.Uint64s {
		wide = append(wide, int64(v))
	}
	if len(wide) != n || dtype != tensor.I32 && dtype != tensor.I64 {
		return nil, fmt.Errorf("its data is not in the field of its type, %v", t.Type)
	}
	return integers(t.Type, dtype, shape, wide)
}

func integers(source proto.DataType, dtype tensor.DType, shape []int, wide []int64) (*tensor.Tensor, error) {
	if source == proto.Uint64 {
		for _, v := range wide {
			if v < 0 {
				return nil, fmt.Errorf("the uint64 %d is beyond int64", uint64(v))
			}
		}
	}
	if dtype == tensor.I64 {
		return tensor.From(shape, wide)
	}
	list := make([]int32, len(wide))
	for i, v := range wide {
		list[i] = int32(v)
	}
	return tensor.From(shape, list)
}

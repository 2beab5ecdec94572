package archive

import (
	"encoding/binary"
	"fmt"
	"strings"

	"forgekernel/forge/tensor"
)

// ScalarType is an element type by its number in the schema.
type ScalarType int

// elementType is how a type is stored and held. Integers of fewer than 32 bits are
// held as i32, and unsigned ones as the next larger type.
type elementType struct {
	name  string
	width int
	held  tensor.DType
	read  func([]byte) int64 // of a type that is not held as it is stored
}

var types = map[ScalarType]elementType{
	1:  {"uint8", 1, tensor.I32, func(b []byte) int64 { return int64(b[0]) }},
	2:  {"int8", 1, tensor.I32, func(b []byte) int64 { return int64(int8(b[0])) }},
	3:  {"int16", 2, tensor.I32, func(b []byte) int64 { return int64(int16(binary.LittleEndian.Uint16(b))) }},
	4:  {"int32", 4, tensor.I32, nil},
	5:  {"int64", 8, tensor.I64, nil},
	6:  {"float16", 2, tensor.F16, nil},
	7:  {"float32", 4, tensor.F32, nil},
	8:  {"float64", 8, tensor.F64, nil},
	12: {"bool", 1, tensor.Bool, nil},
	13: {"bfloat16", 2, tensor.BF16, nil},
	28: {"uint16", 2, tensor.I32, func(b []byte) int64 { return int64(binary.LittleEndian.Uint16(b)) }},
	34: {"uint32", 4, tensor.I64, func(b []byte) int64 { return int64(binary.LittleEndian.Uint32(b)) }},
	35: {"uint64", 8, tensor.I64, func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }},
}

// others are types that are known and not supported.
var others = map[ScalarType]string{
	9: "complex32", 10: "complex64", 11: "complex128", 29: "float8_e4m3fn", 30: "float8_e5m2", 31: "float8_e4m3fnuz", 32: "float8_e5m2fnuz", 33: "float8_e8m0fnu",
}

// Supported reports whether elements of the type can be held.
func (s ScalarType) Supported() bool { return types[s].width > 0 }

// Held is the type in which elements are held.
func (s ScalarType) Held() tensor.DType { return types[s].held }

// Width is the bytes of a stored element.
func (s ScalarType) Width() int { return types[s].width }

// Exact reports whether elements are held as they are stored.
func (s ScalarType) Exact() bool { return types[s].read == nil }

// Signed reports whether an integer type has negative numbers.
func (s ScalarType) Signed() bool { return !strings.HasPrefix(types[s].name, "uint") }

// String is PyTorch's name of the type.
func (s ScalarType) String() string {
	if t, ok := types[s]; ok {
		return t.name
	}
	if name, ok := others[s]; ok {
		return name
	}
	return fmt.Sprintf("number %d", int(s))
}

// decode makes a tensor of elements in row-major order.
func (s ScalarType) decode(shape []int, raw []byte) (*tensor.Tensor, error) {
	t := types[s]
	if t.read == nil {
		return tensor.Decode(t.held, shape, raw)
	}
	out, err := tensor.Zeros(t.held, shape...)
	if err != nil {
		return nil, err
	}
	for i := range out.Len() {
		v := t.read(raw[i*t.width:])
		if t.name == "uint64" && v < 0 {
			return nil, errWide
		}
		if t.held == tensor.I64 {
			out.Int64()[i] = v
		} else {
			out.Int32()[i] = int32(v)
		}
	}
	return out, nil
}

package onnx

import (
	"encoding/binary"

	"forgekernel/forge/onnx/proto"
)

// narrowTypes read one element of the types that are held in a wider one.
var narrowTypes = map[proto.DataType]func([]byte) int64{
	proto.Uint8:  func(b []byte) int64 { return int64(b[0]) },
	proto.Int8:   func(b []byte) int64 { return int64(int8(b[0])) },
	proto.Uint16: func(b []byte) int64 { return int64(binary.LittleEndian.Uint16(b)) },
	proto.Int16:  func(b []byte) int64 { return int64(int16(binary.LittleEndian.Uint16(b))) },
	proto.Uint32: func(b []byte) int64 { return int64(binary.LittleEndian.Uint32(b)) },
	proto.Uint64: func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) },
}

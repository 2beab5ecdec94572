// Package proto reads ONNX files: the messages of a model, without copying its
// weights.
//
// [Decode] follows the rules of the wire format: fields in any order, unknown
// ones skipped, repeated numbers packed or not, the last of a single field wins.
// Byte strings, among them the raw data of tensors, are parts of the buffer
// that was decoded and must not be changed. Field numbers are those of onnx.proto.
//
// A message is checked for being well formed, not for what it means: that is the
// importer's work.
package proto

// Model is a ModelProto.
type Model struct {
	IRVersion int64
	Producer  string
	Graph     *Graph
	Opsets    []Opset
	Functions []*Function
}

// Opset is an OperatorSetIdProto. The domain "ai.onnx" is read as "".
type Opset struct {
	Domain  string
	Version int64
}

// Graph is a GraphProto.
type Graph struct {
	Name         string
	Nodes        []*Node
	Initializers []*Tensor
	Sparse       int // how many sparse initializers there are
	Inputs       []*ValueInfo
	Outputs      []*ValueInfo
	ValueInfo    []*ValueInfo
}

// Node is a NodeProto.
type Node struct {
	Inputs, Outputs            []string
	Name, Op, Domain, Overload string
	Attrs                      []*Attribute
}

// Attr is the attribute of a name, or nil.
func (n *Node) Attr(name string) *Attribute {
	for _, a := range n.Attrs {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// AttrType says which field of an attribute holds its value.
type AttrType int64

// Types of attributes.
const (
	Undefined   AttrType = iota
	FloatType            // F
	IntType              // I
	StringType           // S
	TensorType           // T
	GraphType            // G
	FloatsType           // Floats
	IntsType             // Ints
	StringsType          // Strings
	TensorsType          // not read
	GraphsType           // not read
)

// Attribute is an AttributeProto.
type Attribute struct {
	Name    string
	Type    AttrType
	F       float32
	I       int64
	S       []byte
	T       *Tensor
	G       *Graph
	Floats  []float32
	Ints    []int64
	Strings [][]byte
	Ref     string // the attribute of the enclosing function that it stands for
}

// Function is a FunctionProto.
type Function struct {
	Name, Domain, Overload string
	Inputs, Outputs        []string
	Attrs                  []string     // names without default
	Defaults               []*Attribute // with their defaults
	Nodes                  []*Node
	Opsets                 []Opset
}

// ValueInfo is a ValueInfoProto.
type ValueInfo struct {
	Name string
	Type *Type // nil when absent
}

// Type is a TypeProto.
type Type struct {
	// Kind is "tensor", or what else a value is: "sequence", "map", "optional",
	// "sparse tensor", "opaque".
	Kind     string
	Elem     DataType
	HasShape bool // false for an unknown rank
	Dims     []Dim
}

// Dim is a dimension of a shape: a value, a symbol, or neither when it is unknown.
type Dim struct {
	Known bool
	Value int64
	Param string
}

// DataType is the type of elements.
type DataType int32

// Data types.
const (
	UndefinedType DataType = 0

	Float    DataType = 1
	Uint8    DataType = 2
	Int8     DataType = 3
	Uint16   DataType = 4
	Int16    DataType = 5
	Int32    DataType = 6
	Int64    DataType = 7
	String   DataType = 8
	Bool     DataType = 9
	Float16  DataType = 10
	Double   DataType = 11
	Uint32   DataType = 12
	Uint64   DataType = 13
	BFloat16 DataType = 16
)

var dataTypes = []string{
	"undefined", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16", "float64",
	"uint32", "uint64", "complex64", "complex128", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
	"float8e5m2fnuz", "uint4", "int4", "float4e2m1", "float8e8m0", "uint2", "int2",
}

// String is the name of the type.
func (t DataType) String() string {
	if t < 0 || int(t) >= len(dataTypes) {
		return "unknown"
	}
	return dataTypes[t]
}

// Tensor is a TensorProto.
type Tensor struct {
	Name     string
	Dims     []int64
	Type     DataType
	Segment  bool // it is a part of a larger tensor
	Raw      []byte
	HasRaw   bool
	Floats   []float32
	Int32s   []int32
	Int64s   []int64
	Doubles  []float64
	Uint64s  []uint64
	Strings  [][]byte
	External []Entry // key and value pairs
	Location int64   // 0 in this file, 1 in another
}

// Entry is a StringStringEntryProto.
type Entry struct{ Key, Value string }

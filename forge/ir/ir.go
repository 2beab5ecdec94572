// Package ir is the compiler's program form: a typed SSA dataflow graph.
//
// A [Graph] has inputs, constants and nodes. Every [Value] has exactly one
// producer and a [Spec]; nodes stand in definition order. What an operator
// means is declared here as [Op] and implemented in package op, one
// registration per operator, so that every later stage treats operators as
// data.
package ir

// DType is an element type.
type DType uint8

// Element types.
const (
	Invalid DType = iota
	F32
	F64
	F16
	BF16
	I64
	I32
	Bool
)

// Spec is the static type of a value: element type and shape. A scalar has an
// empty shape.
type Spec struct {
	DType DType
	Shape []int
}

// Pos is where a value comes from in the program the user wrote.
type Pos struct {
	Source string // "mlp.fs", "cell 3"
	Line   int    // 1-based, 0 when unknown
	Col    int    // 1-based, in code points
}

// Value is one SSA value.
type Value struct {
	Name string // unique in its graph, printed as %name
	Spec Spec
	Def  *Node // nil for graph inputs
	Pos  Pos
}

// Attrs are the named static parameters of a node. Values are bool, int64,
// float64, string, []int64 or []float64.
type Attrs map[string]any

// Node applies an operator to values.
type Node struct {
	Op    *Op
	In    []*Value
	Out   []*Value
	Attrs Attrs
	// Body is the scalar program of a fused node, nil otherwise.
	Body *Graph
	Pos  []Pos // every source position that this node implements
}

// Graph is a program with static shapes.
type Graph struct {
	Name    string
	Inputs  []*Value
	Nodes   []*Node
	Outputs []*Value
}

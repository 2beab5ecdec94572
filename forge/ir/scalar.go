package ir

import "forgekernel/forge/tensor"

// Scalar gives the meaning of an elementwise operator for operands and result
// of the given element types, as a kernel on vectors. In a reference evaluation
// these types are wider than those of the node's specs.
type Scalar func(n *Node, in []tensor.DType, out tensor.DType) Kernel

// Kernel computes element i of vector dst from the elements i of the vectors
// args, for all i. All have one length, and dst may be one of args. It fails
// where the result is undefined, as in an integer division by zero.
type Kernel func(v *Vectors, dst int, args []int) error

// Vectors holds the vectors of a scalar program by number, each in the slice of
// its type. Values of f16 and bf16 are held as the float32 that they stand for:
// a kernel computes them in float32, and whoever runs it rounds each result.
type Vectors struct {
	F32  [][]float32
	F64  [][]float64
	I64  [][]int64
	I32  [][]int32
	Bool [][]bool
}

// NewVectors makes room for n vectors.
func NewVectors(n int) *Vectors {
	return &Vectors{make([][]float32, n), make([][]float64, n), make([][]int64, n), make([][]int32, n), make([][]bool, n)}
}

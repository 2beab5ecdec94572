package ir

import (
	"slices"

	"forgekernel/forge/tensor"
)

// Layout places the elements of a value in storage: the element with index
// (i, j, …) is at Offset + i*Strides[0] + j*Strides[1] + …, in elements. A
// stride of 0 repeats elements, a negative one reverses them.
type Layout struct {
	Offset  int
	Strides []int
}

// Dense is the row-major layout of a shape.
func Dense(shape []int) Layout { return Layout{Strides: tensor.Strides(shape)} }

// Contiguous reports whether a value of the given shape lies in storage in
// row-major order without gaps. The strides of dimensions of length 1 do not
// matter, nor does any when there are no elements.
func (l Layout) Contiguous(shape []int) bool {
	if slices.Contains(shape, 0) {
		return true
	}
	want := 1
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] != 1 && l.Strides[i] != want {
			return false
		}
		want *= shape[i]
	}
	return true
}

// Layouts returns where the results of a view lie in the storage of its
// operand, which is laid out as in. It is false when no strides can say it, as
// for a reshape that merges dimensions of a transposed value; then the node
// must copy. Of a dense operand every view has a layout.
func (n *Node) Layouts(in Layout) ([]Layout, bool) { return n.Op.Layout(n, in) }

package op

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var movements = []*ir.Op{
	{
		Name:     "reshape",
		Doc:      "The same elements in row-major order under another shape.",
		Class:    ir.Movement,
		View:     true,
		Operands: []string{"x"},
		Attrs:    []ir.AttrDecl{{Name: "shape", Kind: ir.IntsAttr, Required: true, Doc: "the new shape; one dimension may be -1, computed from the rest"}},
		Infer:    inferReshape,
		Eval: func(c *ir.Call) error {
			return tensor.Copy(c.Out[0], c.In[0].Reshape(c.Out[0].Shape()...))
		},
		FLOPs: noFLOPs,
	},
	{
		Name:     "transpose",
		Doc:      "The dimensions in another order: dimension i of the result is dimension perm[i] of x.",
		Class:    ir.Movement,
		Operands: []string{"x"},
		Attrs:    []ir.AttrDecl{{Name: "perm", Kind: ir.IntsAttr, Doc: "the order of dimensions, negative from the end; reversed when absent"}},
		Infer:    inferTranspose,
		Eval:     evalTranspose,
		FLOPs:    noFLOPs,
	},
}

func inferReshape(n *ir.Node) ([]ir.Spec, error) {
	x := n.In[0].Spec
	want := make([]int, len(n.Ints("shape")))
	for i, d := range n.Ints("shape") {
		if want[i] = int(d); d < -1 || d > tensor.MaxElements {
			return nil, fmt.Errorf("shape has the dimension %d", d)
		}
	}
	shape, err := tensor.ResolveShape(x.Elements(), want)
	if err != nil {
		return nil, fmt.Errorf("cannot reshape %v: %w", x, err)
	}
	return []ir.Spec{{DType: x.DType, Shape: shape}}, nil
}

// permutation is the perm attribute with defaults and negative axes resolved.
func permutation(n *ir.Node, rank int) ([]int, error) {
	perm := make([]int, rank)
	given := n.Ints("perm")
	if given == nil {
		for i := range perm {
			perm[i] = rank - 1 - i
		}
		return perm, nil
	}
	if len(given) != rank {
		return nil, fmt.Errorf("perm %v has %d axes for rank %d", given, len(given), rank)
	}
	seen := make([]bool, rank)
	for i, a := range given {
		axis, err := resolveAxis(a, rank)
		if err != nil {
			return nil, fmt.Errorf("perm %v: %w", given, err)
		}
		if seen[axis] {
			return nil, fmt.Errorf("perm %v names axis %d twice", given, axis)
		}
		seen[axis], perm[i] = true, axis
	}
	return perm, nil
}

func inferTranspose(n *ir.Node) ([]ir.Spec, error) {
	x := n.In[0].Spec
	perm, err := permutation(n, x.Rank())
	if err != nil {
		return nil, err
	}
	shape := make([]int, len(perm))
	for i, p := range perm {
		shape[i] = x.Shape[p]
	}
	return []ir.Spec{{DType: x.DType, Shape: shape}}, nil
}

// evalTranspose moves elements of any type.
func evalTranspose(c *ir.Call) error {
	switch c.Out[0].DType() {
	case tensor.F32:
		return transpose(c, (*tensor.Tensor).Float32)
	case tensor.F64:
		return transpose(c, (*tensor.Tensor).Float64)
	case tensor.F16, tensor.BF16:
		return transpose(c, (*tensor.Tensor).Bits16)
	case tensor.I64:
		return transpose(c, (*tensor.Tensor).Int64)
	case tensor.I32:
		return transpose(c, (*tensor.Tensor).Int32)
	}
	return transpose(c, (*tensor.Tensor).Bool)
}

// transpose writes the result in order, reading x through permuted strides.
func transpose[T any](c *ir.Call, storage func(*tensor.Tensor) []T) error {
	x, out := c.In[0], c.Out[0]
	perm, err := permutation(c.Node, x.Rank())
	if err != nil {
		return err
	}
	strides := make([]int, len(perm))
	dense := x.Strides()
	for i, p := range perm {
		strides[i] = dense[p]
	}
	w := stridedWalker(out.Shape(), strides)
	src, dst := storage(x), storage(out)
	return parallel(c, len(dst), 1<<14, func(lo, hi int) error {
		stop := stopper{call: c}
		for ; lo < hi; lo += blockSize {
			end := min(lo+blockSize, hi)
			load(&w, src, dst[lo:end], lo, end)
			if err := stop.did(blockSize); err != nil {
				return err
			}
		}
		return nil
	})
}

package onnx

import (
	"slices"

	"forgekernel/forge/ir"
)

var _ = register(map[string]operator{
	"MatMul": {1, matMul}, "Gemm": {7, gemm}, "Einsum": {12, einsum},
	"com.microsoft.FusedMatMul": {1, fusedMatMul},
})

func matMul(c *call) { c.set(0, c.matMul(c.arg(0), c.arg(1))) }

// matMul multiplies as NumPy does: a vector is a row on the left and a column on
// the right, and its dimension is left out of the result.
func (c *call) matMul(a, b *ir.Value) *ir.Value {
	row, column := a.Spec.Rank() == 1, b.Spec.Rank() == 1
	if row {
		a = c.Reshape(a, 1, a.Spec.Shape[0])
	}
	if column {
		b = c.Reshape(b, b.Spec.Shape[0], 1)
	}
	v := c.Op("matmul", nil, a, b)
	shape := slices.Clone(v.Spec.Shape)
	last := len(shape) - 1
	if column {
		shape = slices.Delete(shape, last, last+1)
	}
	if row {
		shape = slices.Delete(shape, last-1, last)
	}
	return c.Reshape(v, shape...)
}

// swap exchanges the last two dimensions.
func (c *call) swap(v *ir.Value) *ir.Value {
	perm := make([]int, v.Spec.Rank())
	for i := range perm {
		perm[i] = i
	}
	n := len(perm)
	if n < 2 {
		c.Fail("%v has no two dimensions to exchange", v.Spec)
	}
	perm[n-2], perm[n-1] = n-1, n-2
	return c.Transpose(v, perm...)
}

// gemm is alpha A B + beta C.
func gemm(c *call) {
	a, b := c.arg(0), c.arg(1)
	if c.flag("transA", false) {
		a = c.swap(a)
	}
	if c.flag("transB", false) {
		b = c.swap(b)
	}
	v := c.Op("matmul", nil, a, b)
	if alpha := c.float("alpha", 1); alpha != 1 {
		v = c.Scale(v, alpha)
	}
	if beta := c.float("beta", 1); c.has(2) && beta != 0 {
		bias := c.arg(2)
		if beta != 1 {
			bias = c.Scale(bias, beta)
		}
		v = c.Add(v, bias)
	}
	c.set(0, v)
}

func fusedMatMul(c *call) {
	a, b := c.arg(0), c.arg(1)
	if c.flag("transA", false) {
		a = c.swap(a)
	}
	if c.flag("transB", false) {
		b = c.swap(b)
	}
	if c.flag("transBatchA", false) || c.flag("transBatchB", false) {
		c.unsupportedf("batches that are transposed")
		return
	}
	v := c.matMul(a, b)
	if alpha := c.float("alpha", 1); alpha != 1 {
		v = c.Scale(v, alpha)
	}
	c.set(0, v)
}

func einsum(c *call) {
	operands := c.args()
	c.set(0, c.Einsum(c.str("equation", ""), operands...))
}

package onnx

import (
	"regexp"
	"slices"
	"strings"

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
		a = c.reshape(a, 1, a.Spec.Shape[0])
	}
	if column {
		b = c.reshape(b, b.Spec.Shape[0], 1)
	}
	v := c.op("matmul", nil, a, b)
	shape := slices.Clone(v.Spec.Shape)
	last := len(shape) - 1
	if column {
		shape = slices.Delete(shape, last, last+1)
	}
	if row {
		shape = slices.Delete(shape, last-1, last)
	}
	return c.reshape(v, shape...)
}

// swap exchanges the last two dimensions.
func (c *call) swap(v *ir.Value) *ir.Value {
	perm := make([]int, v.Spec.Rank())
	for i := range perm {
		perm[i] = i
	}
	n := len(perm)
	if n < 2 {
		c.fail("%v has no two dimensions to exchange", v.Spec)
	}
	perm[n-2], perm[n-1] = n-1, n-2
	return c.transpose(v, perm...)
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
	v := c.op("matmul", nil, a, b)
	if alpha := c.float("alpha", 1); alpha != 1 {
		v = c.scale(v, alpha)
	}
	if beta := c.float("beta", 1); c.has(2) && beta != 0 {
		bias := c.arg(2)
		if beta != 1 {
			bias = c.scale(bias, beta)
		}
		v = c.add(v, bias)
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
		v = c.scale(v, alpha)
	}
	c.set(0, v)
}

// MaxTerms is the number of operands of an Einsum.
const MaxTerms = 64

var einsumTerm = regexp.MustCompile(`^[A-Za-z]*(\.\.\.)?[A-Za-z]*$`)

// einsum multiplies operands with named dimensions and sums over those that the
// result does not name.
func einsum(c *call) {
	equation := strings.ReplaceAll(c.str("equation", ""), " ", "")
	left, right, explicit := strings.Cut(equation, "->")
	terms := strings.Split(left, ",")
	for _, t := range append(slices.Clone(terms), right) {
		if !einsumTerm.MatchString(t) {
			c.fail("equation %q: %q is no term of letters and at most one ellipsis", equation, t)
		}
	}
	if len(terms) != len(c.in) || len(terms) > MaxTerms {
		c.fail("equation %q has %d terms for %d operands; at most %d are supported", equation, len(terms), len(c.in), MaxTerms)
	}
	e := &contraction{call: c, lengths: make(map[rune]int)}
	for i, t := range terms {
		e.add(t, c.arg(i))
	}
	if !explicit {
		right = e.implicit(left)
	}
	c.set(0, e.finish(e.expandDots(right)))
}

package onnx

import (
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]operator{
	"BitShift": {11, bitShift}, "BitwiseNot": {18, bitwiseNot},
	"BitwiseAnd": {18, bitwise("mul")}, "BitwiseOr": {18, bitwise("maximum")}, "BitwiseXor": {18, bitwise("ne")},
})

// bitShift multiplies or divides by a power of two. A shift by all bits or more
// leaves nothing.
func bitShift(c *call) {
	elem := c.typed(0, proto.Uint8, proto.Uint16, proto.Uint32, proto.Uint64)
	x, by := c.Cast(c.arg(0), tensor.I64), c.Cast(c.arg(1), tensor.I64)
	direction := c.str("direction", "")
	c.oneOf("direction", direction, "LEFT", "RIGHT")
	n := bits[elem]
	at := c.Op("maximum", nil, c.Op("minimum", nil, by, c.Number(by, float64(n-1))), c.Number(by, 0))
	power := c.Op("gather", nil, c.powersOfTwo(n), at)
	y := c.Div(x, power)
	if direction == "LEFT" {
		y = c.Mul(x, power)
	}
	y = c.Where(c.Compare("lt", by, float64(n)), y, c.Number(y, 0))
	if n < 64 && direction == "LEFT" {
		y = c.wrap(y, elem)
	}
	c.setAs(0, c.Cast(y, held[elem]), elem)
}

// bitwiseNot is -1 - x, of an unsigned type the largest number - x.
func bitwiseNot(c *call) {
	elem, x := c.elemOf(0), c.arg(0)
	top := -1.0
	if unsigned[elem] {
		_, top = limits(elem)
	}
	if elem == proto.Uint64 || bits[elem] == 0 {
		c.unsupportedf("the complement of %v", elem)
		return
	}
	c.setAs(0, c.Sub(c.Number(x, top), x), elem)
}

// bitwise takes numbers apart into bits, along a new last dimension, combines those
// by an operator and puts numbers together again.
func bitwise(combine string) func(*call) {
	return func(c *call) {
		elem := c.elemOf(0)
		n := bits[elem]
		if n == 0 {
			c.unsupportedf("bits of %v", elem)
			return
		}
		v := c.Cast(c.Op(combine, nil, c.bitsOf(0, n), c.bitsOf(1, n)), tensor.I64)
		v = c.Op("sum", ir.Attrs{"axes": []int64{-1}}, c.Mul(v, c.powersOfTwo(n)))
		if n < 64 && !unsigned[elem] {
			v = c.wrap(v, elem)
		}
		c.setAs(0, c.Cast(v, held[elem]), elem)
	}
}

// bitsOf are the lowest n bits of operand i, in two's complement.
func (c *call) bitsOf(i, n int) *ir.Value {
	v := c.Cast(c.arg(i), tensor.I64)
	v = c.Reshape(v, append(slices.Clone(v.Spec.Shape), 1)...)
	low := c.floorDiv(v, c.powersOfTwo(min(n, maxShift+1)))
	low = c.Sub(low, c.Scale(c.floorDiv(low, c.Number(low, 2)), 2))
	if n <= maxShift+1 {
		return low
	}
	sign := c.Cast(c.Compare("lt", v, 0), tensor.I64)
	return c.Op("concat", ir.Attrs{"axis": v.Spec.Rank() - 1}, low, sign)
}

// maxShift is the exponent of the largest power of two that an int64 holds.
const maxShift = 62

// powersOfTwo is the constant 1, 2, 4, … of n elements.
func (c *call) powersOfTwo(n int) *ir.Value {
	list := make([]int64, n)
	for i := range list {
		list[i] = 1 << min(i, maxShift)
	}
	if n == 64 {
		list[63] = math.MinInt64
	}
	return c.Constant(tensor.From([]int{n}, list))
}

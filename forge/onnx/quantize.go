package onnx

import (
	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]operator{
	"QuantizeLinear": {10, quantizeLinear}, "DequantizeLinear": {10, dequantizeLinear}, "DynamicQuantizeLinear": {11, dynamicQuantizeLinear},
	"MatMulInteger": {10, matMulInteger}, "ConvInteger": {10, convInteger}, "QLinearMatMul": {10, qlinearMatMul}, "QLinearConv": {10, qlinearConv},
	"com.microsoft.QuantizeLinear": {1, quantizeLinear}, "com.microsoft.DequantizeLinear": {1, dequantizeLinear},
	"com.microsoft.QLinearAdd": {1, qlinearBinary("add")}, "com.microsoft.QLinearMul": {1, qlinearBinary("mul")},
	"com.microsoft.MatMulIntegerToFloat": {1, matMulIntegerToFloat}, "com.microsoft.DynamicQuantizeMatMul": {1, dynamicQuantizeMatMul},
})

// A quantised number q stands for (q - zero) * scale. Sums of products of those are
// exact: in f32 while they stay below 2^24, in f64 below 2^53.

// perAxis gives a vector of scales or zeros the shape that broadcasts along an axis.
func (c *call) perAxis(v *ir.Value, axis, rank int) *ir.Value {
	if v.Spec.Elements() == 1 {
		return c.Reshape(v)
	}
	if v.Spec.Rank() != 1 {
		c.Fail("scales %v are neither one number nor a vector", v.Spec)
	}
	return c.Reshape(v, c.shapeAlong(axis, rank, v.Spec.Elements())...)
}

// quantAxis is the axis of scales, operand i, of operand 0.
func (c *call) quantAxis(i int) int {
	if c.int("block_size", 0) != 0 {
		c.Fail("scales of blocks are not supported; those of a tensor or an axis are")
	}
	if formula.Product(c.shape(i)) == 1 {
		return 0
	}
	return c.Axis(c.int("axis", 1), c.rank(0))
}

func quantizeLinear(c *call) {
	to := proto.DataType(c.int("output_dtype", int64(proto.Uint8)))
	if c.has(2) {
		to = c.typed(2, proto.Uint8, proto.Int8, proto.Uint16, proto.Int16)
	}
	if bits[to] == 0 || bits[to] > 16 {
		c.unsupportedf("quantised elements of type %v", to)
		return
	}
	axis, rank := c.quantAxis(1), c.rank(0)
	dtype := c.floatAttr("precision", c.dtype(1))
	x, scale := c.Cast(c.arg(0), dtype), c.Cast(c.arg(1), dtype)
	var zero *ir.Value
	if c.has(2) {
		zero = c.perAxis(c.arg(2), axis, rank)
	}
	c.setAs(0, c.quantize(c.Div(x, c.perAxis(scale, axis, rank)), zero, to), to)
}

// floatAttr is a type of floats that an attribute names, if it does.
func (c *call) floatAttr(name string, absent tensor.DType) tensor.DType {
	n := c.int(name, 0)
	if n == 0 {
		return absent
	}
	dtype, err := dtypeOf(proto.DataType(n))
	c.Check(err)
	if !dtype.IsFloat() {
		c.Fail("%s is %v, which is no type of floats", name, proto.DataType(n))
	}
	return dtype
}

// quantize rounds numbers that are in units of the scale, to even when they are
// halfway, and adds the zero.
func (c *call) quantize(x, zero *ir.Value, to proto.DataType) *ir.Value {
	x = c.Op("round", nil, x)
	if zero != nil {
		x = c.Add(x, c.Cast(zero, x.Spec.DType))
	}
	return c.saturate(x, to)
}

func dequantizeLinear(c *call) {
	axis, rank := c.quantAxis(1), c.rank(0)
	c.typed(0, proto.Uint8, proto.Int8, proto.Uint16, proto.Int16, proto.Int32)
	x := c.arg(0)
	if c.has(2) {
		x = c.Sub(x, c.perAxis(c.arg(2), axis, rank))
	}
	scale := c.arg(1)
	y := c.Mul(c.Cast(x, scale.Spec.DType), c.perAxis(scale, axis, rank))
	c.set(0, c.Cast(y, c.floatAttr("output_dtype", scale.Spec.DType)))
}

// dynamicQuantizeLinear takes scale and zero from the range of the operand.
func dynamicQuantizeLinear(c *call) {
	y, scale, zero := c.dynamicQuantize(c.arg(0))
	c.setAs(0, y, proto.Uint8)
	c.set(1, scale)
	c.setAs(2, zero, proto.Uint8)
}

func (c *call) dynamicQuantize(x *ir.Value) (y, scale, zero *ir.Value) {
	low := c.Op("minimum", nil, c.Op("min", nil, x), c.Number(x, 0))
	high := c.Op("maximum", nil, c.Op("max", nil, x), c.Number(x, 0))
	scale = c.Div(c.Sub(high, low), c.Number(x, 255))
	// A tensor of zeros has scale 0 and stays zero.
	divisor := c.Where(c.Compare("eq", scale, 0), c.Number(scale, 1), scale)
	zero = c.saturate(c.Op("round", nil, c.Div(c.Op("neg", nil, low), divisor)), proto.Uint8)
	return c.quantize(c.Div(x, divisor), zero, proto.Uint8), scale, zero
}

// centred is operand i less its zero, operand z, whose vectors are along an axis of
// it; in a float type in which sums of n products are exact.
func (c *call) centred(i, z, axis, n int) *ir.Value {
	c.typed(i, proto.Uint8, proto.Int8)
	return c.lessZero(c.arg(i), z, axis, n)
}

func (c *call) lessZero(v *ir.Value, z, axis, n int) *ir.Value {
	if c.has(z) {
		v = c.Sub(v, c.perAxis(c.arg(z), axis, v.Spec.Rank()))
	}
	if n <= (1<<24)/(255*255) {
		return c.Cast(v, tensor.F32)
	}
	return c.Cast(v, tensor.F64)
}

// integerMatMul multiplies operands a and b less their zeros, which may be those of
// the rows of a and the columns of b. The sums are in a float type.
func (c *call) integerMatMul(a, az, b, bz int) *ir.Value {
	as, bs := c.ranked(a, 1, tensor.MaxRank), c.ranked(b, 1, tensor.MaxRank)
	k := as[len(as)-1]
	return c.matMul(c.centred(a, az, max(0, len(as)-2), k), c.centred(b, bz, len(bs)-1, k))
}

func matMulInteger(c *call) { c.set(0, c.Cast(c.integerMatMul(0, 2, 1, 3), tensor.I32)) }

// integerConv is the convolution of operands x and w less their zeros.
func (c *call) integerConv(x, xz, w, wz int) *ir.Value {
	rank := len(c.ranked(x, 3, tensor.MaxRank))
	ws := c.ranked(w, rank, rank)
	taps := formula.Product(ws[1:])
	win := c.convWindow(ws)
	return c.Convolve(c.centred(x, xz, 0, taps), c.centred(w, wz, 0, taps), nil, win, c.small("group", 1, 1))
}

func convInteger(c *call) { c.set(0, c.Cast(c.integerConv(0, 2, 1, 3), tensor.I32)) }

// requantize scales exact sums, in units of the product of two scales, to those of a
// result. The factors are multiplied in f32, as runtimes do.
func (c *call) requantize(sum, a, b, y, zero *ir.Value, to proto.DataType) *ir.Value {
	factor := c.Div(c.Mul(a, b), y)
	return c.quantize(c.Mul(c.Cast(sum, tensor.F32), factor), zero, to)
}

func qlinearMatMul(c *call) {
	to := c.typed(7, proto.Uint8, proto.Int8)
	sum := c.integerMatMul(0, 2, 3, 5)
	rank := c.rank(0)
	scale := func(i, axis, rank int) *ir.Value { return c.perAxis(c.Cast(c.arg(i), tensor.F32), axis, rank) }
	y := c.requantize(sum, scale(1, max(0, rank-2), rank), scale(4, c.rank(3)-1, c.rank(3)), c.Reshape(c.Cast(c.arg(6), tensor.F32)), c.Reshape(c.arg(7)), to)
	c.setAs(0, y, to)
}

func qlinearConv(c *call) {
	to := c.typed(7, proto.Uint8, proto.Int8)
	sum := c.integerConv(0, 2, 3, 5)
	rank := sum.Spec.Rank()
	if c.has(8) {
		sum = c.Add(c.Cast(sum, tensor.F64), c.perChannel(c.Cast(c.arg(8), tensor.F64), rank))
	}
	w := c.arg(4)
	if w.Spec.Elements() > 1 {
		w = c.perChannel(w, rank)
	}
	c.setAs(0, c.requantize(sum, c.Reshape(c.arg(1)), c.reshapeScalar(w), c.Reshape(c.arg(6)), c.Reshape(c.arg(7)), to), to)
}

// reshapeScalar makes a vector of one element a scalar.
func (c *call) reshapeScalar(v *ir.Value) *ir.Value {
	if v.Spec.Elements() == 1 {
		return c.Reshape(v)
	}
	return v
}

// qlinearBinary dequantises two operands of three parts each, computes and quantises
// the result.
func qlinearBinary(name string) func(*call) {
	return func(c *call) {
		to := c.typed(0, proto.Uint8, proto.Int8)
		real := func(i int) *ir.Value {
			return c.Mul(c.lessZero(c.arg(i), i+2, 0, 1), c.Reshape(c.arg(i+1)))
		}
		v := c.Op(name, nil, real(0), real(3))
		var zero *ir.Value
		if c.has(7) {
			zero = c.Reshape(c.arg(7))
		}
		c.setAs(0, c.quantize(c.Div(v, c.Reshape(c.arg(6))), zero, to), to)
	}
}

// matMulIntegerToFloat has the operands a, b, their scales, their zeros and a bias.
func matMulIntegerToFloat(c *call) {
	sum := c.Cast(c.integerMatMul(0, 4, 1, 5), tensor.F32)
	v := c.Mul(sum, c.Mul(c.Reshape(c.arg(2)), c.perAxis(c.arg(3), c.rank(1)-1, c.rank(1))))
	if c.has(6) {
		v = c.Add(v, c.arg(6))
	}
	c.set(0, v)
}

// dynamicQuantizeMatMul quantises a by its range and multiplies it by b, of which
// scale and zero are given.
func dynamicQuantizeMatMul(c *call) {
	a, scale, zero := c.dynamicQuantize(c.arg(0))
	shape := c.ranked(0, 1, tensor.MaxRank)
	k := shape[len(shape)-1]
	columns := len(c.ranked(1, 1, tensor.MaxRank)) - 1
	b := c.centred(1, 3, columns, k)
	a = c.Cast(c.Sub(a, zero), b.Spec.DType)
	v := c.Mul(c.Cast(c.matMul(a, b), tensor.F32), c.Mul(scale, c.perAxis(c.arg(2), columns, columns+1)))
	if c.has(4) {
		v = c.Add(v, c.arg(4))
	}
	c.set(0, v)
}

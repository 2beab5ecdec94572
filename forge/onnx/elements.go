package onnx

import (
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

// Integers of few bits, and unsigned ones, are held in a larger type. A value keeps
// the type that the file gives it, so that arithmetic wraps around and conversions
// saturate where those of the file do.

// elemOf is the type of a file of operand i.
func (c *call) elemOf(i int) proto.DataType { return c.operand(i).element() }

// element is the type that the file gives the elements, which is the one that they
// are held in unless something else is known.
func (v *value) element() proto.DataType {
	if v.elem != proto.UndefinedType {
		return v.elem
	}
	return natural[v.dtype()]
}

// natural are the file's types that are held as they are.
var natural = map[tensor.DType]proto.DataType{
	tensor.F32: proto.Float, tensor.F64: proto.Double, tensor.F16: proto.Float16, tensor.BF16: proto.BFloat16,
	tensor.I64: proto.Int64, tensor.I32: proto.Int32, tensor.Bool: proto.Bool,
}

// bits are the widths of the integer types; unsigned ones are in unsigned.
var bits = map[proto.DataType]int{
	proto.Uint8: 8, proto.Int8: 8, proto.Uint16: 16, proto.Int16: 16, proto.Uint32: 32, proto.Int32: 32, proto.Uint64: 64, proto.Int64: 64,
}

var unsigned = map[proto.DataType]bool{proto.Uint8: true, proto.Uint16: true, proto.Uint32: true, proto.Uint64: true}

// limits are the ends of an integer type, as far as its values are held.
func limits(t proto.DataType) (low, high float64) {
	switch n := bits[t]; {
	case n == 64:
		return math.MinInt64, math.MaxInt64
	case unsigned[t]:
		return 0, math.Ldexp(1, n) - 1
	default:
		return -math.Ldexp(1, n-1), math.Ldexp(1, n-1) - 1
	}
}

// typedBy is the operand that gives the results their type where it is not the
// first; -1 where none does.
var typedBy = map[string]int{
	"Where": 1, "OneHot": 2, "Shape": -1, "Size": -1, "ArgMax": -1, "ArgMin": -1, "NonZero": -1, "If": -1, "Loop": -1, "Scan": -1, "Cast": -1, "CastLike": -1,
}

// wrapping are the operators whose integer results wrap around.
var wrapping = map[string]bool{
	"Add": true, "Sub": true, "Mul": true, "Div": true, "Neg": true, "Abs": true, "Pow": true, "Sum": true, "ReduceSum": true, "ReduceProd": true,
	"ReduceSumSquare": true, "ReduceL1": true, "CumSum": true, "CumProd": true, "Einsum": true, "BitShift": true, "BitwiseNot": true,
}

// typeOutputs gives the results of a node that were not given one the file's type of
// an operand, and brings those of arithmetic into its range.
func (c *call) typeOutputs() {
	from, named := typedBy[c.node.Op]
	if c.node.Domain != "" || named && from < 0 || !c.has(from) || c.in[from].missing {
		return
	}
	elem := c.elemOf(from)
	for i, v := range c.out {
		indices := i == 1 && (c.node.Op == "TopK" || c.node.Op == "MaxPool")
		if v == nil || v.missing || indices || v.elem != proto.UndefinedType || elem == natural[v.dtype()] || held[elem] != v.dtype() {
			continue
		}
		if wrapping[c.node.Op] && v.known == nil && bits[elem] < 64 {
			v = &value{computed: c.wrap(v.computed, elem)}
			c.out[i] = v
		}
		v.elem = elem
	}
}

// setAs makes a value of the program output i, of a type of the file.
func (c *call) setAs(i int, v *ir.Value, elem proto.DataType) {
	if i < len(c.out) {
		c.out[i] = &value{computed: v, elem: elem}
	}
}

// floorDiv rounds the quotient of integers down, where the operator truncates. The
// divisor is positive.
func (c *call) floorDiv(a, b *ir.Value) *ir.Value {
	q := c.Div(a, b)
	return c.Where(c.Op("gt", nil, c.Mul(q, b), a), c.Shift(q, -1), q)
}

// wrap keeps the bits of integers that fit into a type of at most 32.
func (c *call) wrap(v *ir.Value, elem proto.DataType) *ir.Value {
	low, _ := limits(elem)
	dtype := v.Spec.DType
	if bits[elem] == 32 {
		v = c.Cast(v, tensor.I64)
	}
	size := c.Number(v, math.Ldexp(1, bits[elem]))
	from := v
	if low != 0 {
		from = c.Shift(v, -low)
	}
	v = c.Sub(v, c.Mul(c.floorDiv(from, size), size))
	return c.Cast(v, dtype)
}

// saturate brings numbers into the range of an integer type, and into the type that
// holds it.
func (c *call) saturate(v *ir.Value, elem proto.DataType) *ir.Value {
	if bits[elem] < 32 || elem == proto.Uint32 {
		low, high := limits(elem)
		v = c.Op("minimum", nil, c.Op("maximum", nil, v, c.Number(v, low)), c.Number(v, high))
	}
	return c.Cast(v, held[elem])
}

// convert casts as ONNX does: integers lose the bits that do not fit, and floats
// saturate, for which the standard leaves the result open.
func (c *call) convert(v *value, x *ir.Value, to proto.DataType) *ir.Value {
	from := v.element()
	if bits[to] == 0 || from == proto.Bool {
		return c.Cast(x, held[to])
	}
	if bits[from] == 0 {
		return c.toInteger(x, to)
	}
	fromLow, fromHigh := limits(from)
	low, high := limits(to)
	if fromLow >= low && fromHigh <= high || bits[to] == 64 {
		return c.Cast(x, held[to])
	}
	return c.Cast(c.wrap(x, to), held[to])
}

// toInteger truncates floats and saturates; what is no number gives 0.
func (c *call) toInteger(x *ir.Value, to proto.DataType) *ir.Value {
	if bits[to] == 64 || to == proto.Int32 {
		return c.Cast(x, held[to])
	}
	return c.Cast(c.saturate(c.Cast(x, tensor.I64), to), held[to])
}

// castTo converts to the type that an attribute names.
func castTo(c *call) { c.convertTo(proto.DataType(c.int("to", 0))) }

func castLike(c *call) { c.convertTo(c.elemOf(1)) }

func (c *call) convertTo(to proto.DataType) {
	if _, err := dtypeOf(to); err != nil {
		c.unsupportedf("%v", err)
		return
	}
	c.setAs(0, c.convert(c.operand(0), c.arg(0), to), to)
}

// typed is the type of operand i, which must be one of some.
func (c *call) typed(i int, types ...proto.DataType) proto.DataType {
	elem := c.elemOf(i)
	if !slices.Contains(types, elem) {
		c.Fail("operand %d is %v; supported are %v", i, elem, types)
	}
	return elem
}

package pt2

import (
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]func(*call){
	"aten.eq.Tensor": compare("eq"), "aten.eq.Scalar": compare("eq"), "aten.ne.Tensor": compare("ne"), "aten.ne.Scalar": compare("ne"),
	"aten.lt.Tensor": compare("lt"), "aten.lt.Scalar": compare("lt"), "aten.le.Tensor": compare("le"), "aten.le.Scalar": compare("le"),
	"aten.gt.Tensor": compare("gt"), "aten.gt.Scalar": compare("gt"), "aten.ge.Tensor": compare("ge"), "aten.ge.Scalar": compare("ge"),
	"aten.logical_and.default": logical("and"), "aten.logical_or.default": logical("or"), "aten.logical_xor.default": logical("ne"), "aten.logical_not.default": logicalNot,
	"aten.bitwise_and.Tensor": bitwise("and"), "aten.bitwise_or.Tensor": bitwise("or"), "aten.bitwise_xor.Tensor": bitwise("ne"), "aten.bitwise_not.default": bitwiseNot,
	"aten.__and__.Tensor": bitwise("and"), "aten.__or__.Tensor": bitwise("or"), "aten.__xor__.Tensor": bitwise("ne"),
	"aten.isnan.default": isNaN, "aten.isinf.default": isInf,
	"aten.where.self": where, "aten.where.ScalarSelf": where, "aten.where.ScalarOther": where, "aten.where.Scalar": where,
	"aten.masked_fill.Scalar": maskedFill, "aten.masked_fill.Tensor": maskedFill,
})

var _ = registerViews(map[string]func(*call){
	"aten.to.dtype": to("self"), "aten._to_copy.default": to("self"), "aten.to.dtype_layout": to("self"), "aten.to.device": to("self"), "prims.convert_element_type.default": to("a"),
	"aten.type_as.default": typeAs,
})

func compare(name string) func(*call) {
	return func(c *call) {
		a, b := c.pair()
		if a.Spec.DType == tensor.Bool && name != "eq" && name != "ne" {
			a, b = c.Cast(a, tensor.I32), c.Cast(b, tensor.I32)
		}
		c.set(0, c.Op(name, nil, a, b))
	}
}

// truth is whether elements differ from zero.
func (c *call) truth(v *ir.Value) *ir.Value { return c.Cast(v, tensor.Bool) }

func logical(name string) func(*call) {
	return func(c *call) { c.set(0, c.Op(name, nil, c.truth(c.tensor("self")), c.truth(c.tensor("other")))) }
}

func logicalNot(c *call) { c.set(0, c.Op("not", nil, c.truth(c.tensor("self")))) }

// bitwise is supported for bools.
func bitwise(name string) func(*call) {
	return func(c *call) {
		a, b := c.pair()
		if a.Spec.DType != tensor.Bool {
			c.refusef("operands of %v; bools are supported", a.Spec.DType)
			return
		}
		c.set(0, c.Op(name, nil, a, b))
	}
}

// bitwiseNot of an integer is -x - 1.
func bitwiseNot(c *call) {
	x := c.tensor("self")
	if x.Spec.DType == tensor.Bool {
		c.set(0, c.Op("not", nil, x))
		return
	}
	c.set(0, c.Sub(c.Op("neg", nil, x), c.Number(x, 1)))
}

func isNaN(c *call) {
	x := c.tensor("self")
	c.set(0, c.IsNaN(x))
}

func isInf(c *call) {
	x := c.tensor("self")
	if !x.Spec.DType.IsFloat() {
		x = c.Cast(x, tensor.F32)
	}
	c.set(0, c.IsInf(x))
}

func where(c *call) {
	a, b := c.either("self"), c.either("other")
	dtype := common(a, b)
	c.set(0, c.Where(c.truth(c.tensor("condition")), c.as(a, dtype), c.as(b, dtype)))
}

func maskedFill(c *call) {
	x := c.tensor("self")
	c.set(0, c.Where(c.truth(c.tensor("mask")), c.as(c.either("value"), x.Spec.DType), x))
}

// to converts, or passes a tensor that has the type.
func to(operand string) func(*call) {
	return func(c *call) {
		v := c.value(operand)
		if dtype, ok := c.element("dtype"); ok && dtype != v.dtype() {
			c.set(0, c.Cast(c.program(v), dtype))
			return
		}
		c.out[0] = v
	}
}

func typeAs(c *call) { c.set(0, c.Cast(c.tensor("self"), c.value("other").dtype())) }

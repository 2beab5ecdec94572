package pt2

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]func(*call){
	"aten.abs.default": same("abs"), "aten.neg.default": same("neg"), "aten.floor.default": rounded("floor"), "aten.ceil.default": rounded("ceil"),
	"aten.round.default": rounded("round"), "aten.trunc.default": truncate, "aten.sign.default": sign,
	"aten.exp.default": float("exp"), "aten.log.default": float("log"), "aten.sqrt.default": float("sqrt"), "aten.rsqrt.default": float("rsqrt"),
	"aten.erf.default": float("erf"), "aten.sin.default": float("sin"), "aten.cos.default": float("cos"), "aten.atan.default": float("atan"),
	"aten.tanh.default": float("tanh"), "aten.sigmoid.default": float("sigmoid"),
	"aten.reciprocal.default": formulaOf(func(c *call, x *ir.Value) *ir.Value { return c.Div(c.Number(x, 1), x) }),
	"aten.square.default":     func(c *call) { x := c.tensor("self"); c.set(0, c.Mul(x, x)) },
	"aten.tan.default":        formulaOf(func(c *call, x *ir.Value) *ir.Value { return c.Div(c.Op("sin", nil, x), c.Op("cos", nil, x)) }),
	"aten.expm1.default":      formulaOf(func(c *call, x *ir.Value) *ir.Value { return c.ExpMinusOne(x) }),
	"aten.log1p.default":      formulaOf(func(c *call, x *ir.Value) *ir.Value { return c.Op("log", nil, c.Shift(x, 1)) }),
	"aten.log2.default":       formulaOf(func(c *call, x *ir.Value) *ir.Value { return c.Scale(c.Op("log", nil, x), 1/math.Ln2) }),

	"aten.add.Tensor": addScaled(1), "aten.add.Scalar": addScaled(1), "aten.sub.Tensor": addScaled(-1), "aten.sub.Scalar": addScaled(-1), "aten.rsub.Scalar": rsub, "aten.rsub.Tensor": rsub,
	"aten.mul.Tensor": binary("mul"), "aten.mul.Scalar": binary("mul"),
	"aten.maximum.default": binary("maximum"), "aten.minimum.default": binary("minimum"), "aten.max.other": binary("maximum"), "aten.min.other": binary("minimum"),
	"aten.div.Tensor": divide, "aten.div.Scalar": divide, "aten.div.Tensor_mode": divideRounded, "aten.div.Scalar_mode": divideRounded,
	"aten.floor_divide.default": floorDivide, "aten.remainder.Tensor": remainder, "aten.remainder.Scalar": remainder, "aten.fmod.Scalar": fmod, "aten.fmod.Tensor": fmod,
	"aten.pow.Tensor_Scalar": pow, "aten.pow.Tensor_Tensor": pow, "aten.pow.Scalar": pow,
	"aten.clamp.default": clamp("min", "max"), "aten.clamp.Tensor": clamp("min", "max"), "aten.clamp_min.default": clamp("min", ""), "aten.clamp_max.default": clamp("", "max"),
	"aten.hardtanh.default": hardtanh, "aten.addcmul.default": addcmul, "aten.addcdiv.default": addcdiv, "aten.lerp.Scalar": lerp,
})

// unary is a function of the argument self.
func unary(of func(c *call, x *ir.Value) *ir.Value) func(*call) {
	return func(c *call) { c.set(0, of(c, c.tensor("self"))) }
}

// same imports an operator as the one of that name.
func same(name string) func(*call) {
	return unary(func(c *call, x *ir.Value) *ir.Value { return c.Op(name, nil, x) })
}

// formulaOf computes in floats.
func formulaOf(of func(c *call, x *ir.Value) *ir.Value) func(*call) {
	return unary(func(c *call, x *ir.Value) *ir.Value { return of(c, c.Cast(x, floating(x.Spec.DType))) })
}

// float is an operator that gives floats.
func float(name string) func(*call) {
	return formulaOf(func(c *call, x *ir.Value) *ir.Value { return c.Op(name, nil, x) })
}

// rounded leaves integers as they are.
func rounded(name string) func(*call) {
	return func(c *call) {
		x := c.tensor("self")
		if !x.Spec.DType.IsFloat() {
			c.out[0] = c.value("self")
			return
		}
		c.set(0, c.Op(name, nil, x))
	}
}

func truncate(c *call) {
	x := c.tensor("self")
	if !x.Spec.DType.IsFloat() {
		c.out[0] = c.value("self")
		return
	}
	c.set(0, c.Truncate(x))
}

// sign gives 0 for NaN, as PyTorch does.
func sign(c *call) {
	x := c.tensor("self")
	above, below := c.Cast(c.Compare("gt", x, 0), x.Spec.DType), c.Cast(c.Compare("lt", x, 0), x.Spec.DType)
	c.set(0, c.Sub(above, below))
}

// pair is the arguments self and other in their common type.
func (c *call) pair() (a, b *ir.Value) {
	x, y := c.either("self"), c.either("other")
	dtype := common(x, y)
	return c.as(x, dtype), c.as(y, dtype)
}

// binary imports an operator as the one of that name; mul of bools is and.
func binary(name string) func(*call) {
	return func(c *call) {
		a, b := c.pair()
		switch {
		case a.Spec.DType != tensor.Bool:
			c.set(0, c.Op(name, nil, a, b))
		case name == "mul" || name == "minimum":
			c.set(0, c.Op("and", nil, a, b))
		default:
			c.set(0, c.Op("or", nil, a, b))
		}
	}
}

// addScaled is self + sign alpha other.
func addScaled(sign float64) func(*call) {
	return func(c *call) {
		a, b := c.pair()
		alpha := 1.0
		if n := c.number("alpha"); n != nil {
			alpha = n.float()
		}
		switch {
		case a.Spec.DType == tensor.Bool:
			c.set(0, c.Op("or", nil, a, b))
			return
		case alpha != 1:
			b = c.Scale(b, alpha)
		}
		if sign < 0 {
			c.set(0, c.Sub(a, b))
			return
		}
		c.set(0, c.Add(a, b))
	}
}

// rsub is other - alpha self.
func rsub(c *call) {
	a, b := c.pair()
	if alpha := c.float("alpha", 1); alpha != 1 {
		a = c.Scale(a, alpha)
	}
	c.set(0, c.Sub(b, a))
}

// divide gives floats.
func divide(c *call) {
	a, b := c.pair()
	dtype := floating(a.Spec.DType)
	c.set(0, c.Div(c.Cast(a, dtype), c.Cast(b, dtype)))
}

func divideRounded(c *call) {
	switch mode := c.str("rounding_mode", ""); mode {
	case "":
		divide(c)
	case "floor":
		floorDivide(c)
	case "trunc":
		a, b := c.pair()
		q := c.Div(a, b)
		if q.Spec.DType.IsFloat() {
			q = c.Truncate(q)
		}
		c.set(0, q)
	default:
		c.Fail("rounding_mode %q is not supported", mode)
	}
}

// floorDivide subtracts the remainder first, so that the quotient is whole.
func floorDivide(c *call) {
	a, b := c.pair()
	q := c.Div(c.Sub(a, c.modulo(a, b)), b)
	if q.Spec.DType.IsFloat() {
		q = c.Op("round", nil, q)
	}
	c.set(0, q)
}

func remainder(c *call) { c.set(0, c.modulo(c.pair())) }

func fmod(c *call) { c.set(0, c.truncatedModulo(c.pair())) }

// truncatedModulo has the sign of a.
func (c *call) truncatedModulo(a, b *ir.Value) *ir.Value {
	q := c.Div(a, b)
	if a.Spec.DType.IsFloat() {
		q = c.Truncate(q)
	}
	return c.Sub(a, c.Mul(q, b))
}

// modulo has the sign of b, as Python's.
func (c *call) modulo(a, b *ir.Value) *ir.Value {
	r := c.truncatedModulo(a, b)
	negative := func(v *ir.Value) *ir.Value { return c.Compare("lt", v, 0) }
	wrong := c.Op("and", nil, c.Compare("ne", r, 0), c.Op("ne", nil, negative(r), negative(b)))
	return c.Where(wrong, c.Add(r, b), r)
}

// pow of integers is computed in f64, which is exact to 2^53.
func pow(c *call) {
	x, y := c.either("self"), c.either("exponent")
	dtype := common(x, y)
	a, b := c.as(x, dtype), c.as(y, dtype)
	if !dtype.IsFloat() {
		c.set(0, c.Cast(c.Op("pow", nil, c.Cast(a, tensor.F64), c.Cast(b, tensor.F64)), dtype))
		return
	}
	c.set(0, c.Op("pow", nil, a, b))
}

// clamp applies the bounds that are there. NaN stays.
func clamp(low, high string) func(*call) {
	return func(c *call) {
		list := []operand{{tensor: c.tensor("self")}}
		var ops []string
		for _, bound := range [][2]string{{low, "maximum"}, {high, "minimum"}} {
			if bound[0] != "" && c.has(bound[0]) {
				list, ops = append(list, c.either(bound[0])), append(ops, bound[1])
			}
		}
		dtype := common(list...)
		x := c.as(list[0], dtype)
		for i, op := range ops {
			x = c.Op(op, nil, x, c.as(list[1+i], dtype))
		}
		c.set(0, x)
	}
}

func hardtanh(c *call) {
	c.set(0, c.Clamp(c.tensor("self"), c.float("min_val", -1), c.float("max_val", 1)))
}

func addcmul(c *call) {
	p := c.Mul(c.tensor("tensor1"), c.tensor("tensor2"))
	if v := c.float("value", 1); v != 1 {
		p = c.Scale(p, v)
	}
	c.set(0, c.Add(c.tensor("self"), p))
}

func addcdiv(c *call) {
	q := c.Div(c.tensor("tensor1"), c.tensor("tensor2"))
	if v := c.float("value", 1); v != 1 {
		q = c.Scale(q, v)
	}
	c.set(0, c.Add(c.tensor("self"), q))
}

func lerp(c *call) {
	x := c.tensor("self")
	c.set(0, c.Add(x, c.Scale(c.Sub(c.tensor("end"), x), c.float("weight", 0))))
}

package onnx

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]operator{
	"Abs": {1, same("abs")}, "Neg": {1, same("neg")}, "Exp": {1, same("exp")}, "Log": {1, same("log")}, "Sqrt": {1, same("sqrt")},
	"Floor": {1, same("floor")}, "Ceil": {1, same("ceil")}, "Round": {11, same("round")}, "Erf": {9, same("erf")},
	"Reciprocal": {1, reciprocal}, "Sign": {9, sign},
	"Sin": {7, same("sin")}, "Cos": {7, same("cos")}, "Tan": {7, tan}, "Atan": {7, same("atan")}, "Asin": {7, asin}, "Acos": {7, acos},
	"Sinh": {9, sinh}, "Cosh": {9, cosh}, "Asinh": {9, asinh}, "Acosh": {9, acosh}, "Atanh": {9, atanh},
	"Add": {7, same("add")}, "Sub": {7, same("sub")}, "Mul": {7, same("mul")}, "Div": {7, same("div")}, "Pow": {7, pow}, "Mod": {10, mod},
	"Max": {1, chain("maximum")}, "Min": {1, chain("minimum")}, "Sum": {1, chain("add")}, "Mean": {1, mean},
	"Clip": {6, clip}, "Identity": {1, func(c *call) { c.pass(0) }}, "Dropout": {7, dropout},
})

// same imports an operator as the one of that name, which broadcasts as ONNX does.
func same(name string) func(*call) {
	return func(c *call) { c.set(0, c.op(name, nil, c.args()...)) }
}

// chain folds variadic operands from the left.
func chain(name string) func(*call) {
	return func(c *call) { c.set(0, c.foldLeft(name)) }
}

func (c *call) foldLeft(name string) *ir.Value {
	list := c.args()
	if len(list) == 0 {
		c.fail("there are no operands")
	}
	v := list[0]
	for _, u := range list[1:] {
		v = c.op(name, nil, v, u)
	}
	return v
}

func mean(c *call) {
	v := c.foldLeft("add")
	c.set(0, c.op("div", nil, v, c.number(v, float64(len(c.in)))))
}

// Short names for formulas.
func (c *call) add(a, b *ir.Value) *ir.Value { return c.op("add", nil, a, b) }
func (c *call) sub(a, b *ir.Value) *ir.Value { return c.op("sub", nil, a, b) }
func (c *call) mul(a, b *ir.Value) *ir.Value { return c.op("mul", nil, a, b) }
func (c *call) div(a, b *ir.Value) *ir.Value { return c.op("div", nil, a, b) }

// scale and shift take a number instead of a value.
func (c *call) scale(a *ir.Value, by float64) *ir.Value { return c.mul(a, c.number(a, by)) }
func (c *call) shift(a *ir.Value, by float64) *ir.Value { return c.add(a, c.number(a, by)) }

func (c *call) compare(op string, a *ir.Value, with float64) *ir.Value {
	return c.op(op, nil, a, c.number(a, with))
}

func (c *call) where(cond, a, b *ir.Value) *ir.Value { return c.op("where", nil, cond, a, b) }

func reciprocal(c *call) {
	x := c.arg(0)
	c.set(0, c.div(c.number(x, 1), x))
}

// sign keeps NaN and zeros as they are.
func sign(c *call) {
	x := c.arg(0)
	below := c.where(c.compare("lt", x, 0), c.number(x, -1), x)
	c.set(0, c.where(c.compare("gt", x, 0), c.number(x, 1), below))
}

func tan(c *call) {
	x := c.arg(0)
	c.set(0, c.div(c.op("sin", nil, x), c.op("cos", nil, x)))
}

// asin is atan(x / sqrt((1-x)(1+x))).
func asin(c *call) {
	x := c.arg(0)
	square := c.mul(c.sub(c.number(x, 1), x), c.shift(x, 1))
	c.set(0, c.op("atan", nil, c.div(x, c.op("sqrt", nil, square))))
}

// acos is 2 atan(sqrt((1-x)/(1+x))).
func acos(c *call) {
	x := c.arg(0)
	ratio := c.div(c.sub(c.number(x, 1), x), c.shift(x, 1))
	c.set(0, c.scale(c.op("atan", nil, c.op("sqrt", nil, ratio)), 2))
}

// sinh cancels near zero, where its series takes over: below 1/2 the terms up to
// x^7 leave less than a rounding.
func sinh(c *call) {
	x := c.arg(0)
	up, down := c.op("exp", nil, x), c.op("exp", nil, c.op("neg", nil, x))
	c.set(0, c.nearZero(x, c.scale(c.sub(up, down), 0.5), 1.0/6, 1.0/120, 1.0/5040))
}

func cosh(c *call) {
	x := c.arg(0)
	c.set(0, c.scale(c.add(c.op("exp", nil, x), c.op("exp", nil, c.op("neg", nil, x))), 0.5))
}

// asinh is the logarithm of |x| + sqrt(x^2+1) with the sign of x.
func asinh(c *call) {
	x := c.arg(0)
	a := c.op("abs", nil, x)
	y := c.op("log", nil, c.add(a, c.op("sqrt", nil, c.shift(c.mul(x, x), 1))))
	y = c.where(c.compare("lt", x, 0), c.op("neg", nil, y), y)
	c.set(0, c.nearZero(x, y, -1.0/6, 3.0/40, -15.0/336, 105.0/3456, -945.0/42240))
}

func acosh(c *call) {
	x := c.arg(0)
	root := c.mul(c.op("sqrt", nil, c.shift(x, -1)), c.op("sqrt", nil, c.shift(x, 1)))
	c.set(0, c.op("log", nil, c.add(x, root)))
}

func atanh(c *call) {
	x := c.arg(0)
	ratio := c.div(c.shift(x, 1), c.sub(c.number(x, 1), x))
	c.set(0, c.nearZero(x, c.scale(c.op("log", nil, ratio), 0.5), 1.0/3, 1.0/5, 1.0/7, 1.0/9, 1.0/11))
}

// nearZero is x + x^3 (c0 + c1 x^2 + …) where |x| < 1/4, and far elsewhere.
func (c *call) nearZero(x, far *ir.Value, coefficients ...float64) *ir.Value {
	square := c.mul(x, x)
	p := c.number(x, coefficients[len(coefficients)-1])
	for i := len(coefficients) - 2; i >= 0; i-- {
		p = c.shift(c.mul(p, square), coefficients[i])
	}
	near := c.add(x, c.mul(c.mul(x, square), p))
	return c.where(c.compare("lt", c.op("abs", nil, x), 0.25), near, far)
}

// pow computes in the type of the base. A whole power of integers is computed in
// f64, which is exact to 2^53.
func pow(c *call) {
	x, y := c.arg(0), c.arg(1)
	dtype := x.Spec.DType
	if !dtype.IsFloat() {
		x = c.cast(x, tensor.F64)
	}
	c.set(0, c.cast(c.op("pow", nil, x, c.cast(y, x.Spec.DType)), dtype))
}

// mod has the sign of the divisor, as Python's, or with fmod that of the dividend.
func mod(c *call) {
	a, b := c.arg(0), c.arg(1)
	fmod := c.flag("fmod", false)
	q := c.div(a, b)
	if a.Spec.DType.IsFloat() {
		q = c.truncate(q)
	}
	r := c.sub(a, c.mul(q, b))
	if !fmod {
		zero := c.number(a, 0)
		wrong := c.op("and", nil, c.op("ne", nil, r, zero), c.op("ne", nil, c.op("lt", nil, r, zero), c.op("lt", nil, b, zero)))
		r = c.where(wrong, c.add(r, b), r)
	}
	c.set(0, r)
}

func (c *call) truncate(x *ir.Value) *ir.Value {
	return c.where(c.compare("lt", x, 0), c.op("ceil", nil, x), c.op("floor", nil, x))
}

// clip has its bounds in attributes before version 11.
func clip(c *call) {
	x := c.arg(0)
	low, high := c.optional(1), c.optional(2)
	if c.opset < 11 {
		low, high = c.number(x, c.float("min", -math.MaxFloat32)), c.number(x, c.float("max", math.MaxFloat32))
	}
	if low != nil {
		x = c.op("maximum", nil, x, low)
	}
	if high != nil {
		x = c.op("minimum", nil, x, high)
	}
	if x == c.arg(0) {
		c.pass(0)
		return
	}
	c.set(0, x)
}

// dropout keeps everything, as always when a model is not trained.
func dropout(c *call) {
	if c.opset >= 12 && c.has(2) && c.scalarOf(2, "the training mode") != 0 && !(c.has(1) && c.scalarOf(1, "the ratio") == 0) {
		c.unsupportedf("training mode drops elements at random")
		return
	}
	c.pass(0)
	if len(c.out) > 1 {
		dtype := tensor.Bool
		if c.opset < 10 {
			dtype = c.dtype(0)
		}
		mask, err := tensor.Full(dtype, 1)
		c.check(err)
		c.set(1, c.op("expand", ir.Attrs{"shape": int64s(c.shape(0))}, c.constant(mask, nil)))
	}
}

var _ = register(map[string]operator{
	"And": {7, same("and")}, "Or": {7, same("or")}, "Not": {1, same("not")}, "Xor": {7, same("ne")},
	"Equal": {7, same("eq")}, "Greater": {7, same("gt")}, "Less": {7, same("lt")}, "GreaterOrEqual": {12, same("ge")}, "LessOrEqual": {12, same("le")},
	"IsNaN": {9, isNaN}, "IsInf": {10, isInf}, "Where": {9, same("where")}, "Cast": {6, castTo}, "CastLike": {15, castLike},
})

func isNaN(c *call) {
	x := c.arg(0)
	c.set(0, c.op("ne", nil, x, x))
}

func isInf(c *call) {
	x := c.arg(0)
	above := c.compare("eq", x, math.Inf(1))
	below := c.compare("eq", x, math.Inf(-1))
	switch up, down := c.flag("detect_positive", true), c.flag("detect_negative", true); {
	case up && down:
		c.set(0, c.op("or", nil, above, below))
	case up:
		c.set(0, above)
	case down:
		c.set(0, below)
	default:
		c.set(0, c.op("and", nil, above, below))
	}
}

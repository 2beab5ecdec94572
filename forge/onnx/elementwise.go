package onnx

import (
	"math"

	"forgekernel/forge/importer/formula"
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
	return func(c *call) { c.set(0, c.Op(name, nil, c.args()...)) }
}

// chain folds variadic operands from the left.
func chain(name string) func(*call) {
	return func(c *call) { c.set(0, c.foldLeft(name)) }
}

func (c *call) foldLeft(name string) *ir.Value {
	list := c.args()
	if len(list) == 0 {
		c.Fail("there are no operands")
	}
	v := list[0]
	for _, u := range list[1:] {
		v = c.Op(name, nil, v, u)
	}
	return v
}

func mean(c *call) {
	v := c.foldLeft("add")
	c.set(0, c.Op("div", nil, v, c.Number(v, float64(len(c.in)))))
}

func reciprocal(c *call) {
	x := c.arg(0)
	c.set(0, c.Div(c.Number(x, 1), x))
}

// sign keeps NaN and zeros as they are.
func sign(c *call) {
	x := c.arg(0)
	below := c.Where(c.Compare("lt", x, 0), c.Number(x, -1), x)
	c.set(0, c.Where(c.Compare("gt", x, 0), c.Number(x, 1), below))
}

func tan(c *call) {
	x := c.arg(0)
	c.set(0, c.Div(c.Op("sin", nil, x), c.Op("cos", nil, x)))
}

// asin is atan(x / sqrt((1-x)(1+x))).
func asin(c *call) {
	x := c.arg(0)
	square := c.Mul(c.Sub(c.Number(x, 1), x), c.Shift(x, 1))
	c.set(0, c.Op("atan", nil, c.Div(x, c.Op("sqrt", nil, square))))
}

// acos is 2 atan(sqrt((1-x)/(1+x))).
func acos(c *call) {
	x := c.arg(0)
	ratio := c.Div(c.Sub(c.Number(x, 1), x), c.Shift(x, 1))
	c.set(0, c.Scale(c.Op("atan", nil, c.Op("sqrt", nil, ratio)), 2))
}

// sinh cancels near zero, where its series takes over: below 1/2 the terms up to
// x^7 leave less than a rounding.
func sinh(c *call) {
	x := c.arg(0)
	up, down := c.Op("exp", nil, x), c.Op("exp", nil, c.Op("neg", nil, x))
	c.set(0, c.nearZero(x, c.Scale(c.Sub(up, down), 0.5), 1.0/6, 1.0/120, 1.0/5040))
}

func cosh(c *call) {
	x := c.arg(0)
	c.set(0, c.Scale(c.Add(c.Op("exp", nil, x), c.Op("exp", nil, c.Op("neg", nil, x))), 0.5))
}

// asinh is the logarithm of |x| + sqrt(x^2+1) with the sign of x.
func asinh(c *call) {
	x := c.arg(0)
	a := c.Op("abs", nil, x)
	y := c.Op("log", nil, c.Add(a, c.Op("sqrt", nil, c.Shift(c.Mul(x, x), 1))))
	y = c.Where(c.Compare("lt", x, 0), c.Op("neg", nil, y), y)
	c.set(0, c.nearZero(x, y, -1.0/6, 3.0/40, -15.0/336, 105.0/3456, -945.0/42240))
}

func acosh(c *call) {
	x := c.arg(0)
	root := c.Mul(c.Op("sqrt", nil, c.Shift(x, -1)), c.Op("sqrt", nil, c.Shift(x, 1)))
	c.set(0, c.Op("log", nil, c.Add(x, root)))
}

func atanh(c *call) {
	x := c.arg(0)
	ratio := c.Div(c.Shift(x, 1), c.Sub(c.Number(x, 1), x))
	c.set(0, c.nearZero(x, c.Scale(c.Op("log", nil, ratio), 0.5), 1.0/3, 1.0/5, 1.0/7, 1.0/9, 1.0/11))
}

// nearZero is x + x^3 (c0 + c1 x^2 + …) where |x| < 1/4, and far elsewhere.
func (c *call) nearZero(x, far *ir.Value, coefficients ...float64) *ir.Value {
	square := c.Mul(x, x)
	p := c.Number(x, coefficients[len(coefficients)-1])
	for i := len(coefficients) - 2; i >= 0; i-- {
		p = c.Shift(c.Mul(p, square), coefficients[i])
	}
	near := c.Add(x, c.Mul(c.Mul(x, square), p))
	return c.Where(c.Compare("lt", c.Op("abs", nil, x), 0.25), near, far)
}

// pow computes in the type of the base. A whole power of integers is computed in
// f64, which is exact to 2^53.
func pow(c *call) {
	x, y := c.arg(0), c.arg(1)
	dtype := x.Spec.DType
	if !dtype.IsFloat() {
		x = c.Cast(x, tensor.F64)
	}
	c.set(0, c.Cast(c.Op("pow", nil, x, c.Cast(y, x.Spec.DType)), dtype))
}

// mod has the sign of the divisor, as Python's, or with fmod that of the dividend.
func mod(c *call) {
	a, b := c.arg(0), c.arg(1)
	fmod := c.flag("fmod", false)
	q := c.Div(a, b)
	if a.Spec.DType.IsFloat() {
		q = c.Truncate(q)
	}
	r := c.Sub(a, c.Mul(q, b))
	if !fmod {
		zero := c.Number(a, 0)
		wrong := c.Op("and", nil, c.Op("ne", nil, r, zero), c.Op("ne", nil, c.Op("lt", nil, r, zero), c.Op("lt", nil, b, zero)))
		r = c.Where(wrong, c.Add(r, b), r)
	}
	c.set(0, r)
}

// clip has its bounds in attributes before version 11.
func clip(c *call) {
	x := c.arg(0)
	low, high := c.optional(1), c.optional(2)
	if c.opset < 11 {
		low, high = c.Number(x, c.float("min", -math.MaxFloat32)), c.Number(x, c.float("max", math.MaxFloat32))
	}
	if low != nil {
		x = c.Op("maximum", nil, x, low)
	}
	if high != nil {
		x = c.Op("minimum", nil, x, high)
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
		c.Check(err)
		c.set(1, c.Op("expand", ir.Attrs{"shape": formula.Int64s(c.shape(0))}, c.Constant(mask, nil)))
	}
}

var _ = register(map[string]operator{
	"And": {7, same("and")}, "Or": {7, same("or")}, "Not": {1, same("not")}, "Xor": {7, same("ne")},
	"Equal": {7, same("eq")}, "Greater": {7, same("gt")}, "Less": {7, same("lt")}, "GreaterOrEqual": {12, same("ge")}, "LessOrEqual": {12, same("le")},
	"IsNaN": {9, isNaN}, "IsInf": {10, isInf}, "Where": {9, same("where")}, "Cast": {6, castTo}, "CastLike": {15, castLike},
})

func isNaN(c *call) {
	x := c.arg(0)
	c.set(0, c.Op("ne", nil, x, x))
}

func isInf(c *call) {
	x := c.arg(0)
	above := c.Compare("eq", x, math.Inf(1))
	below := c.Compare("eq", x, math.Inf(-1))
	switch up, down := c.flag("detect_positive", true), c.flag("detect_negative", true); {
	case up && down:
		c.set(0, c.Op("or", nil, above, below))
	case up:
		c.set(0, above)
	case down:
		c.set(0, below)
	default:
		c.set(0, c.Op("and", nil, above, below))
	}
}

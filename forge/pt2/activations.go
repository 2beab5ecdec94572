package pt2

import "forgekernel/forge/ir"

var _ = register(map[string]func(*call){
	"aten.relu.default": relu, "aten.relu6.default": unary(func(c *call, x *ir.Value) *ir.Value { return c.Clamp(x, 0, 6) }),
	"aten.silu.default": float("silu"), "aten.gelu.default": gelu, "aten.softplus.default": softplus, "aten.leaky_relu.default": leakyRelu,
	"aten.elu.default": elu, "aten.selu.default": selu, "aten.celu.default": celu, "aten.prelu.default": prelu, "aten._prelu_kernel.default": prelu,
	"aten.hardsigmoid.default": unary(func(c *call, x *ir.Value) *ir.Value { return c.HardSigmoid(x, 1.0/6, 0.5) }),
	"aten.hardswish.default":   unary(func(c *call, x *ir.Value) *ir.Value { return c.Mul(x, c.HardSigmoid(x, 1.0/6, 0.5)) }),
	"aten.mish.default":        unary(func(c *call, x *ir.Value) *ir.Value { return c.Mul(x, c.Op("tanh", nil, c.Softplus(x))) }),
	"aten.log_sigmoid.default": unary(func(c *call, x *ir.Value) *ir.Value {
		return c.Op("neg", nil, c.Softplus(c.Op("neg", nil, x)))
	}),
	"aten.softmax.int": softmax("softmax"), "aten._softmax.default": softmax("softmax"), "aten._safe_softmax.default": safeSoftmax,
	"aten.log_softmax.int": softmax("log_softmax"), "aten._log_softmax.default": softmax("log_softmax"),
	"aten.glu.default": glu,
})

// relu of integers is a maximum.
func relu(c *call) {
	x := c.tensor("self")
	if !x.Spec.DType.IsFloat() {
		c.set(0, c.Op("maximum", nil, x, c.Number(x, 0)))
		return
	}
	c.set(0, c.Op("relu", nil, x))
}

func gelu(c *call) {
	switch approximate := c.str("approximate", "none"); approximate {
	case "none", "tanh":
		c.set(0, c.Op("gelu", ir.Attrs{"approximate": approximate}, c.tensor("self")))
	default:
		c.Fail("approximate %q is not supported", approximate)
	}
}

// softplus is log(1 + exp(beta x)) / beta, and x above a threshold.
func softplus(c *call) {
	x, beta, threshold := c.tensor("self"), c.float("beta", 1), c.float("threshold", 20)
	scaled := x
	if beta != 1 {
		scaled = c.Scale(x, beta)
	}
	y := c.Softplus(scaled)
	if beta != 1 {
		y = c.Scale(y, 1/beta)
	}
	c.set(0, c.Where(c.Compare("gt", scaled, threshold), x, y))
}

func leakyRelu(c *call) {
	x := c.tensor("self")
	c.set(0, c.Negative(x, c.Scale(x, c.float("negative_slope", 0.01))))
}

// elu is scale (alpha (exp(input_scale x) - 1)) below zero, and scale x above.
func elu(c *call) {
	x, scale := c.tensor("self"), c.float("scale", 1)
	inner := x
	if s := c.float("input_scale", 1); s != 1 {
		inner = c.Scale(x, s)
	}
	y := c.Negative(x, c.Scale(c.ExpMinusOne(inner), c.float("alpha", 1)))
	if scale != 1 {
		y = c.Scale(y, scale)
	}
	c.set(0, y)
}

func selu(c *call) {
	x := c.tensor("self")
	y := c.Negative(x, c.Scale(c.ExpMinusOne(x), 1.6732632423543772))
	c.set(0, c.Scale(y, 1.0507009873554805))
}

func celu(c *call) {
	x, alpha := c.tensor("self"), c.float("alpha", 1)
	c.set(0, c.Negative(x, c.Scale(c.ExpMinusOne(c.Scale(x, 1/alpha)), alpha)))
}

// prelu has a slope for each channel, dimension 1, or one for all.
func prelu(c *call) {
	x, w := c.tensor("self"), c.tensor("weight")
	if n := w.Spec.Elements(); w.Spec.Rank() == 1 && x.Spec.Rank() > 1 && n > 1 {
		w = c.perChannel(w, x.Spec.Rank())
	}
	c.set(0, c.Negative(x, c.Mul(x, w)))
}

// softmax may convert its operand first; half_to_float does so too.
func softmax(name string) func(*call) {
	return func(c *call) {
		x := c.castTo("dtype", c.tensor("self"))
		if c.flag("half_to_float", false) {
			c.refuse("half_to_float is set")
			return
		}
		if x.Spec.Rank() == 0 {
			x = c.Reshape(x, 1)
			c.set(0, c.Reshape(c.Op(name, ir.Attrs{"axis": 0}, x)))
			return
		}
		c.set(0, c.Op(name, ir.Attrs{"axis": c.axis("dim", -1, x.Spec.Rank())}, x))
	}
}

// safeSoftmax gives zeros where all of a row is -inf.
func safeSoftmax(c *call) {
	x := c.castTo("dtype", c.tensor("self"))
	axis := c.axis("dim", -1, x.Spec.Rank())
	top := c.Op("max", ir.Attrs{"axes": []int64{int64(axis)}, "keepdims": true}, x)
	empty := c.Op("and", nil, c.IsInf(top), c.Compare("lt", top, 0))
	c.set(0, c.Where(empty, c.Number(x, 0), c.Op("softmax", ir.Attrs{"axis": axis}, x)))
}

func glu(c *call) {
	x := c.tensor("self")
	axis := c.axis("dim", -1, x.Spec.Rank())
	half := x.Spec.Shape[axis] / 2
	c.set(0, c.Mul(c.Narrow(x, axis, 0, half), c.Op("sigmoid", nil, c.Narrow(x, axis, half, half))))
}

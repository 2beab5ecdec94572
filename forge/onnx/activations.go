package onnx

import (
	"forgekernel/forge/ir"
)

var _ = register(map[string]operator{
	"Tanh": {1, same("tanh")}, "Sigmoid": {1, same("sigmoid")}, "Relu": {1, same("relu")},
	"LeakyRelu": {6, leakyRelu}, "PRelu": {7, prelu}, "Elu": {6, elu}, "Celu": {12, celu}, "Selu": {6, selu}, "ThresholdedRelu": {10, thresholded},
	"HardSigmoid": {6, hardSigmoid}, "HardSwish": {14, hardSwish}, "Softplus": {1, softplus}, "Softsign": {1, softsign}, "Shrink": {9, shrink},
	"Gelu": {20, gelu}, "Mish": {18, mish}, "Swish": {24, swish},
	"com.microsoft.Gelu":     {1, func(c *call) { c.set(0, c.op("gelu", nil, c.arg(0))) }},
	"com.microsoft.FastGelu": {1, fastGelu}, "com.microsoft.QuickGelu": {1, quickGelu},
})

// negative is where(x < 0, below, x), which keeps NaN.
func (c *call) negative(x, below *ir.Value) *ir.Value {
	return c.where(c.compare("lt", x, 0), below, x)
}

func leakyRelu(c *call) {
	x := c.arg(0)
	c.set(0, c.negative(x, c.scale(x, c.float("alpha", 0.01))))
}

// prelu has a slope that broadcasts to x from the right.
func prelu(c *call) {
	x := c.arg(0)
	c.set(0, c.negative(x, c.mul(x, c.arg(1))))
}

func elu(c *call) {
	x := c.arg(0)
	c.set(0, c.negative(x, c.scale(c.expMinusOne(x), c.float("alpha", 1))))
}

// expMinusOne is exp(x) - 1. It loses digits near zero, as the definition does.
func (c *call) expMinusOne(x *ir.Value) *ir.Value { return c.shift(c.op("exp", nil, x), -1) }

func celu(c *call) {
	x, alpha := c.arg(0), c.float("alpha", 1)
	below := c.scale(c.expMinusOne(c.div(x, c.number(x, alpha))), alpha)
	c.set(0, c.negative(x, below))
}

func selu(c *call) {
	x := c.arg(0)
	y := c.negative(x, c.scale(c.expMinusOne(x), c.float("alpha", 1.67326319217681884765625)))
	c.set(0, c.scale(y, c.float("gamma", 1.05070102214813232421875)))
}

func thresholded(c *call) {
	x := c.arg(0)
	c.set(0, c.where(c.compare("gt", x, c.float("alpha", 1)), x, c.number(x, 0)))
}

func (c *call) hardSigmoid(x *ir.Value, alpha, beta float64) *ir.Value {
	y := c.shift(c.scale(x, alpha), beta)
	return c.op("maximum", nil, c.op("minimum", nil, y, c.number(x, 1)), c.number(x, 0))
}

func hardSigmoid(c *call) {
	c.set(0, c.hardSigmoid(c.arg(0), c.float("alpha", 0.2), c.float("beta", 0.5)))
}

func hardSwish(c *call) {
	x := c.arg(0)
	c.set(0, c.mul(x, c.hardSigmoid(x, 1.0/6, 0.5)))
}

// softplus is max(x, 0) + log(1 + exp(-|x|)), which does not overflow.
func softplus(c *call) { c.set(0, c.softplus(c.arg(0))) }

func (c *call) softplus(x *ir.Value) *ir.Value {
	tail := c.op("log", nil, c.shift(c.op("exp", nil, c.op("neg", nil, c.op("abs", nil, x))), 1))
	return c.add(c.op("relu", nil, x), tail)
}

func softsign(c *call) {
	x := c.arg(0)
	c.set(0, c.div(x, c.shift(c.op("abs", nil, x), 1)))
}

func shrink(c *call) {
	x, bias, lambda := c.arg(0), c.float("bias", 0), c.float("lambd", 0.5)
	y := c.where(c.compare("gt", x, lambda), c.shift(x, -bias), c.number(x, 0))
	c.set(0, c.where(c.compare("lt", x, -lambda), c.shift(x, bias), y))
}

func gelu(c *call) {
	approximate := c.str("approximate", "none")
	c.oneOf("approximate", approximate, "none", "tanh")
	c.set(0, c.op("gelu", ir.Attrs{"approximate": approximate}, c.arg(0)))
}

// fastGelu adds a bias before the tanh form.
func fastGelu(c *call) {
	x := c.arg(0)
	if c.has(1) {
		x = c.add(x, c.arg(1))
	}
	c.set(0, c.op("gelu", ir.Attrs{"approximate": "tanh"}, x))
}

func quickGelu(c *call) {
	x := c.arg(0)
	c.set(0, c.mul(x, c.op("sigmoid", nil, c.scale(x, c.float("alpha", 1.702)))))
}

func mish(c *call) {
	x := c.arg(0)
	c.set(0, c.mul(x, c.op("tanh", nil, c.softplus(x))))
}

func swish(c *call) {
	x, alpha := c.arg(0), c.float("alpha", 1)
	if alpha == 1 {
		c.set(0, c.op("silu", nil, x))
		return
	}
	c.set(0, c.mul(x, c.op("sigmoid", nil, c.scale(x, alpha))))
}

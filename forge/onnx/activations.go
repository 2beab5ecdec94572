package onnx

import (
	"forgekernel/forge/ir"
)

var _ = register(map[string]operator{
	"Tanh": {1, same("tanh")}, "Sigmoid": {1, same("sigmoid")}, "Relu": {1, same("relu")},
	"LeakyRelu": {6, leakyRelu}, "PRelu": {7, prelu}, "Elu": {6, elu}, "Celu": {12, celu}, "Selu": {6, selu}, "ThresholdedRelu": {10, thresholded},
	"HardSigmoid": {6, hardSigmoid}, "HardSwish": {14, hardSwish}, "Softplus": {1, softplus}, "Softsign": {1, softsign}, "Shrink": {9, shrink},
	"Gelu": {20, gelu}, "Mish": {18, mish}, "Swish": {24, swish},
	"com.microsoft.Gelu":     {1, func(c *call) { c.set(0, c.Op("gelu", nil, c.arg(0))) }},
	"com.microsoft.FastGelu": {1, fastGelu}, "com.microsoft.QuickGelu": {1, quickGelu},
})

func leakyRelu(c *call) {
	x := c.arg(0)
	c.set(0, c.Negative(x, c.Scale(x, c.float("alpha", 0.01))))
}

// prelu has a slope that broadcasts to x from the right.
func prelu(c *call) {
	x := c.arg(0)
	c.set(0, c.Negative(x, c.Mul(x, c.arg(1))))
}

func elu(c *call) {
	x := c.arg(0)
	c.set(0, c.Negative(x, c.Scale(c.expMinusOne(x), c.float("alpha", 1))))
}

// expMinusOne is exp(x) - 1. It loses digits near zero, as the definition does.
func (c *call) expMinusOne(x *ir.Value) *ir.Value { return c.Shift(c.Op("exp", nil, x), -1) }

func celu(c *call) {
	x, alpha := c.arg(0), c.float("alpha", 1)
	below := c.Scale(c.expMinusOne(c.Div(x, c.Number(x, alpha))), alpha)
	c.set(0, c.Negative(x, below))
}

func selu(c *call) {
	x := c.arg(0)
	y := c.Negative(x, c.Scale(c.expMinusOne(x), c.float("alpha", 1.67326319217681884765625)))
	c.set(0, c.Scale(y, c.float("gamma", 1.05070102214813232421875)))
}

func thresholded(c *call) {
	x := c.arg(0)
	c.set(0, c.Where(c.Compare("gt", x, c.float("alpha", 1)), x, c.Number(x, 0)))
}

func hardSigmoid(c *call) {
	c.set(0, c.HardSigmoid(c.arg(0), c.float("alpha", 0.2), c.float("beta", 0.5)))
}

func hardSwish(c *call) {
	x := c.arg(0)
	c.set(0, c.Mul(x, c.HardSigmoid(x, 1.0/6, 0.5)))
}

// softplus is max(x, 0) + log(1 + exp(-|x|)), which does not overflow.
func softplus(c *call) { c.set(0, c.Softplus(c.arg(0))) }

func softsign(c *call) {
	x := c.arg(0)
	c.set(0, c.Div(x, c.Shift(c.Op("abs", nil, x), 1)))
}

func shrink(c *call) {
	x, bias, lambda := c.arg(0), c.float("bias", 0), c.float("lambd", 0.5)
	y := c.Where(c.Compare("gt", x, lambda), c.Shift(x, -bias), c.Number(x, 0))
	c.set(0, c.Where(c.Compare("lt", x, -lambda), c.Shift(x, bias), y))
}

func gelu(c *call) {
	approximate := c.str("approximate", "none")
	c.oneOf("approximate", approximate, "none", "tanh")
	c.set(0, c.Op("gelu", ir.Attrs{"approximate": approximate}, c.arg(0)))
}

// fastGelu adds a bias before the tanh form.
func fastGelu(c *call) {
	x := c.arg(0)
	if c.has(1) {
		x = c.Add(x, c.arg(1))
	}
	c.set(0, c.Op("gelu", ir.Attrs{"approximate": "tanh"}, x))
}

func quickGelu(c *call) {
	x := c.arg(0)
	c.set(0, c.Mul(x, c.Op("sigmoid", nil, c.Scale(x, c.float("alpha", 1.702)))))
}

func mish(c *call) {
	x := c.arg(0)
	c.set(0, c.Mul(x, c.Op("tanh", nil, c.Softplus(x))))
}

func swish(c *call) {
	x, alpha := c.arg(0), c.float("alpha", 1)
	if alpha == 1 {
		c.set(0, c.Op("silu", nil, x))
		return
	}
	c.set(0, c.Mul(x, c.Op("sigmoid", nil, c.Scale(x, alpha))))
}

package onnx

import (
	"forgekernel/forge/ir"
)

var _ = register(map[string]operator{
	"Abs": {1, same("abs")}, "Neg": {1, same("neg")}, "Exp": {1, same("exp")}, "Log": {1, same("log")}, "Sqrt": {1, same("sqrt")},
	"Tanh": {1, same("tanh")}, "Sigmoid": {1, same("sigmoid")}, "Relu": {1, same("relu")}, "Erf": {9, same("erf")},
	"Sin": {7, same("sin")}, "Cos": {7, same("cos")},
	"Add": {7, same("add")}, "Sub": {7, same("sub")}, "Mul": {7, same("mul")}, "Div": {7, same("div")},
	"Identity": {1, func(c *call) { c.pass(0) }},
})

// same imports an operator as the one of that name, which broadcasts as ONNX does.
func same(name string) func(*call) {
	return func(c *call) { c.set(0, c.op(name, nil, c.args()...)) }
}

// chain folds variadic operands from the left.
func chain(name string) func(*call) {
	return func(c *call) {
		list := c.args()
		if len(list) == 0 {
			c.fail("there are no operands")
		}
		var v *ir.Value = list[0]
		for _, u := range list[1:] {
			v = c.op(name, nil, v, u)
		}
		c.set(0, v)
	}
}

var _ = register(map[string]operator{
	"Max": {8, chain("maximum")}, "Min": {8, chain("minimum")}, "Sum": {8, chain("add")},
})

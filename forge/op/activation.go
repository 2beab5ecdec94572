package op

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/mathf"
	"forgekernel/forge/tensor"
)

var activations = []*ir.Op{
	mapped("tanh", "The hyperbolic tangent of x.", 1, mathf.Tanh, math.Tanh),
	mapped("sigmoid", "1 / (1 + exp(-x)).", 1, mathf.Sigmoid, sigmoid64),
	mapped("relu", "x where x is above zero, else 0; NaN stays NaN.", 1, relu[float32], relu[float64]),
	gelu,
	mapped("silu", "x / (1 + exp(-x)), also called swish.", 2, mathf.Silu, silu64),
	mapped("erf", "The error function of x.", 1, mathf.Erf, math.Erf),
}

var gelu = &ir.Op{
	Name:     "gelu",
	Doc:      "x times the normal distribution function of x, exactly (erf) or by the tanh approximation.",
	Class:    ir.Elementwise,
	Operands: []string{"x"},
	Attrs: []ir.AttrDecl{{
		Name: "approximate", Kind: ir.StringAttr, Default: "none", OneOf: []string{"none", "tanh"},
		Doc: "none for the erf form, tanh for 0.5x(1 + tanh(sqrt(2/pi)(x + 0.044715x^3)))",
	}},
	Types: floats.String(),
	Infer: inferElementwise(floats),
	Scalar: func(n *ir.Node, in []tensor.DType, out tensor.DType) ir.Kernel {
		if n.Str("approximate") == "tanh" {
			return geluTanh(n, in, out)
		}
		return geluErf(n, in, out)
	},
	Eval:  evalElementwise,
	FLOPs: perOutput(8),
}

var (
	geluErf  = byOperand(each(mathf.Gelu), each(gelu64), nil, nil, nil)
	geluTanh = byOperand(each(mathf.GeluTanh), each(geluTanh64), nil, nil, nil)
)

// relu compares so that NaN, which is not below zero, passes through; -0
// becomes 0.
func relu[T float](x T) T {
	if x <= 0 {
		return 0
	}
	return x
}

// sigmoid64 never takes exp of a positive argument, so that the lower tail
// keeps its relative accuracy.
func sigmoid64(x float64) float64 {
	z := math.Exp(-math.Abs(x))
	if x < 0 {
		return z / (1 + z)
	}
	return 1 / (1 + z)
}

// silu64 takes the limit -0 at -inf, where the product would be -inf * 0.
func silu64(x float64) float64 {
	if math.IsInf(x, -1) {
		return math.Copysign(0, -1)
	}
	return x * sigmoid64(x)
}

// gelu64 uses erfc, which does not cancel in the lower tail. At -inf the
// product would be -inf * 0; the limit is -0.
func gelu64(x float64) float64 {
	if math.IsInf(x, -1) {
		return math.Copysign(0, -1)
	}
	return 0.5 * x * math.Erfc(-x/math.Sqrt2)
}

// geluTanh64 uses 0.5(1 + tanh(u)) = sigmoid(2u), which does not cancel.
func geluTanh64(x float64) float64 {
	if math.IsInf(x, -1) {
		return math.Copysign(0, -1)
	}
	const c = 0.7978845608028653558798921198687637 // sqrt(2/pi)
	return x * sigmoid64(2*c*(x+0.044715*x*x*x))
}

package op

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/mathf"
)

var elementary = []*ir.Op{
	mapped("sqrt", "The square root of x; NaN below zero.", 1, mathf.Sqrt, math.Sqrt),
	mapped("exp", "e to the power x.", 1, mathf.Exp, math.Exp),
	mapped("log", "The natural logarithm of x; NaN below zero, -inf at zero.", 1, mathf.Log, math.Log),
	mapped("rsqrt", "1 / sqrt(x); NaN below zero, an infinity of the sign of a zero.", 1, mathf.Rsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }),
	mapped("sin", "The sine of x in radians, accurate for every x; NaN at the infinities.", 1, mathf.Sin, math.Sin),
	mapped("cos", "The cosine of x in radians, accurate for every x; NaN at the infinities.", 1, mathf.Cos, math.Cos),
	mapped("atan", "The angle in radians whose tangent is x.", 1, mathf.Atan, math.Atan),
	mapped("floor", "The largest whole number that is not above x.", 1, whole(math.Floor), math.Floor),
	mapped("ceil", "The smallest whole number that is not below x.", 1, whole(math.Ceil), math.Ceil),
	mapped("round", "The nearest whole number, of two the even one.", 1, whole(math.RoundToEven), math.RoundToEven),
	pow,
}

// whole is a rounding to whole numbers in float32, which float64 does exactly.
func whole(f func(float64) float64) func(float32) float32 {
	return func(x float32) float32 { return float32(f(float64(x))) }
}

var pow = &ir.Op{
	Name: "pow",
	Doc: "a to the power b. As in IEEE 754, 1 where b is 0 or a is 1, even beside a NaN; " +
		"NaN where a is below zero and b is not whole.",
	Class:    ir.Elementwise,
	Operands: []string{"a", "b"},
	Types:    floats.String(),
	Infer:    inferElementwise(floats),
	Scalar:   byOperand(zip(mathf.Pow), zip(math.Pow), nil, nil, nil),
	Eval:     evalElementwise,
	FLOPs:    perOutput(1),
}

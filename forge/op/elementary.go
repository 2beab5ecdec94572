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
}

func abs64(x float64) float64 { return math.Abs(x) }

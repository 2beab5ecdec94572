package op

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/mathf"
)

var arithmetic = []*ir.Op{
	binary("add", "a + b.", func(a, b float32) float32 { return a + b }, func(a, b float64) float64 { return a + b }),
	binary("sub", "a - b.", func(a, b float32) float32 { return a - b }, func(a, b float64) float64 { return a - b }),
	binary("mul", "a * b.", func(a, b float32) float32 { return a * b }, func(a, b float64) float64 { return a * b }),
	binary("div", "a / b; division by zero gives an infinity or NaN.", func(a, b float32) float32 { return a / b }, func(a, b float64) float64 { return a / b }),
	binary("maximum", "The larger of a and b; NaN if either is NaN.", larger[float32], larger[float64]),
	binary("minimum", "The smaller of a and b; NaN if either is NaN.", smaller[float32], smaller[float64]),
}

var unary = []*ir.Op{
	mapped("neg", "-x.", 1, func(x float32) float32 { return -x }, func(x float64) float64 { return -x }),
	mapped("abs", "The magnitude of x.", 1, mathf.Abs, math.Abs),
	mapped("sqrt", "The square root of x; NaN below zero.", 1, mathf.Sqrt, math.Sqrt),
	mapped("exp", "e to the power x.", 1, mathf.Exp, math.Exp),
	mapped("log", "The natural logarithm of x; NaN below zero, -inf at zero.", 1, mathf.Log, math.Log),
}

// larger is max with a NaN operand as the result. Equal operands give a, but
// +0 is larger than -0.
func larger[T float](a, b T) T { return max(a, b) }

func smaller[T float](a, b T) T { return min(a, b) }

// binary declares an elementwise operator of two operands.
func binary(name, doc string, f32 func(a, b float32) float32, f64 func(a, b float64) float64) *ir.Op {
	return &ir.Op{
		Name: name, Doc: doc, Class: ir.Elementwise,
		Operands: []string{"a", "b"},
		Infer:    inferElementwise,
		Scalar: &ir.Scalar{
			F32: func(*ir.Node) func([]float32, ...[]float32) { return zip(f32) },
			F64: func(*ir.Node) func([]float64, ...[]float64) { return zip(f64) },
		},
		Eval:  evalElementwise,
		FLOPs: perOutput(1),
	}
}

// mapped declares an elementwise operator of one operand.
func mapped(name, doc string, flops int64, f32 func(float32) float32, f64 func(float64) float64) *ir.Op {
	return &ir.Op{
		Name: name, Doc: doc, Class: ir.Elementwise,
		Operands: []string{"x"},
		Infer:    inferElementwise,
		Scalar: &ir.Scalar{
			F32: func(*ir.Node) func([]float32, ...[]float32) { return each(f32) },
			F64: func(*ir.Node) func([]float64, ...[]float64) { return each(f64) },
		},
		Eval:  evalElementwise,
		FLOPs: perOutput(flops),
	}
}

func zip[T float](f func(a, b T) T) func(dst []T, args ...[]T) {
	return func(dst []T, args ...[]T) {
		a, b := args[0][:len(dst)], args[1][:len(dst)]
		for i := range dst {
			dst[i] = f(a[i], b[i])
		}
	}
}

func each[T float](f func(T) T) func(dst []T, args ...[]T) {
	return func(dst []T, args ...[]T) {
		x := args[0][:len(dst)]
		for i := range dst {
			dst[i] = f(x[i])
		}
	}
}

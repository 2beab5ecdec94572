package op

import (
	"errors"
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/mathf"
	"forgekernel/forge/tensor"
)

var arithmetic = []*ir.Op{
	binary("add", "a + b; integers wrap around.", zip(plus[float32]), zip(plus[float64]), zip(plus[int64]), zip(plus[int32])),
	binary("sub", "a - b; integers wrap around.", zip(minus[float32]), zip(minus[float64]), zip(minus[int64]), zip(minus[int32])),
	binary("mul", "a * b; integers wrap around.", zip(times[float32]), zip(times[float64]), zip(times[int64]), zip(times[int32])),
	binary("div", "a / b; a float divided by zero gives an infinity or NaN. Integers truncate toward zero, and division by zero is an error of the run.",
		zip(over[float32]), zip(over[float64]), divide[int64], divide[int32]),
	binary("maximum", "The larger of a and b; NaN if either is NaN. 0 is larger than -0.",
		zip(larger[float32]), zip(larger[float64]), zip(larger[int64]), zip(larger[int32])),
	binary("minimum", "The smaller of a and b; NaN if either is NaN. -0 is smaller than 0.",
		zip(smaller[float32]), zip(smaller[float64]), zip(smaller[int64]), zip(smaller[int32])),
	signed("neg", "-x; the smallest integer stays what it is.", each(minusOf[float32]), each(minusOf[float64]), each(minusOf[int64]), each(minusOf[int32])),
	signed("abs", "The magnitude of x; the smallest integer stays what it is.", each(mathf.Abs), each(math.Abs), each(magnitude[int64]), each(magnitude[int32])),
}

// number is an element type of arithmetic.
type number interface{ float | integer }

type integer interface{ int64 | int32 }

func plus[T number](a, b T) T   { return a + b }
func minus[T number](a, b T) T  { return a - b }
func times[T number](a, b T) T  { return a * b }
func over[T float](a, b T) T    { return a / b }
func minusOf[T number](x T) T   { return -x }
func larger[T number](a, b T) T { return max(a, b) }

func smaller[T number](a, b T) T { return min(a, b) }

func magnitude[T integer](x T) T {
	if x < 0 {
		return -x
	}
	return x
}

var errDivideByZero = errors.New("integer division by zero")

func divide[T interface {
	integer
	tensor.Element
}](v *ir.Vectors, dst int, args []int) error {
	out, in := vectorsOf[T](v)[dst], vectorsOf[T](v)
	a, b := in[args[0]], in[args[1]]
	for i := range out {
		if b[i] == 0 {
			return errDivideByZero
		}
		out[i] = a[i] / b[i]
	}
	return nil
}

// binary declares an elementwise operator of two numbers.
func binary(name, doc string, f32, f64, i64, i32 ir.Kernel) *ir.Op {
	return &ir.Op{
		Name: name, Doc: doc, Class: ir.Elementwise,
		Operands: []string{"a", "b"},
		Types:    numbers.String(),
		Infer:    inferElementwise(numbers),
		Scalar:   byOperand(f32, f64, i64, i32, nil),
		Eval:     evalElementwise,
		FLOPs:    perOutput(1),
	}
}

// signed declares an elementwise operator of one number.
func signed(name, doc string, f32, f64, i64, i32 ir.Kernel) *ir.Op {
	o := binary(name, doc, f32, f64, i64, i32)
	o.Operands = []string{"x"}
	return o
}

package source

import (
	"fmt"
	"math"
	"strconv"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// Function is the C function of an operation. Its name ends in the type of the
// operands, unless that is f32.
func Function(x *loop.Expr) string {
	from := x.Args[len(x.Args)-1].Type
	switch {
	case x.Op == loop.Cast:
		return fmt.Sprintf("v_cast_%v_%v", x.Type, from)
	case from == tensor.F32:
		return "v_" + string(x.Op)
	}
	return fmt.Sprintf("v_%s_%v", x.Op, from)
}

// Constant is a number, exact. Bits writes a float32 that has no spelling, which
// depends on what a printer's vectors are.
func Constant(x *loop.Expr, bits func(uint32) string) string {
	switch x.Type {
	case tensor.F32:
		return Literal(float32(x.Value), bits)
	case tensor.F64:
		switch {
		case x.Value != x.Value:
			return `set_f64(__builtin_nan(""))`
		case math.IsInf(x.Value, 0):
			return fmt.Sprintf("set_f64(%+d * __builtin_inf())", int(math.Copysign(1, x.Value)))
		}
		return "set_f64(" + strconv.FormatFloat(x.Value, 'x', -1, 64) + ")"
	case tensor.F16, tensor.BF16:
		return fmt.Sprintf("set_bits16(%#x)", tensor.Scalar(x.Type, x.Value).Bits16()[0])
	case tensor.Bool:
		return fmt.Sprintf("set_i32(%d)", -x.Int)
	}
	if x.Int == math.MinInt64 {
		return "set_i64(-9223372036854775807ll - 1)"
	}
	return fmt.Sprintf("set_%v(%dll)", x.Type, x.Int)
}

// Literal is a float32, exact; see [Constant].
func Literal(v float32, bits func(uint32) string) string {
	if v != v || v-v != 0 {
		return bits(math.Float32bits(v))
	}
	return "set(" + strconv.FormatFloat(float64(v), 'x', -1, 32) + "f)"
}

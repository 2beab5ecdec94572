package cpu

import (
	"fmt"
	"math"
	"strconv"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// forms are the C types of an element in memory and of a vector of them. Half
// precision has the vector of elements that are only moved; it is computed with as
// f32.
var forms = map[tensor.DType]struct{ elem, vector string }{
	tensor.F32:  {"float", "vf"},
	tensor.F64:  {"double", "vd"},
	tensor.F16:  {"u16", "vh"},
	tensor.BF16: {"u16", "vh"},
	tensor.I64:  {"i64", "vl"},
	tensor.I32:  {"i32", "vi"},
	tensor.Bool: {"u8", "vi"},
}

// memories are the C types behind the names of loads and stores.
var memories = map[string]struct{ elem, vector string }{
	"f32": {"float", "vf"}, "f64": {"double", "vd"}, "f16": {"u16", "vf"}, "bf16": {"u16", "vf"},
	"i64": {"i64", "vl"}, "i32": {"i32", "vi"}, "bool": {"u8", "vi"}, "bits16": {"u16", "vh"},
}

// function is the C function of an operation. Its name ends in the type of the
// operands, unless that is f32.
func function(x *loop.Expr) string {
	from := x.Args[len(x.Args)-1].Type
	switch {
	case x.Op == loop.Cast:
		return fmt.Sprintf("v_cast_%v_%v", x.Type, from)
	case from == tensor.F32:
		return "v_" + string(x.Op)
	}
	return fmt.Sprintf("v_%s_%v", x.Op, from)
}

// constant is a number in all lanes.
func constant(x *loop.Expr) string {
	switch x.Type {
	case tensor.F32:
		return literal(float32(x.Value))
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

// literal is a float in all lanes, exact.
func literal(v float32) string {
	if v != v || v-v != 0 {
		return fmt.Sprintf("(vf)((vi){0} + (i32)%#xu)", math.Float32bits(v))
	}
	return "set(" + strconv.FormatFloat(float64(v), 'x', -1, 32) + "f)"
}

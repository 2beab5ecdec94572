package cpu

import (
	"fmt"

	"forgekernel/forge/backend/cpu/source"
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

// constant is a number in all lanes.
func constant(x *loop.Expr) string { return source.Constant(x, bitsInLanes) }

// literal is a float in all lanes, exact.
func literal(v float32) string { return source.Literal(v, bitsInLanes) }

// bitsInLanes are those of a float in all lanes.
func bitsInLanes(b uint32) string { return fmt.Sprintf("(vf)((vi){0} + (i32)%#xu)", b) }

package triton

import (
	"fmt"
	"strings"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// infix are the operations that are operators of Python, in all types but as
// [emitter.operation] says.
var infix = map[loop.Opcode]string{
	"add": "+", "sub": "-", "mul": "*", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
	"and": "&", "or": "|",
}

// functions are the operations that are functions of the text, by type; "" is f32.
var functions = map[loop.Opcode]map[tensor.DType]string{
	"maximum": {tensor.F32: "maximum", tensor.F64: "maximum_f64", tensor.I32: "maximum_int", tensor.I64: "maximum_int"},
	"minimum": {tensor.F32: "minimum", tensor.F64: "minimum_f64", tensor.I32: "minimum_int", tensor.I64: "minimum_int"},
	"abs":     {tensor.F32: "absolute", tensor.F64: "absolute_f64", tensor.I32: "absolute_int", tensor.I64: "absolute_int"},
	"neg":     {tensor.F32: "negative", tensor.F64: "negative_f64"},
	"relu":    {tensor.F32: "relu", tensor.F64: "relu"},
	"div":     {tensor.F32: "tl.div_rn", tensor.I32: "divide_int", tensor.I64: "divide_int"},
	"sqrt":    {tensor.F32: "tl.sqrt_rn", tensor.F64: "tl.sqrt"},
	"floor":   {tensor.F32: "floor"}, "ceil": {tensor.F32: "ceil"}, "round": {tensor.F32: "round_even"},
	"exp": {tensor.F32: "exp"}, "log": {tensor.F32: "log"}, "tanh": {tensor.F32: "tanh"}, "erf": {tensor.F32: "erf"},
	"sigmoid": {tensor.F32: "sigmoid"}, "silu": {tensor.F32: "silu"}, "gelu": {tensor.F32: "gelu"},
	"gelu_tanh": {tensor.F32: "gelu_tanh"}, "atan": {tensor.F32: "atan"},
	"sin": {tensor.F32: "sin"}, "cos": {tensor.F32: "cos"}, "pow": {tensor.F32: "pow"},
	loop.Odd: {tensor.F64: "odd_f64", tensor.I64: "odd_i64", tensor.I32: "odd_i32"},
}

// supports says why an expression has no text; nil when it has.
func supports(list ...*loop.Expr) error {
	var err error
	for _, x := range list {
		if x == nil {
			continue
		}
		x.Walk(func(y *loop.Expr) {
			if err != nil || len(y.Args) == 0 || y.Op == loop.Load || y.Op == loop.Cast {
				return
			}
			t := y.Args[len(y.Args)-1].Type
			_, special := special[y.Op]
			if infix[y.Op] == "" && functions[y.Op][t] == "" && !special {
				err = fmt.Errorf("%s of %v has no form in Triton", y.Op, t)
			}
		})
	}
	return err
}

// special are the operations with a text of their own.
var special = map[loop.Opcode]func(t tensor.DType, args []string) string{
	"where": func(_ tensor.DType, a []string) string { return fmt.Sprintf("tl.where(%s)", strings.Join(a, ", ")) },
	"not":   func(_ tensor.DType, a []string) string { return factor(a[0]) + " == 0" },
	"neg":   func(_ tensor.DType, a []string) string { return "-" + factor(a[0]) },
	"div":   func(_ tensor.DType, a []string) string { return factor(a[0]) + " / " + factor(a[1]) },
	"rsqrt": func(t tensor.DType, a []string) string {
		if t == tensor.F64 {
			return fmt.Sprintf("1.0 / tl.sqrt(%s)", a[0])
		}
		return fmt.Sprintf("tl.div_rn(1.0, tl.sqrt_rn(%s))", a[0])
	},
	loop.RoundF16:  func(_ tensor.DType, a []string) string { return factor(a[0]) + ".to(tl.float16).to(tl.float32)" },
	loop.RoundBF16: func(_ tensor.DType, a []string) string { return factor(a[0]) + ".to(tl.bfloat16).to(tl.float32)" },
}

// operation is the text of an operation on expressions.
func (e *emitter) operation(x *loop.Expr) string {
	t := x.Args[len(x.Args)-1].Type
	if x.Op == loop.Cast {
		return e.cast(x, t)
	}
	name := functions[x.Op][t]
	args := make([]string, len(x.Args))
	constants := 0
	for i, a := range x.Args {
		if args[i] = e.eval(a); a.Op != loop.Const {
			continue
		}
		if constants++; name != "" || special[x.Op] != nil || constants == len(x.Args) {
			args[i] = full(a)
		}
	}
	if x.DividesIntegers() {
		e.Line("fault(fault_ptr, step, %s)", both(e.exists(e.spans(x.Args[1].Varies)), factor(args[1])+" == 0"))
	}
	switch {
	case name != "":
		return fmt.Sprintf("%s(%s)", name, strings.Join(args, ", "))
	case special[x.Op] != nil:
		return special[x.Op](t, args)
	}
	return fmt.Sprintf("%s %s %s", factor(args[0]), infix[x.Op], factor(args[1]))
}

// cast converts a value; to integers it truncates, saturates, and makes NaN 0.
func (e *emitter) cast(x *loop.Expr, from tensor.DType) string {
	v := e.operand(x.Args[0])
	switch to := x.Type; {
	case to == tensor.Bool:
		return factor(v) + " != 0"
	case from.IsFloat() && to == tensor.I64:
		return fmt.Sprintf("to_i64(%s)", v)
	case from == tensor.F32 && to == tensor.I32:
		return fmt.Sprintf("to_i32(%s)", v)
	case from == tensor.F64 && to == tensor.I32:
		return fmt.Sprintf("narrow_i64(to_i64(%s))", v)
	case from == tensor.I64 && to == tensor.I32:
		return fmt.Sprintf("narrow_i64(%s)", v)
	default:
		return fmt.Sprintf("%s.to(%s)", factor(v), dtypes[to])
	}
}

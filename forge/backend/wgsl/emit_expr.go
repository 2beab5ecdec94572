package wgsl

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// infix are the operations that are operators of WGSL, by type.
var infix = map[loop.Opcode]map[tensor.DType]string{
	"add": {tensor.F32: "+", tensor.I32: "+"}, "sub": {tensor.F32: "-", tensor.I32: "-"}, "mul": {tensor.F32: "*", tensor.I32: "*"},
	"eq": {tensor.I32: "==", tensor.Bool: "=="}, "ne": {tensor.I32: "!=", tensor.Bool: "!="},
	"lt": {tensor.I32: "<"}, "le": {tensor.I32: "<="}, "gt": {tensor.I32: ">"}, "ge": {tensor.I32: ">="},
	"and": {tensor.Bool: "&&"}, "or": {tensor.Bool: "||"},
}

// plain are the operations that are functions of WGSL.
var plain = map[loop.Opcode]map[tensor.DType]string{
	"maximum": {tensor.I32: "max"}, "minimum": {tensor.I32: "min"},
}

// turned are the comparisons that are another one with the operands exchanged.
var turned = map[loop.Opcode]loop.Opcode{"gt": "lt", "ge": "le"}

// count finds how often each expression below x is an operand.
func (e *emitter) count(x *loop.Expr) {
	if x == nil {
		return
	}
	x.Walk(func(y *loop.Expr) {
		for _, a := range y.Args {
			e.uses[a]++
		}
		if y.Op == loop.Load {
			for _, g := range y.Access.Gathers {
				e.uses[g.Index]++
			}
		}
	})
	e.uses[x]++
}

// forget drops what has been evaluated: the values of the loop variables change, or
// the block ends.
func (e *emitter) forget() {
	e.known, e.angles = make(map[*loop.Expr]string), make(map[*loop.Expr]string)
}

// longest is the number of characters up to which an expression stands where it is used.
const longest = 60

// eval is the text of an expression. One that is used more than once, or is long, gets a
// name.
func (e *emitter) eval(x *loop.Expr) string {
	if v := e.known[x]; v != "" {
		return v
	}
	var text string
	switch x.Op {
	case loop.Ref:
		return fmt.Sprintf("s%d", x.Stage)
	case loop.Acc:
		return e.acc
	case loop.Const:
		return e.constant(x)
	case loop.Load:
		elsewhere := ""
		for _, a := range x.Args {
			elsewhere = e.eval(a)
		}
		e.known[x] = e.name(e.read(x, elsewhere))
		return e.known[x]
	case loop.Index:
		text = affine(e.vars, x.Affine.Offset, x.Affine.Strides)
		if x.Type == tensor.I64 {
			text = fmt.Sprintf("cast_i64_i32(%s)", text)
		}
	case loop.Inside:
		text = within(affine(e.vars, x.Affine.Offset, x.Affine.Strides), int(x.Int))
	default:
		text = e.operation(x)
	}
	if e.uses[x] < 2 && len(text) <= longest {
		return text
	}
	e.known[x] = e.name(text)
	return e.known[x]
}

// argument is text that stands between commas, where a < b, c > d would be a template.
func argument(text string) string {
	if strings.ContainsAny(text, "<>") {
		return factor(text)
	}
	return text
}

// operation is the text of an operation on expressions.
func (e *emitter) operation(x *loop.Expr) string {
	args := make([]string, len(x.Args))
	for i, a := range x.Args {
		args[i] = argument(e.eval(a))
	}
	if x.Type == tensor.F64 && (x.Op == "sin" || x.Op == "cos") {
		angle := x.Args[0]
		if e.angles[angle] == "" {
			e.angles[angle] = e.name(fmt.Sprintf("twice_turns(%s)", args[0]))
		}
		return fmt.Sprintf("%s_f64(%s)", x.Op, e.angles[angle])
	}
	if x.DividesIntegers() {
		args[1] = e.name(args[1])
		zero := args[1] + " == 0"
		if x.Type == tensor.I64 {
			zero = fmt.Sprintf("!cast_bool_i64(%s)", args[1])
		}
		e.Open("if (%s)", zero)
		e.fault()
		e.Close()
	}
	return e.apply(x, args)
}

func isSum(x *loop.Expr) bool { return x.Op == "add" || x.Op == "sub" }

// grouped keeps sums in a sum from being regrouped: log_softmax is of numbers around the largest,
// not of those and the logarithm.
func grouped(x *loop.Expr, args []string) []string {
	args = slices.Clone(args)
	for i, a := range x.Args {
		if isSum(a) {
			args[i] = fmt.Sprintf("apart(%s)", args[i])
		}
	}
	return args
}

// apply is the text of an operation on texts.
func (e *emitter) apply(x *loop.Expr, args []string) string {
	t := x.Args[len(x.Args)-1].Type
	if op := infix[x.Op][t]; op != "" {
		if t == tensor.F32 && isSum(x) {
			args = grouped(x, args)
		}
		return fmt.Sprintf("%s %s %s", factor(args[0]), op, factor(args[1]))
	}
	switch x.Op {
	case loop.Cast:
		return e.cast(x.Type, t, args[0])
	case "where":
		return fmt.Sprintf("select(%s, %s, %s)", args[2], args[1], args[0])
	case "not":
		return "!" + factor(args[0])
	case "neg":
		if t == tensor.I32 {
			return "0 - " + factor(args[0])
		}
	}
	name := plain[x.Op][t]
	if op := turned[x.Op]; op != "" {
		x = &loop.Expr{Op: op}
		args[0], args[1] = args[1], args[0]
	}
	if name == "" {
		name = fmt.Sprintf("%s_%v", x.Op, t)
	}
	if x.Op == loop.RoundF16 || x.Op == loop.RoundBF16 {
		name = string(x.Op)
	}
	return fmt.Sprintf("%s(%s)", name, strings.Join(args, ", "))
}

// cast converts a value.
func (e *emitter) cast(to, from tensor.DType, v string) string {
	switch {
	case from == tensor.Bool && to == tensor.I64:
		return fmt.Sprintf("vec2u(select(0u, 1u, %s), 0u)", v)
	case from == tensor.Bool && to == tensor.I32:
		return fmt.Sprintf("select(0, 1, %s)", v)
	case from == tensor.Bool:
		return fmt.Sprintf("select(0.0, 1.0, %s)", v)
	case to == tensor.Bool && from == tensor.I32:
		return factor(v) + " != 0"
	}
	return fmt.Sprintf("cast_%v_%v(%s)", to, from, v)
}

// constant is a number, exact.
func (e *emitter) constant(x *loop.Expr) string {
	switch x.Type {
	case tensor.Bool:
		return strconv.FormatBool(x.Int != 0)
	case tensor.I32:
		return integer(int(x.Int))
	case tensor.I64:
		return fmt.Sprintf("vec2u(%#xu, %#xu)", uint32(x.Int), uint32(x.Int>>32))
	case tensor.F16, tensor.BF16:
		v := literal(tensor.RoundToHalf(x.Type, x.Value))
		if e.typeOf(x) == "f16" {
			return fmt.Sprintf("f16(%s)", v)
		}
		return v
	}
	return literal(float32(x.Value))
}

// smallestNormal is the least number that no device takes for 0.
const smallestNormal = 0x1p-126

// literal is a number of f32.
func literal(v float32) string {
	if size := math.Abs(float64(v)); !(size <= math.MaxFloat32) || size < smallestNormal && math.Float32bits(v) != 0 {
		return fmt.Sprintf("from_bits(%#xu)", math.Float32bits(v))
	}
	text := strconv.FormatFloat(float64(v), 'g', -1, 32)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// wideOperations are what there is of f64, in expressions alone.
var wideOperations = []loop.Opcode{loop.Load, loop.Cast, "mul", "sin", "cos"}

// supports says why an expression has no text; nil when it has.
func supports(list ...*loop.Expr) error {
	var err error
	for _, x := range list {
		if x == nil {
			continue
		}
		x.Walk(func(y *loop.Expr) {
			if err == nil && y.Type == tensor.F64 && !slices.Contains(wideOperations, y.Op) {
				err = fmt.Errorf("%s of f64: WGSL has no f64", y.Op)
			}
		})
	}
	return err
}

package cuda

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/backend/code"
	"forgekernel/forge/backend/cpu/source"
	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// emitter writes the CUDA C text of one kernel.
type emitter struct {
	code.Writer
	kernel *loop.Kernel
	acc    string // the sum that an epilogue finishes
	index  string // the type of indices, i32 where all are small enough
	// Accesses whose elements are in an array of the thread: their names there.
	held map[*loop.Access]held
	// aligned says of each parameter that it begins at a multiple of vectorBytes.
	aligned []bool
	target  target
}

// held is an element in an array, and the condition under which there is one; empty for
// always.
type held struct{ at, condition string }

// forms are the types of an element in memory and in registers.
var forms = map[tensor.DType]struct{ elem, value string }{
	tensor.F32:  {"float", "vf"},
	tensor.F64:  {"double", "vd"},
	tensor.F16:  {"u16", "vh"},
	tensor.BF16: {"u16", "vh"},
	tensor.I64:  {"i64", "vl"},
	tensor.I32:  {"i32", "vi"},
	tensor.Bool: {"u8", "vi"},
}

// begin opens the function of the kernel.
func (e *emitter) begin(name string, threads int) {
	var list []string
	for i, p := range e.kernel.Params {
		constant := "const "
		if p.Written {
			constant = ""
		}
		list = append(list, fmt.Sprintf("%s%s *p%d", constant, forms[p.DType()].elem, i))
	}
	list = append(list, "int *fault", "int step")
	e.Open(`extern "C" __global__ void __launch_bounds__(%d) %s(%s)`, threads, name, strings.Join(list, ", "))
}

// coordinates declares the variables of the point with number at in a grid of dims,
// the last running quickest.
func (e *emitter) coordinates(at string, vars []string, dims []int) {
	count := 1
	for i := len(dims) - 1; i >= 0; i-- {
		switch {
		case dims[i] == 1:
			e.Line("%s %s = 0;", e.index, vars[i])
		case i == 0:
			e.Line("%s %s = %s / %d;", e.index, vars[i], at, count)
		default:
			e.Line("%s %s = %s / %d %% %d;", e.index, vars[i], at, count, dims[i])
		}
		count *= dims[i]
	}
}

// affine is an index, of 64 bits unless all of the kernel are small.
func (e *emitter) affine(vars []string, offset int, steps []int) string {
	text := fmt.Sprint(offset)
	if e.index == "i64" {
		text += "ll"
	}
	for i, step := range steps {
		if step != 0 {
			text += fmt.Sprintf(" + %s * %d", vars[i], step)
		}
	}
	return text
}

// memory is the suffix of the functions that load and store what an access moves.
func (e *emitter) memory(a *loop.Access) string {
	if a.Bits {
		return "bits16"
	}
	return e.kernel.Params[a.Param].DType().String()
}

// locate writes what an access needs before its element can be touched, and gives its
// address, and the condition under which there is one; empty for always.
func (e *emitter) locate(vars []string, a *loop.Access, names map[*loop.Expr]string) (at, condition string) {
	at = fmt.Sprintf("p%d + (%s)", a.Param, e.affine(vars, a.Offset, a.Strides))
	var all []string
	for _, g := range a.Guards {
		all = append(all, fmt.Sprintf("inside(%s, %d)", e.affine(vars, g.Offset, g.Strides), g.Size))
	}
	guarded := strings.Join(all, " && ")
	for i := range a.Gathers {
		g := &a.Gathers[i]
		value, index := e.eval(vars, g.Index, names), e.Temp()
		e.Line("i64 %s = lane0_i64(%s);", index, value)
		wrong := fmt.Sprintf("!inside(%s, %d)", index, g.Size)
		if guarded != "" {
			wrong = guarded + " && " + wrong
		}
		e.Line("if (%s) FAULT;", wrong)
		all = append(all, fmt.Sprintf("inside(%s, %d)", index, g.Size))
		at += fmt.Sprintf(" + %s * %d", index, g.Step)
	}
	return at, strings.Join(all, " && ")
}

// read gives the element of an access; elsewhere is the value where there is none.
func (e *emitter) read(vars []string, x *loop.Expr, elsewhere string, names map[*loop.Expr]string) string {
	if h, is := e.held[x.Access]; is {
		text := fmt.Sprintf("load_%s(%s)", e.memory(x.Access), h.at)
		if h.condition != "" {
			text = fmt.Sprintf("%s ? %s : %s", h.condition, text, cmp.Or(elsewhere, forms[x.Type].value+"()"))
		}
		return text
	}
	at, condition := e.locate(vars, x.Access, names)
	text := fmt.Sprintf("load_%s(%s)", e.memory(x.Access), at)
	switch {
	case condition == "":
		return text
	case elsewhere == "": // a fault, whose value nobody sees
		elsewhere = fmt.Sprintf("%s()", forms[x.Type].value)
	}
	return fmt.Sprintf("%s ? %s : %s", condition, text, elsewhere)
}

// write stores a value through an access, on one condition more.
func (e *emitter) write(vars []string, a *loop.Access, value, when string) {
	if h, is := e.held[a]; is {
		e.Line("store_%s(%s, %s);", e.memory(a), h.at, value)
		return
	}
	at, condition := e.locate(vars, a, make(map[*loop.Expr]string))
	if condition != "" && when != "" {
		condition += " && "
	}
	if condition += when; condition != "" {
		e.Line("if (%s) store_%s(%s, %s);", condition, e.memory(a), at, value)
		return
	}
	e.Line("store_%s(%s, %s);", e.memory(a), at, value)
}

// expr evaluates an expression into a new variable and returns its name.
func (e *emitter) expr(vars []string, x *loop.Expr) string {
	return e.eval(vars, x, make(map[*loop.Expr]string))
}

// eval is [emitter.expr] with the names of what has been evaluated.
func (e *emitter) eval(vars []string, x *loop.Expr, names map[*loop.Expr]string) string {
	if name := names[x]; name != "" {
		return name
	}
	args := make([]string, len(x.Args))
	for i, a := range x.Args {
		args[i] = e.eval(vars, a, names)
	}
	var text string
	switch x.Op {
	case loop.Ref:
		return fmt.Sprintf("s%d", x.Stage)
	case loop.Acc:
		return e.acc
	case loop.Load:
		text = e.read(vars, x, strings.Join(args, ""), names)
	case loop.Const:
		text = constant(x)
	case loop.Index:
		text = fmt.Sprintf("set_%v(%s)", x.Type, e.affine(vars, x.Affine.Offset, x.Affine.Strides))
	case loop.Inside:
		text = fmt.Sprintf("set_i32(inside(%s, %d) ? -1 : 0)", e.affine(vars, x.Affine.Offset, x.Affine.Strides), x.Int)
	default:
		if x.DividesIntegers() {
			e.Line("if (any(v_eq_%v(%s, set_%v(0)))) FAULT;", x.Type, args[1], x.Type)
		}
		text = fmt.Sprintf("%s(%s)", function(x), strings.Join(args, ", "))
	}
	names[x] = e.Temp()
	e.Line("%s %s = %s;", forms[x.Type].value, names[x], text)
	return names[x]
}

// constant is a number, exact.
func constant(x *loop.Expr) string {
	return source.Constant(x, func(b uint32) string { return fmt.Sprintf("vf(vi((i32)%#xu))", b) })
}

// elementary are the operations for which package cuda has functions of f64.
var elementary = []loop.Opcode{
	"exp", "log", "sin", "cos", "atan", "erf", "tanh", "sigmoid", "silu", "gelu", "gelu_tanh", "pow",
}

// function is the C function of an operation.
func function(x *loop.Expr) string {
	if x.Type == tensor.F64 && slices.Contains(elementary, x.Op) {
		return "wide_" + string(x.Op)
	}
	return source.Function(x)
}

package triton

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"forgekernel/forge/backend/code"
	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// dtypes are the types of Triton, by those of tensors.
var dtypes = map[tensor.DType]string{
	tensor.F32: "tl.float32", tensor.F64: "tl.float64", tensor.F16: "tl.float16", tensor.BF16: "tl.bfloat16",
	tensor.I64: "tl.int64", tensor.I32: "tl.int32", tensor.Bool: "tl.int1",
}

// emitter writes one kernel.
type emitter struct {
	code.Writer
	kernel *loop.Kernel
	out    *Kernel
	taken  map[string]bool // names
	vars   []string        // the variables of the loop dimensions, "0" for one of a single point
	tile
	known  map[*loop.Expr]string
	loads  map[string]string // the variables that hold elements, by their address and type
	stages []string          // the values of stages
	stored map[int]bool      // parameters that the block has written since the last barrier
	acc    string            // the sum that an epilogue finishes
	wide   bool              // indices need 64 bits
	uses   map[*loop.Expr]int
}

func newEmitter(k *loop.Kernel, n *ir.Node) *emitter {
	e := &emitter{
		Writer: code.Writer{Indent: "    "},
		kernel: k, out: &Kernel{Faults: k.CanFault()},
		taken: make(map[string]bool), uses: make(map[*loop.Expr]int), stored: make(map[int]bool),
	}
	e.out.Name, e.out.Doc = k.Op, k.Op
	if n != nil {
		e.out.Value, e.out.Doc = n.Out[0].String(), n.Line()
		e.out.Name = k.Op + "_" + identifier(n.Out[0].Name)
	}
	for _, p := range k.Params {
		e.out.Arguments = append(e.out.Arguments, Argument{e.argument(p), p.String(), p})
		e.wide = e.wide || p.Elements() > math.MaxInt32
	}
	e.forget()
	return e
}

// argument is the name of a parameter that no other has.
func (e *emitter) argument(p loop.Param) string {
	base := identifier(p.String())
	name := base
	for i := 1; e.taken[name+"_ptr"]; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	e.taken[name+"_ptr"] = true
	return name + "_ptr"
}

// base is the name of the value behind parameter i.
func (e *emitter) base(i int) string { return strings.TrimSuffix(e.out.Arguments[i].Name, "_ptr") }

// forget drops the variables of the block that ends.
func (e *emitter) forget() {
	e.known, e.loads = make(map[*loop.Expr]string), make(map[string]string)
}

// begin writes the head of the function, whose constants are given by name.
func (e *emitter) begin(constants ...string) {
	var list []string
	for _, a := range e.out.Arguments {
		list = append(list, a.Name)
	}
	if e.out.Faults {
		list = append(list, "fault_ptr", "step")
	}
	e.Line("@triton.jit")
	e.Line("def %s(", e.out.Name)
	e.Line("    %s,", strings.Join(list, ", "))
	for _, c := range constants {
		e.Line("    %s: tl.constexpr,", c)
	}
	e.Line("):")
	e.Depth++
	e.Line(`"""%s"""`, docstring(e.out.Doc))
}

// affine is an index.
func (e *emitter) affine(offset int, steps []int) string {
	if e.flat != nil && slices.Equal(steps, e.flat) && offset == 0 {
		return "offset"
	}
	var terms []string
	for i, step := range steps {
		switch {
		case step == 0 || e.vars[i] == "0":
		case step == 1:
			terms = append(terms, e.vars[i])
		default:
			terms = append(terms, fmt.Sprintf("%s * %d", factor(e.vars[i]), step))
		}
	}
	if offset != 0 || len(terms) == 0 {
		terms = append(terms, strconv.Itoa(offset))
	}
	return strings.ReplaceAll(strings.Join(terms, " + "), "+ -", "- ")
}

// factor is text that can be an operand of any operator.
func factor(text string) string {
	if strings.ContainsAny(text, " ") && !enclosed(text) {
		return "(" + text + ")"
	}
	return text
}

// enclosed reports whether text is one call or one pair of parentheses.
func enclosed(text string) bool {
	at := strings.IndexByte(text, '(')
	if at < 0 || !strings.HasSuffix(text, ")") || strings.ContainsAny(text[:at], " ") {
		return false
	}
	depth := 0
	for i, r := range text {
		switch r {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i == len(text)-1
			}
		}
	}
	return false
}

// both joins conditions, of which some may be empty. One that is itself joined stays
// as it is: "a & (b < c)".
func both(conditions ...string) string {
	conditions = slices.DeleteFunc(slices.Clone(conditions), func(c string) bool { return c == "" })
	if len(conditions) == 1 {
		return conditions[0]
	}
	for i, c := range conditions {
		if !joined(c) {
			conditions[i] = factor(c)
		}
	}
	return strings.Join(conditions, " & ")
}

// joined reports whether text is what [both] makes: factors with & between them.
func joined(text string) bool {
	depth, start := 0, 0
	for i, r := range text {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case depth == 0 && strings.HasPrefix(text[i:], " & "):
			if part := text[start:i]; factor(part) != part {
				return false
			}
			start = i + 3
		}
	}
	return start > 0 && factor(text[start:]) == text[start:]
}

// name declares a variable.
func (e *emitter) name(prefix, text string) string {
	v := unique(prefix, e.taken)
	e.Line("%s = %s", v, text)
	return v
}

// count finds how often each expression below x is an operand.
func (e *emitter) count(list ...*loop.Expr) {
	for _, x := range list {
		if x != nil {
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
	}
}

// longest is the number of characters up to which an expression stands where it is
// used.
const longest = 60

// eval is the text of an expression. One that is used more than once, or is long, gets
// a variable.
func (e *emitter) eval(x *loop.Expr) string {
	if v := e.known[x]; v != "" {
		return v
	}
	var text string
	switch x.Op {
	case loop.Ref:
		return e.stages[x.Stage]
	case loop.Acc:
		return e.acc
	case loop.Const:
		return constant(x)
	case loop.Load:
		v := e.load(x)
		e.known[x] = v
		return v
	case loop.Index:
		text = e.affine(x.Affine.Offset, x.Affine.Strides)
	case loop.Inside:
		place := e.affine(x.Affine.Offset, x.Affine.Strides)
		text = fmt.Sprintf("(%s >= 0) & (%s < %d)", place, place, x.Int)
	default:
		text = e.operation(x)
	}
	if e.uses[x] < 2 && len(text) <= longest {
		return text
	}
	e.known[x] = e.name(string(x.Op)+"_", text)
	return e.known[x]
}

// operand is an expression as an operand of a function, where a number is a tensor.
func (e *emitter) operand(x *loop.Expr) string {
	if x.Op == loop.Const {
		return full(x)
	}
	return e.eval(x)
}

// full is a number as a tensor without dimensions.
func full(x *loop.Expr) string {
	if x.Type == tensor.F32 && x.Value == 0 && math.Signbit(x.Value) {
		return "minus_zero()"
	}
	return fmt.Sprintf("tl.full((), %s, %s)", constant(x), dtypes[x.Type])
}

// constant is a number, exact.
func constant(x *loop.Expr) string {
	switch {
	case x.Type == tensor.Bool:
		return map[bool]string{false: "False", true: "True"}[x.Int != 0]
	case !x.Type.IsFloat():
		return strconv.FormatInt(x.Int, 10)
	case x.Value != x.Value || math.IsInf(x.Value, 0):
		return fmt.Sprintf(`float("%s")`, strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(x.Value, 'g', -1, 64), "+")))
	}
	bits := 64
	if x.Type != tensor.F64 {
		bits = 32
	}
	text := strconv.FormatFloat(x.Value, 'g', -1, bits)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

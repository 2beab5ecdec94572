package wgsl

import (
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// operand is a parameter of a kernel: the elements of an array from base on.
type operand struct {
	array  string
	base   int
	elem   Elem
	dtype  tensor.DType
	vector bool // the array is of vectors of four
}

// geometry is how a kernel is dispatched.
type geometry struct {
	groups    int // workgroups, which have numbers
	workgroup [3]int
	storage   int // bytes of workgroup memory
	reason    string
}

// invocations are those of a workgroup.
func (g geometry) invocations() int { return g.workgroup[0] * g.workgroup[1] * g.workgroup[2] }

// emitter writes the entry point of one kernel.
type emitter struct {
	strings.Builder
	kernel   *loop.Kernel
	operands []operand
	target   Target
	depth    int
	temps    int
	vars     []string // of the loop dimensions
	acc      string   // the sum that an epilogue finishes
	faults   bool     // it can write the fault word
	shared   []string // declarations of workgroup memory
	bytes    int      // of workgroup memory
	known    map[*loop.Expr]string
	uses     map[*loop.Expr]int
}

func (e *emitter) line(format string, args ...any) {
	e.WriteString(strings.Repeat("  ", e.depth))
	fmt.Fprintf(e, format, args...)
	e.WriteByte('\n')
}

func (e *emitter) open(format string, args ...any) {
	e.line("%s {", fmt.Sprintf(format, args...))
	e.depth++
}

func (e *emitter) close() {
	e.depth--
	e.line("}")
}

func (e *emitter) temp() string {
	e.temps++
	return fmt.Sprintf("t%d", e.temps-1)
}

// name gives a value a name, unless it has one.
func (e *emitter) name(text string) string {
	if isName(text) {
		return text
	}
	t := e.temp()
	e.line("let %s = %s;", t, text)
	return t
}

func isName(text string) bool { return word.FindString(text) == text }

// share declares an array of workgroup memory, unless it is there.
func (e *emitter) share(name, elem string, size int) {
	text := fmt.Sprintf("var<workgroup> %s: array<%s, %d>;", name, elem, size)
	if !slices.Contains(e.shared, text) {
		e.shared = append(e.shared, text)
		e.bytes += size * wide[elem]
	}
}

// wide are the bytes of types in workgroup memory.
var wide = map[string]int{"f32": 4, "i32": 4, "u32": 4, "vec2u": 8, "vec4f": 16}

// values are the types of numbers in WGSL. Those of half precision are computed with as
// f32.
var values = map[tensor.DType]string{
	tensor.F32: "f32", tensor.F16: "f32", tensor.BF16: "f32", tensor.I32: "i32", tensor.I64: "vec2u", tensor.Bool: "bool",
	tensor.F64: "twice",
}

// arrays are the types of elements in memory.
var arrays = map[Elem]string{ElemF32: "f32", ElemF16: "f16", ElemI32: "i32", ElemI64: "vec2u", ElemBool: "u32", ElemPair: "vec2f"}

// elemOf is how an element of a type stands on the target.
func (t Target) elemOf(d tensor.DType) (Elem, error) {
	switch d {
	case tensor.F32, tensor.BF16:
		return ElemF32, nil
	case tensor.F16:
		if t.F16 {
			return ElemF16, nil
		}
		return ElemF32, nil
	case tensor.I32:
		return ElemI32, nil
	case tensor.I64:
		return ElemI64, nil
	case tensor.Bool:
		return ElemBool, nil
	}
	return "", fmt.Errorf("WGSL has no %v", d)
}

// elemOfConstant is how an element of a constant of a node's own stands there.
func (t Target) elemOfConstant(d tensor.DType) (Elem, error) {
	if d == tensor.F64 {
		return ElemPair, nil
	}
	return t.elemOf(d)
}

// placeholder stands for the name of the kernel in its text.
const placeholder = "@kernel@"

// group is the number of the workgroup, as an expression of u32.
const group = "group"

// begin opens the entry point, which ends where there is no workgroup of that number.
func (e *emitter) begin(g geometry) {
	e.line("@compute @workgroup_size(%d, %d, %d)", g.workgroup[0], g.workgroup[1], g.workgroup[2])
	e.open("fn " + placeholder + "(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32)")
	x, y := e.target.grid(g.groups)
	if y == 1 {
		e.line("let %s = id.x;", group)
		return
	}
	e.line("let %s = id.y * %du + id.x;", group, x)
	if x*y != g.groups {
		e.line("if (%s >= %du) { return; }", group, g.groups)
	}
}

// grid lays out workgroups in two dimensions, since one has too few.
func (t Target) grid(groups int) (x, y int) {
	y = (groups + t.Limits.Groups - 1) / t.Limits.Groups
	return (groups + y - 1) / y, y
}

// coordinates declares the variables of the point with number at in a grid of dims,
// the last running quickest.
func (e *emitter) coordinates(at string, vars []string, dims []int) {
	count := product(dims)
	for i, d := range dims {
		count /= max(d, 1)
		text := at
		if count > 1 {
			text += fmt.Sprintf(" / %du", count)
		}
		if product(dims[:i]) > 1 {
			text += fmt.Sprintf(" %% %du", d)
		}
		if d < 2 {
			vars[i] = "0"
			continue
		}
		e.line("let %s = i32(%s);", vars[i], text)
	}
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

func ceil(n, by int) int { return (n + by - 1) / by }

// ceilPower is the smallest power of two that is not less than n.
func ceilPower(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}

// affine is an index.
func affine(vars []string, offset int, steps []int) string {
	var terms []string
	for i, step := range steps {
		switch {
		case step == 0 || vars[i] == "0":
		case step == 1:
			terms = append(terms, vars[i])
		default:
			terms = append(terms, fmt.Sprintf("%s * %d", factor(vars[i]), step))
		}
	}
	if offset != 0 || len(terms) == 0 {
		terms = append(terms, fmt.Sprint(offset))
	}
	return strings.ReplaceAll(strings.Join(terms, " + "), "+ -", "- ")
}

// factor is text that can be an operand of any operator.
func factor(text string) string {
	if strings.ContainsAny(text, " -!~") && !enclosed(text) {
		return "(" + text + ")"
	}
	return text
}

// enclosed reports whether text is one call, one element or one pair of parentheses.
func enclosed(text string) bool {
	at := strings.IndexAny(text, "([")
	if at < 0 || strings.ContainsAny(text[:at], " -!~") {
		return false
	}
	depth := 0
	for i, r := range text {
		switch r {
		case '(', '[':
			depth++
		case ')', ']':
			if depth--; depth == 0 {
				return i == len(text)-1
			}
		}
	}
	return false
}

// both joins conditions, of which some may be empty.
func both(conditions ...string) string {
	conditions = slices.DeleteFunc(slices.Clone(conditions), func(c string) bool { return c == "" })
	return strings.Join(conditions, " && ")
}

// within is the condition that an index is at least 0 and below a size.
func within(index string, size int) string {
	return fmt.Sprintf("u32(%s) < %du", index, size)
}

// fault says that the run has failed.
func (e *emitter) fault() {
	e.faults = true
	e.line("atomicStore(&fault, 1u);")
}

// locate gives the place of an access in the array of its parameter, and the condition
// under which there is one; empty for always.
func (e *emitter) locate(a *loop.Access) (at, condition string) {
	o := e.operands[a.Param]
	at = affine(e.vars, a.Offset+o.base, a.Strides)
	var all []string
	for _, g := range a.Guards {
		all = append(all, within(affine(e.vars, g.Offset, g.Strides), g.Size))
	}
	guarded := both(all...)
	for i := range a.Gathers {
		g := &a.Gathers[i]
		place, inside := e.gathered(g)
		e.open("if (%s)", both(guarded, "!"+factor(inside)))
		e.fault()
		e.close()
		all = append(all, inside)
		if g.Step != 0 {
			at += fmt.Sprintf(" + %s * %d", place, g.Step)
		}
	}
	return at, both(all...)
}

// gathered is the index of a gather as an i32, and the condition that it is in range. One
// that was widened from 32 bits is taken before that.
func (e *emitter) gathered(g *loop.Gather) (place, inside string) {
	if x := g.Index; x.Op == loop.Cast && x.Args[0].Type == tensor.I32 {
		place = e.name(e.eval(x.Args[0]))
		return place, e.name(within(place, g.Size))
	}
	index := e.name(e.eval(g.Index))
	return fmt.Sprintf("i32(%s.x)", index), e.name(fmt.Sprintf("inside_i64(%s, %du)", index, g.Size))
}

// element is an element of an operand as it is computed with, or as it stands there.
func (o operand) element(at string, bits bool) string {
	text := fmt.Sprintf("%s[%s]", o.array, at)
	switch {
	case o.elem == ElemBool:
		return text + " != 0u"
	case o.elem == ElemPair:
		return fmt.Sprintf("twice(%s.x, %s.y)", text, text)
	case o.elem == ElemF16 && !bits:
		return fmt.Sprintf("f32(%s)", text)
	}
	return text
}

// typeOf is the type of an expression.
func (e *emitter) typeOf(x *loop.Expr) string {
	if x.Type == tensor.F16 && e.target.F16 {
		return "f16"
	}
	return values[x.Type]
}

// read gives the element of an access; elsewhere is the value where there is none.
func (e *emitter) read(x *loop.Expr, elsewhere string) string {
	at, condition := e.locate(x.Access)
	text := e.operands[x.Access.Param].element(at, x.Access.Bits)
	if condition == "" {
		return text
	}
	t := e.temp()
	if elsewhere == "" { // a fault, whose value nobody sees
		elsewhere = e.typeOf(x) + "()"
	}
	e.line("var %s = %s;", t, elsewhere)
	e.line("if (%s) { %s = %s; }", condition, t, text)
	return t
}

// stored is a value as it stands in memory.
func (o operand) stored(value string, bits bool) string {
	switch {
	case o.elem == ElemBool:
		return fmt.Sprintf("select(0u, 1u, %s)", value)
	case bits || o.dtype != tensor.F16 && o.dtype != tensor.BF16:
		return value
	case o.elem == ElemF16:
		return fmt.Sprintf("f16(round_f16(%s))", value)
	}
	return fmt.Sprintf("round_%v(%s)", o.dtype, value)
}

// write stores a value through an access, on one condition more.
func (e *emitter) write(a *loop.Access, value, when string) {
	at, condition := e.locate(a)
	o := e.operands[a.Param]
	text := fmt.Sprintf("%s[%s] = %s;", o.array, at, o.stored(value, a.Bits))
	if condition = both(condition, when); condition != "" {
		text = fmt.Sprintf("if (%s) { %s }", condition, text)
	}
	e.line("%s", text)
}

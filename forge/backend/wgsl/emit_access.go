package wgsl

import (
	"fmt"
	"strconv"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// values are the types of numbers in WGSL. Those of half precision are computed with as
// f32.
var values = map[tensor.DType]string{
	tensor.F32: "f32", tensor.F16: "f32", tensor.BF16: "f32", tensor.I32: "i32", tensor.I64: "vec2u", tensor.Bool: "bool",
	tensor.F64: "twice",
}

// arrays are the types of elements in memory.
var arrays = map[Elem]string{ElemF32: "f32", ElemF16: "f16", ElemI32: "i32", ElemI64: "vec2u", ElemBool: "u32", ElemPair: "vec2f", ElemHalves: "u32", ElemBHalves: "u32"}

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

// elemRead is how an element stands where no kernel writes.
func (t Target) elemRead(d tensor.DType) (Elem, error) {
	switch {
	case d == tensor.F16 && !t.F16:
		return ElemHalves, nil
	case d == tensor.BF16:
		return ElemBHalves, nil
	}
	return t.elemOf(d)
}

// within is the condition that an index is at least 0 and below a size. WGSL takes no
// negative constant for a u32.
func within(index string, size int) string {
	if n, err := strconv.Atoi(index); err == nil {
		return strconv.FormatBool(0 <= n && n < size)
	}
	return fmt.Sprintf("u32(%s) < %du", index, size)
}

// fault says that the run has failed.
func (e *emitter) fault() {
	e.faults = true
	e.Line("atomicStore(&fault, 1u);")
}

// locate gives the place of an access in the array of its parameter, and the condition
// under which there is one; empty for always.
func (e *emitter) locate(a *loop.Access) (at, condition string) {
	o := e.operands[a.Param]
	at = affine(e.vars, a.Offset+o.base, a.Strides)
	if n, err := strconv.Atoi(at); err == nil && n < 0 {
		at = "0" // what a guard keeps from being touched has to be an index all the same
	}
	var all []string
	for _, g := range a.Guards {
		all = append(all, within(affine(e.vars, g.Offset, g.Strides), g.Size))
	}
	guarded := both(all...)
	for i := range a.Gathers {
		g := &a.Gathers[i]
		place, inside := e.gathered(g)
		e.Open("if (%s)", both(guarded, "!"+factor(inside)))
		e.fault()
		e.Close()
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
	case o.elem == ElemHalves || o.elem == ElemBHalves:
		return fmt.Sprintf("half_%v(%s[%s / 2], %s)", o.dtype, o.array, factor(at), at)
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
	t := e.Temp()
	if elsewhere == "" { // a fault, whose value nobody sees
		elsewhere = e.typeOf(x) + "()"
	}
	e.Line("var %s = %s;", t, elsewhere)
	e.Line("if (%s) { %s = %s; }", condition, t, text)
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
	e.Line("%s", text)
}

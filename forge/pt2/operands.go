package pt2

import (
	"fmt"
	"math"

	"forgekernel/forge/importer"
	"forgekernel/forge/ir"
	"forgekernel/forge/pt2/archive"
	"forgekernel/forge/tensor"
)

// argument is an argument by the name of its parameter; nil when it is left out or
// None.
func (c *call) argument(name string) *archive.Argument {
	c.read[name] = true
	a := c.args[name]
	if a == nil || a.None() {
		return nil
	}
	return a
}

func (c *call) has(name string) bool { return c.argument(name) != nil }

// must is an argument that has no default.
func (c *call) must(name string) *archive.Argument {
	a := c.argument(name)
	if a == nil {
		c.Fail("the argument %s is missing", name)
	}
	return a
}

func (c *call) wrongKind(name string, a *archive.Argument) {
	c.Fail("the argument %s is of kind %s, which does not fit", name, a.Kind)
}

func (c *call) lookup(name string) *value {
	v, err := c.scope.lookup(name)
	c.Check(err)
	return v
}

// value is a tensor argument.
func (c *call) value(name string) *value {
	a := c.must(name)
	if a.List || len(a.Names) != 1 {
		c.wrongKind(name, a)
	}
	v := c.lookup(a.Names[0])
	if v.number != nil {
		c.Fail("the argument %s is a number instead of a tensor", name)
	}
	return v
}

// tensor is a tensor argument as a value of the program.
func (c *call) tensor(name string) *ir.Value { return c.program(c.value(name)) }

// program is a value in the graph that is built.
func (c *call) program(v *value) *ir.Value {
	if c.scratch == nil {
		u, err := c.materialise(v)
		c.Check(err)
		return u
	}
	u := c.scratch[v]
	if u == nil {
		t := v.known
		if v.number != nil {
			t = v.number.tensor()
		}
		u = c.Constant(t, nil)
		c.scratch[v] = u
	}
	return u
}

// optional is a tensor argument, or nil.
func (c *call) optional(name string) *ir.Value {
	if !c.has(name) {
		return nil
	}
	return c.tensor(name)
}

// tensors is a list of tensors; those that are None are nil.
func (c *call) tensors(name string) []*ir.Value {
	a := c.must(name)
	if !a.List {
		c.wrongKind(name, a)
	}
	list := make([]*ir.Value, len(a.Names))
	for i, n := range a.Names {
		if n != "" {
			list[i] = c.program(c.lookup(n))
		}
	}
	return list
}

// allTensors is a list without None.
func (c *call) allTensors(name string) []*ir.Value {
	list := c.tensors(name)
	for _, v := range list {
		if v == nil {
			c.Fail("a tensor of %s is None", name)
		}
	}
	if len(list) == 0 {
		c.Fail("%s is empty", name)
	}
	return list
}

// number is a number argument; nil when it is left out. A tensor with one element is
// one when it is known.
func (c *call) number(name string) *number {
	a := c.argument(name)
	switch {
	case a == nil:
		return nil
	case a.Kind == "as_int":
		return integer(a.Ints[0].Int)
	case a.Kind == "as_float":
		return real(a.Reals[0])
	case a.Kind == "as_bool":
		return boolean(a.Flags[0])
	case len(a.Ints) == 1 && a.Kind != "as_ints" && a.Kind != "as_sym_ints":
		return c.scalar(name, a.Ints[0])
	case len(a.Names) == 1 && !a.List:
		if v := c.lookup(a.Names[0]); v.number != nil {
			return v.number
		}
		return c.item(name)
	}
	c.wrongKind(name, a)
	return nil
}

// scalar is an integer or the number that a name stands for.
func (c *call) scalar(name string, s archive.Scalar) *number {
	if s.Name == "" {
		return integer(s.Int)
	}
	v := c.lookup(s.Name)
	if v.number == nil {
		c.Fail("%s is a tensor instead of a number", name)
	}
	return v.number
}

// item is the element of a tensor that must be known.
func (c *call) item(name string) *number {
	v := c.value(name)
	if v.known == nil {
		c.need(v, name)
	}
	if v.known.Len() != 1 {
		c.Fail("%s has %d elements; it must have one", name, v.known.Len())
	}
	switch v.known.DType() {
	case tensor.Bool:
		return boolean(v.known.Elem(0) != 0)
	case tensor.I64:
		return integer(v.known.Int64()[0])
	case tensor.I32:
		return integer(int64(v.known.Elem(0)))
	}
	return real(v.known.Elem(0))
}

// need ends the import because a tensor is not known.
func (c *call) need(v *value, name string) {
	what := fmt.Sprintf("%s of %s", name, c.describe(c.node))
	input := c.inputBehind(v.computed)
	e := &importer.NeedError{Input: input, Purpose: what}
	e.Err = fmt.Errorf("the tensor %s must be known when the program is compiled; it is computed when the program runs", name)
	if input != "" {
		e.Err = fmt.Errorf("the tensor %s must be known when the program is compiled: give a value for input %q", name, input)
	}
	c.Check(e)
}

// inputBehind is an input, not bound yet, that a value is computed from; empty when
// there is none.
func (c *call) inputBehind(v *ir.Value) string {
	var found string
	seen := make(map[*ir.Value]bool)
	var visit func(*ir.Value)
	visit = func(v *ir.Value) {
		if v == nil || seen[v] || found != "" {
			return
		}
		seen[v] = true
		if name := c.origin[v]; name != "" {
			found = name
			return
		}
		if v.Def != nil {
			for _, u := range v.Def.In {
				visit(u)
			}
		}
	}
	visit(v)
	return found
}

// int is an integer argument, or the default.
func (c *call) int(name string, absent int64) int64 {
	n := c.number(name)
	switch {
	case n == nil:
		return absent
	case n.kind == floatKind:
		c.Fail("the argument %s is %v instead of an integer", name, n.real)
	}
	return n.int
}

// mustInt is an integer that has no default.
func (c *call) mustInt(name string) int64 {
	c.must(name)
	return c.int(name, 0)
}

func (c *call) float(name string, absent float64) float64 {
	if n := c.number(name); n != nil {
		return n.float()
	}
	return absent
}

func (c *call) flag(name string, absent bool) bool {
	n := c.number(name)
	switch {
	case n == nil:
		return absent
	case n.kind == floatKind:
		c.Fail("the argument %s is %v instead of a bool", name, n.real)
	}
	return n.int != 0
}

func (c *call) str(name, absent string) string {
	a := c.argument(name)
	switch {
	case a == nil:
		return absent
	case a.Kind != "as_string":
		c.wrongKind(name, a)
	}
	return a.Text
}

// ints is a list of integers; nil when it is left out. One integer is a list.
func (c *call) ints(name string) []int64 {
	a := c.argument(name)
	switch {
	case a == nil:
		return nil
	case len(a.Names) > 0 || len(a.Reals) > 0 || len(a.Flags) > 0:
		if a.List || len(a.Names) != 1 {
			c.wrongKind(name, a)
		}
		return []int64{c.int(name, 0)}
	}
	list := make([]int64, len(a.Ints))
	for i, s := range a.Ints {
		n := c.scalar(name, s)
		if n.kind == floatKind {
			c.Fail("the argument %s has %v instead of an integer", name, n.real)
		}
		list[i] = n.int
	}
	return list
}

// lengths is a list of lengths.
func (c *call) lengths(name string) []int {
	c.must(name)
	return c.Lengths(c.ints(name))
}

// perDim is a number for each of n dimensions; one stands for all.
func (c *call) perDim(name string, n, absent int) []int {
	list := c.Lengths(c.ints(name))
	out := make([]int, n)
	for i := range out {
		switch {
		case len(list) == 0:
			out[i] = absent
		case len(list) == 1:
			out[i] = list[0]
		case len(list) == n:
			out[i] = list[i]
		default:
			c.Fail("%s has %d numbers for %d dimensions", name, len(list), n)
		}
	}
	return out
}

// element is an argument that names an element type; ok is false when it is left out.
func (c *call) element(name string) (dtype tensor.DType, ok bool) {
	a := c.argument(name)
	if a == nil {
		return 0, false
	}
	s := archive.ScalarType(a.Enum)
	switch {
	case a.Kind != "as_scalar_type":
		c.wrongKind(name, a)
	case !s.Supported():
		c.Fail("elements of type %v are not supported", s)
	}
	return s.Held(), true
}

// axis is an argument that names a dimension, from 0 on.
func (c *call) axis(name string, absent int64, rank int) int {
	return c.Axis(c.int(name, absent), max(rank, 1))
}

// castTo converts v to the type that an argument names, if it does.
func (c *call) castTo(name string, v *ir.Value) *ir.Value {
	if dtype, ok := c.element(name); ok {
		return c.Cast(v, dtype)
	}
	return v
}

// literal is a number as a scalar of a type.
func (c *call) literal(n *number, dtype tensor.DType) *ir.Value {
	if dtype == tensor.I64 && n.kind != floatKind {
		return c.Constant(integer(n.int).tensor(), nil)
	}
	x := n.float()
	if math.IsNaN(x) && !dtype.IsFloat() {
		c.Fail("NaN is no %v", dtype)
	}
	return c.Constant(tensor.Scalar(dtype, x), nil)
}

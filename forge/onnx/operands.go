package onnx

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

// has reports whether operand i is there.
func (c *call) has(i int) bool {
	if i >= 0 && i < 64 {
		c.seen.operands |= 1 << i
	}
	return i >= 0 && i < len(c.in) && c.in[i] != nil
}

// allOperands marks all operands as seen.
const allOperands = 1<<64 - 1

func (c *call) operand(i int) *value {
	if !c.has(i) {
		c.Fail("operand %d is missing", i)
	}
	return c.in[i]
}

// arg is operand i as a value of the program.
func (c *call) arg(i int) *ir.Value {
	v := c.operand(i)
	if v.computed == nil {
		u, err := c.B.Const(v.known)
		c.Check(err)
		v.computed = u
	}
	return v.computed
}

// args are all operands.
func (c *call) args() []*ir.Value {
	list := make([]*ir.Value, len(c.in))
	c.seen.operands = allOperands
	for i := range c.in {
		list[i] = c.arg(i)
	}
	return list
}

// optional is operand i, or nil.
func (c *call) optional(i int) *ir.Value {
	if !c.has(i) {
		return nil
	}
	return c.arg(i)
}

func (c *call) shape(i int) []int          { return c.operand(i).shape() }
func (c *call) rank(i int) int             { return len(c.shape(i)) }
func (c *call) dtype(i int) tensor.DType   { return c.operand(i).dtype() }
func (c *call) known(i int) *tensor.Tensor { return c.operand(i).known }

// mustKnow is operand i, which acts as an attribute; purpose names it, as "the shape".
func (c *call) mustKnow(i int, purpose string) *tensor.Tensor {
	v := c.operand(i)
	if v.known == nil {
		c.need(i, purpose)
	}
	return v.known
}

// intsOf is operand i as integers.
func (c *call) intsOf(i int, purpose string) []int64 {
	return integerElements(c.mustKnow(i, purpose))
}

func integerElements(t *tensor.Tensor) []int64 {
	list := make([]int64, t.Len())
	for i := range list {
		list[i] = tensor.Saturate64(t.Elem(i))
	}
	if t.DType() == tensor.I64 {
		copy(list, t.Int64())
	}
	return list
}

// scalarOf is operand i as one number.
func (c *call) scalarOf(i int, purpose string) float64 {
	t := c.mustKnow(i, purpose)
	if t.Len() != 1 {
		c.Fail("%s has %d elements; it must have one", purpose, t.Len())
	}
	return t.Elem(0)
}

// intOf is operand i as one integer.
func (c *call) intOf(i int, purpose string) int64 {
	c.scalarOf(i, purpose)
	return c.intsOf(i, purpose)[0]
}

// attr is an attribute with its value, or nil.
func (c *call) attr(name string, kind proto.AttrType) *proto.Attribute {
	c.seen.attrs[name] = true
	a := c.scope.resolve(c.node.Attr(name))
	if a != nil && a.Type != kind && a.Type != proto.Undefined {
		c.Fail("attribute %s has type %d instead of %d", name, a.Type, kind)
	}
	return a
}

func (c *call) int(name string, absent int64) int64 {
	if a := c.attr(name, proto.IntType); a != nil {
		return a.I
	}
	return absent
}

func (c *call) flag(name string, absent bool) bool {
	if a := c.attr(name, proto.IntType); a != nil {
		return a.I != 0
	}
	return absent
}

func (c *call) float(name string, absent float64) float64 {
	if a := c.attr(name, proto.FloatType); a != nil {
		return float64(a.F)
	}
	return absent
}

func (c *call) str(name, absent string) string {
	if a := c.attr(name, proto.StringType); a != nil {
		return string(a.S)
	}
	return absent
}

// ints is nil when the attribute is absent.
func (c *call) ints(name string) []int64 {
	if a := c.attr(name, proto.IntsType); a != nil {
		return a.Ints
	}
	return nil
}

func (c *call) floats(name string) []float32 {
	if a := c.attr(name, proto.FloatsType); a != nil {
		return a.Floats
	}
	return nil
}

// intsAt is an attribute up to a version of the operator set and operand i from it
// on; ok is false when there is neither.
func (c *call) intsAt(name string, version int64, i int) (list []int64, ok bool) {
	if c.opset < version {
		list = c.ints(name)
		return list, list != nil
	}
	if !c.has(i) {
		return nil, false
	}
	return c.intsOf(i, "the "+name), true
}

// shapeAlong is the shape of n numbers that broadcast along an axis of a rank.
func (c *call) shapeAlong(axis, rank, n int) []int {
	if axis >= rank {
		c.Fail("the operand has rank %d and no dimension %d", rank, axis)
	}
	shape := slices.Repeat([]int{1}, rank-axis)
	shape[0] = n
	return shape
}

// set makes a value of the program output i.
func (c *call) set(i int, v *ir.Value) {
	if i < len(c.out) {
		c.out[i] = &value{computed: v}
	}
}

// setKnown makes a tensor output i.
func (c *call) setKnown(i int, t *tensor.Tensor) {
	if i < len(c.out) {
		c.out[i] = &value{known: t}
	}
}

// pass makes operand i output 0 as it is.
func (c *call) pass(i int) { c.out[0] = c.operand(i) }

// oneOf fails unless an attribute has one of the values that are supported.
func (c *call) oneOf(name, value string, supported ...string) {
	if !slices.Contains(supported, value) {
		c.Fail("%s", fmt.Sprintf("%s %q is not supported; %v are", name, value, supported))
	}
}

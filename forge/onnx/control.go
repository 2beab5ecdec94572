package onnx

import (
	"fmt"
	"slices"

	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]operator{
	"Constant": {1, constant}, "Shape": {1, shape}, "Size": {1, size}, "ConstantOfShape": {9, constantOfShape}, "If": {1, branch},
})

// constant takes its value from one of several attributes.
func constant(c *call) {
	if a := c.attr("value", proto.TensorType); a != nil && a.T != nil {
		t, err := c.decode(a.T)
		c.Check(err)
		c.out[0] = &value{known: t, elem: a.T.Type}
		return
	}
	var t *tensor.Tensor
	var err error
	switch a := c.onlyAttr(); a.Name {
	case "value_float":
		t = tensor.Scalar(tensor.F32, float64(a.F))
	case "value_floats":
		t, err = tensor.From([]int{len(a.Floats)}, append([]float32{}, a.Floats...))
	case "value_int":
		t, err = tensor.From([]int{}, []int64{a.I})
	case "value_ints":
		t, err = tensor.From([]int{len(a.Ints)}, append([]int64{}, a.Ints...))
	default:
		c.unsupportedf("a constant from attribute %q", a.Name)
		return
	}
	c.Check(err)
	c.setKnown(0, t)
}

func (c *call) onlyAttr() *proto.Attribute {
	if len(c.node.Attrs) != 1 {
		c.Fail("it has %d attributes; one of them must be its value", len(c.node.Attrs))
	}
	a := c.attr(c.node.Attrs[0].Name, c.node.Attrs[0].Type)
	if a == nil {
		c.Fail("the attribute %s has no value", c.node.Attrs[0].Name)
	}
	return a
}

// shape is known whatever its operand is.
func shape(c *call) {
	list := formula.Int64s(c.shape(0))
	rank := int64(len(list))
	start, end := clampAxis(c.int("start", 0), rank), clampAxis(c.int("end", rank), rank)
	list = list[start:max(start, end)]
	t, err := tensor.From([]int{len(list)}, list)
	c.Check(err)
	c.setKnown(0, t)
}

func clampAxis(a, rank int64) int64 {
	if a < 0 {
		a += rank
	}
	return max(0, min(a, rank))
}

func size(c *call) {
	t, err := tensor.From([]int{}, []int64{int64(formula.Product(c.shape(0)))})
	c.Check(err)
	c.setKnown(0, t)
}

func constantOfShape(c *call) {
	value, elem := tensor.Scalar(tensor.F32, 0), proto.Float
	if a := c.attr("value", proto.TensorType); a != nil && a.T != nil {
		t, err := c.decode(a.T)
		c.Check(err)
		if value, elem = t, a.T.Type; t.Len() != 1 {
			c.Fail("the value has %d elements; it must have one", t.Len())
		}
	}
	shape := c.Lengths(c.intsOf(0, "the shape"))
	v := c.Constant(value.Reshape(), nil)
	c.setAs(0, c.Op("expand", ir.Attrs{"shape": formula.Int64s(shape)}, v), elem)
}

// within is a scope for a graph of the node.
func (c *call) within() *scope {
	inner := &scope{outer: c.scope, values: make(map[string]*value), opsets: c.scope.opsets, depth: c.scope.depth + 1}
	if inner.depth > MaxNesting {
		c.Fail("graphs are nested more than %d deep", MaxNesting)
	}
	return inner
}

// branch replaces an If by the branch that is taken: an input that the condition
// depends on is bound when the binding has its value. When only a run tells which,
// both are computed, which programs without effects allow, and their results chosen
// from: programs have no control flow, so that memory is planned, kernels are joined
// and calls are made as if there were no If. That costs the branch that is not taken,
// which a note tells in nodes.
func branch(c *call) {
	if c.operand(0).known != nil {
		name := "else_branch"
		if c.scalarOf(0, "the condition") != 0 {
			name = "then_branch"
		}
		copy(c.out, c.branch(name))
		return
	}
	c.bindAtHand(0, "the condition")
	before, wasUnsupported := c.ordinal, len(c.unsupported)
	started := c.emitted
	yes := c.branch("then_branch")
	middle := c.emitted
	no := c.branch("else_branch")
	ended := c.emitted
	cond := c.Reshape(c.arg(0))
	for i := range c.out {
		if yes[i].missing || no[i].missing {
			c.out[i] = &value{missing: true}
			continue
		}
		if !slices.Equal(yes[i].shape(), no[i].shape()) || yes[i].dtype() != no[i].dtype() {
			c.ordinal, c.unsupported = before, c.unsupported[:wasUnsupported]
			c.need(0, "the condition, on which the shape of the result depends,")
		}
		c.set(i, c.Where(cond, c.programValue(yes[i]), c.programValue(no[i])))
	}
	c.note("%s: both branches are computed, of %d and %d nodes, since only a run tells which is taken", describe(c.node), middle-started, ended-middle)
}

// branch imports one branch.
func (c *call) branch(name string) []*value {
	a := c.attr(name, proto.GraphType)
	if a == nil || a.G == nil {
		c.Fail("there is no %s", name)
	}
	outputs, err := c.graph(c.within(), a.G)
	if err != nil {
		c.Check(fmt.Errorf("%s: %w", name, err))
	}
	if len(outputs) != len(c.out) {
		c.Fail("the %s gives %d outputs instead of %d", name, len(outputs), len(c.out))
	}
	return outputs
}

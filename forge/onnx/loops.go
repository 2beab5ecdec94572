package onnx

import (
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

// MaxRounds bounds the rounds of a loop, which is unrolled.
const MaxRounds = 4096

var _ = register(map[string]operator{"Loop": {1, loop}, "Scan": {9, scan}})

func (c *call) body() *proto.Graph {
	a := c.attr("body", proto.GraphType)
	if a == nil || a.G == nil {
		c.Fail("there is no body")
	}
	return a.G
}

// round imports the body once with its inputs bound.
func (c *call) round(body *proto.Graph, in []*value) []*value {
	if len(in) != len(body.Inputs) {
		c.Fail("the body takes %d inputs instead of %d", len(body.Inputs), len(in))
	}
	c.Check(c.countNode())
	inner := c.within()
	for i, v := range in {
		c.Check(inner.define(body.Inputs[i].Name, v))
	}
	out, err := c.graph(inner, body)
	c.Check(err)
	return out
}

// loop is unrolled: the number of rounds, and whether to go on after each, must be
// known.
func loop(c *call) {
	rounds := int64(math.MaxInt64)
	if c.has(0) {
		rounds = c.intOf(0, "the number of rounds")
	}
	on := !c.has(1) || c.scalarOf(1, "the condition") != 0
	body := c.body()
	carried := slices.Clone(c.in[min(2, len(c.in)):])
	if len(body.Outputs) < 1+len(carried) {
		c.Fail("the body gives %d outputs for a condition and %d carried values", len(body.Outputs), len(carried))
	}
	scans := make([][]*value, len(body.Outputs)-1-len(carried))
	for i := int64(0); i < rounds && on; i++ {
		if i >= MaxRounds {
			c.Fail("the loop runs for more than %d rounds", MaxRounds)
		}
		number, err := tensor.From([]int{}, []int64{i})
		c.Check(err)
		yes, err := tensor.From([]int{}, []bool{true})
		c.Check(err)
		out := c.round(body, append([]*value{{known: number}, {known: yes}}, carried...))
		if out[0].known == nil {
			c.Fail("whether the loop goes on is computed when the program runs")
		}
		on = out[0].known.Len() == 1 && out[0].known.Elem(0) != 0
		copy(carried, out[1:])
		for k := range scans {
			scans[k] = append(scans[k], out[1+len(carried)+k])
		}
	}
	c.finishLoop(carried, scans, slices.Repeat([]int64{0}, len(scans)), slices.Repeat([]bool{false}, len(scans)))
}

// finishLoop sets the outputs: the carried values and the stacked ones.
func (c *call) finishLoop(carried []*value, scans [][]*value, axes []int64, reversed []bool) {
	for i, v := range carried {
		if i < len(c.out) {
			c.out[i] = v
		}
	}
	for k, list := range scans {
		if len(list) == 0 {
			c.Fail("the loop has no rounds, which leaves the shape of an output unknown")
		}
		if reversed[k] {
			slices.Reverse(list)
		}
		var parts []*ir.Value
		for _, v := range list {
			u := c.programValue(v)
			axis := c.Axis(axes[k], u.Spec.Rank()+1)
			parts = append(parts, c.Reshape(u, slices.Insert(slices.Clone(u.Spec.Shape), axis, 1)...))
		}
		c.set(len(carried)+k, c.Op("concat", ir.Attrs{"axis": axes[k]}, parts...))
	}
}

// programValue is a value that may be known as one of the program.
func (c *call) programValue(v *value) *ir.Value {
	if v.missing {
		c.Fail("it depends on a node that is not supported")
	}
	if v.computed == nil {
		return c.Constant(v.known, nil)
	}
	return v.computed
}

// scan applies its body to the slices of its last inputs.
func scan(c *call) {
	n := c.small("num_scan_inputs", 0, 1)
	if n > len(c.in) {
		c.Fail("num_scan_inputs is %d for %d inputs", n, len(c.in))
	}
	body := c.body()
	carried := slices.Clone(c.in[:len(c.in)-n])
	outputs := len(body.Outputs) - len(carried)
	if outputs < 0 {
		c.Fail("the body gives %d outputs for %d carried values", len(body.Outputs), len(carried))
	}
	inAxes, inBack := c.scanList("scan_input_axes", n), c.scanList("scan_input_directions", n)
	outAxes, outBack := c.scanList("scan_output_axes", outputs), c.scanList("scan_output_directions", outputs)
	length := -1
	for i := range n {
		v := c.arg(len(carried) + i)
		d := v.Spec.Shape[c.Axis(inAxes[i], v.Spec.Rank())]
		if length >= 0 && d != length || d > MaxRounds {
			c.Fail("inputs have %d and %d slices; they must agree, and at most %d are supported", length, d, MaxRounds)
		}
		length = d
	}
	scans := make([][]*value, outputs)
	for t := range length {
		in := slices.Clone(carried)
		for i := range n {
			v := c.arg(len(carried) + i)
			axis := c.Axis(inAxes[i], v.Spec.Rank())
			at := t
			if inBack[i] != 0 {
				at = length - 1 - t
			}
			s := c.Op("narrow", ir.Attrs{"axis": axis, "start": at, "length": 1}, v)
			in = append(in, &value{computed: c.Reshape(s, slices.Delete(slices.Clone(s.Spec.Shape), axis, axis+1)...)})
		}
		out := c.round(body, in)
		copy(carried, out)
		for k := range scans {
			scans[k] = append(scans[k], out[len(carried)+k])
		}
	}
	reversed := make([]bool, outputs)
	for k := range reversed {
		reversed[k] = outBack[k] != 0
	}
	c.finishLoop(carried, scans, outAxes, reversed)
}

// scanList is a list of numbers, zeros when absent.
func (c *call) scanList(name string, n int) []int64 {
	list := c.ints(name)
	if list == nil {
		return make([]int64, n)
	}
	if len(list) != n {
		c.Fail("%s has %d numbers instead of %d", name, len(list), n)
	}
	return list
}

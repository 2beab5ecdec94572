package onnx

import (
	"slices"

	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/onnx/proto"
)

var _ = register(map[string]operator{
	"Reshape": {5, reshape}, "Flatten": {1, flatten}, "Squeeze": {1, squeeze}, "Unsqueeze": {1, unsqueeze}, "Transpose": {1, transpose},
	"Expand": {8, expand}, "Tile": {6, tile}, "Concat": {4, concat}, "Split": {2, split}, "Slice": {1, slice}, "Pad": {2, pad},
	"DepthToSpace": {1, depthToSpace}, "SpaceToDepth": {1, spaceToDepth}, "Trilu": {14, trilu}, "EyeLike": {9, eyeLike}, "Range": {11, rangeOf},
	"ReverseSequence": {10, reverseSequence},
})

func reshape(c *call) {
	shape := slices.Clone(c.intsOf(1, "the shape"))
	in := c.shape(0)
	if !c.flag("allowzero", false) {
		for i, d := range shape {
			if d == 0 {
				if i >= len(in) {
					c.Fail("shape %v keeps dimension %d of %v", shape, i, in)
				}
				shape[i] = int64(in[i])
			}
		}
	}
	c.set(0, c.Op("reshape", ir.Attrs{"shape": shape}, c.arg(0)))
}

func flatten(c *call) {
	shape := c.shape(0)
	axis := c.Axis(c.int("axis", 1), len(shape)+1)
	if a := c.int("axis", 1); a < 0 {
		axis = c.Axis(a, len(shape))
	}
	c.set(0, c.Reshape(c.arg(0), formula.Product(shape[:axis]), formula.Product(shape[axis:])))
}

func squeeze(c *call) {
	shape := c.shape(0)
	axes, given := c.intsAt("axes", 13, 1)
	if given {
		axes = c.Axes(axes, len(shape))
	}
	var kept []int
	for i, d := range shape {
		switch named := slices.Contains(axes, int64(i)); {
		case named && d != 1:
			c.Fail("dimension %d of %v is not 1", i, shape)
		case !named && (given || d != 1):
			kept = append(kept, d)
		}
	}
	c.set(0, c.Reshape(c.arg(0), kept...))
}

func unsqueeze(c *call) {
	axes, given := c.intsAt("axes", 13, 1)
	if !given {
		c.Fail("there are no axes")
	}
	shape := c.shape(0)
	axes = c.Axes(axes, len(shape)+len(axes))
	out := slices.Clone(shape)
	for _, a := range axes {
		out = slices.Insert(out, int(a), 1)
	}
	c.set(0, c.Reshape(c.arg(0), out...))
}

func transpose(c *call) {
	var attrs ir.Attrs
	if perm := c.ints("perm"); perm != nil {
		attrs = ir.Attrs{"perm": perm}
	}
	c.set(0, c.Op("transpose", attrs, c.arg(0)))
}

// expand broadcasts both ways: a length of 1 in the shape keeps the operand's.
func expand(c *call) {
	c.set(0, c.expandTo(c.arg(0), c.Lengths(c.intsOf(1, "the shape"))))
}

func (c *call) expandTo(v *ir.Value, shape []int) *ir.Value {
	in := v.Spec.Shape
	out := slices.Clone(shape)
	for len(out) < len(in) {
		out = slices.Insert(out, 0, 1)
	}
	for i, d := range in {
		if at := len(out) - len(in) + i; out[at] == 1 {
			out[at] = d
		}
	}
	if slices.Equal(out, in) {
		return v
	}
	return c.Op("expand", ir.Attrs{"shape": formula.Int64s(out)}, v)
}

func tile(c *call) {
	repeats, shape := c.Lengths(c.intsOf(1, "the repeats")), c.shape(0)
	if len(repeats) != len(shape) {
		c.Fail("%d repeats for rank %d", len(repeats), len(shape))
	}
	c.setOrPass(c.Tile(c.arg(0), repeats))
}

func concat(c *call) {
	axis := c.Axis(c.int("axis", 1), c.rank(0))
	c.set(0, c.Op("concat", ir.Attrs{"axis": axis}, c.args()...))
}

func split(c *call) {
	axis := c.Axis(c.int("axis", 0), c.rank(0))
	n := c.shape(0)[axis]
	sizes, given := c.intsAt("split", 13, 1)
	if !given {
		parts := int64(len(c.out))
		if a := c.attr("num_outputs", proto.IntType); a != nil {
			parts = a.I
		}
		if parts != int64(len(c.out)) {
			c.Fail("num_outputs is %d; the node has %d", parts, len(c.out))
		}
		sizes = evenly(int64(n), parts)
	}
	if len(sizes) != len(c.out) {
		c.Fail("%d sizes for %d outputs", len(sizes), len(c.out))
	}
	for i, v := range c.Ops("split", ir.Attrs{"axis": axis, "sizes": sizes}, c.arg(0)) {
		c.set(i, v)
	}
}

// evenly cuts n into parts of equal size, the last of which may be smaller.
func evenly(n, parts int64) []int64 {
	var sizes []int64
	for i := range parts {
		each := (n + parts - 1) / parts
		sizes = append(sizes, max(0, min(each, n-i*each)))
	}
	return sizes
}

// slice takes starts, ends, axes and steps from attributes before version 10.
func slice(c *call) {
	var starts, ends, axes, steps []int64
	if c.opset < 10 {
		starts, ends, axes = c.ints("starts"), c.ints("ends"), c.ints("axes")
	} else {
		starts, ends = c.intsOf(1, "the starts"), c.intsOf(2, "the ends")
		if c.has(3) {
			axes = c.intsOf(3, "the axes")
		}
		if c.has(4) {
			steps = c.intsOf(4, "the steps")
		}
	}
	v := c.arg(0)
	for i := range starts {
		axis, step := int64(i), int64(1)
		if axes != nil && i < len(axes) {
			axis = axes[i]
		}
		if steps != nil && i < len(steps) {
			step = steps[i]
		}
		if i >= len(ends) || step == 0 {
			c.Fail("starts %v, ends %v, steps %v", starts, ends, steps)
		}
		v = c.Slice(v, c.Axis(axis, c.rank(0)), starts[i], ends[i], step)
	}
	if v == c.arg(0) {
		c.pass(0)
		return
	}
	c.set(0, v)
}

func depthToSpace(c *call) {
	s, b := c.shape(0), c.small("blocksize", 1, 1)
	if len(s) != 4 || s[1]%(b*b) != 0 {
		c.Fail("blocks of %d do not fit %v", b, s)
	}
	x, d := c.arg(0), s[1]/(b*b)
	if c.str("mode", "DCR") == "CRD" {
		x = c.Transpose(c.Reshape(x, s[0], d, b, b, s[2], s[3]), 0, 1, 4, 2, 5, 3)
	} else {
		x = c.Transpose(c.Reshape(x, s[0], b, b, d, s[2], s[3]), 0, 3, 4, 1, 5, 2)
	}
	c.set(0, c.Reshape(x, s[0], d, s[2]*b, s[3]*b))
}

func spaceToDepth(c *call) {
	s, b := c.shape(0), c.small("blocksize", 1, 1)
	if len(s) != 4 || s[2]%b != 0 || s[3]%b != 0 {
		c.Fail("blocks of %d do not fit %v", b, s)
	}
	x := c.Reshape(c.arg(0), s[0], s[1], s[2]/b, b, s[3]/b, b)
	c.set(0, c.Reshape(c.Transpose(x, 0, 3, 5, 1, 2, 4), s[0], s[1]*b*b, s[2]/b, s[3]/b))
}

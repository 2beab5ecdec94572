package onnx

import (
	"slices"

	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]operator{
	"RotaryEmbedding":                       {23, rotaryEmbedding(3, 1, 2)},
	"com.microsoft.RotaryEmbedding":         {1, rotaryEmbedding(1, 2, 3)},
	"com.microsoft.EmbedLayerNormalization": {1, embedLayerNorm},
	"com.microsoft.BiasGelu":                {1, biasGelu},
	"TensorScatter":                         {24, tensorScatter},
})

// rotaryEmbedding turns pairs of channels of [B,H,T,D] or [B,T,H*D] by angles whose
// cosines and sines are in tables; operand positions picks their rows.
func rotaryEmbedding(positions, cosines, sines int) func(*call) {
	return func(c *call) {
		x, s := c.arg(0), c.ranked(0, 3, 4)
		if len(s) == 3 {
			n := c.small("num_heads", 0, 0)
			if width := 2 * c.ranked(cosines, 2, 3)[c.rank(cosines)-1]; n == 0 && c.node.Domain != "" && width > 0 {
				n = s[2] / width
			}
			x = c.headsOf(x, n)
		}
		heads := x.Spec.Shape
		turned := c.small("rotary_embedding_dim", 0, 0)
		if turned == 0 {
			turned = heads[3]
		}
		if turned > heads[3] || turned%2 != 0 || turned == 0 {
			c.Fail("%d channels of %d cannot turn in pairs", turned, heads[3])
		}
		angle := func(i int) *ir.Value {
			v := c.arg(i)
			if c.has(positions) {
				v = c.Op("gather", nil, v, c.rows(positions, heads[0], heads[2]))
			}
			return c.Reshape(v, heads[0], 1, heads[2], turned/2)
		}
		y := c.turn(x, angle(cosines), angle(sines), turned)
		if len(s) == 3 {
			y = c.merge(y)
		}
		c.set(0, y)
	}
}

// rows are positions of the tokens: operand i, or what follows it when it is one
// number.
func (c *call) rows(i, batch, tokens int) *ir.Value {
	v := c.Cast(c.arg(i), tensor.I64)
	if v.Spec.Elements() == 1 && batch*tokens != 1 {
		v = c.Op("expand", ir.Attrs{"shape": []int64{int64(batch), int64(tokens)}}, c.Add(c.Reshape(v), c.iota(tokens, tensor.I64)))
	}
	return v
}

// turn turns the first channels of x. Pairs are channels i and i + n/2, or with
// interleaved 2i and 2i + 1.
func (c *call) turn(x, cos, sin *ir.Value, n int) *ir.Value {
	s := x.Spec.Shape
	part := func(start, length, step int) *ir.Value {
		return c.Op("narrow", ir.Attrs{"axis": 3, "start": start, "length": length, "step": step}, x)
	}
	interleaved := c.flag("interleaved", false)
	a, b := part(0, n/2, 1), part(n/2, n/2, 1)
	if interleaved {
		a, b = part(0, n/2, 2), part(1, n/2, 2)
	}
	re, im := c.Sub(c.Mul(cos, a), c.Mul(sin, b)), c.Add(c.Mul(sin, a), c.Mul(cos, b))
	var y *ir.Value
	if interleaved {
		pair := func(v *ir.Value) *ir.Value { return c.Reshape(v, s[0], s[1], s[2], n/2, 1) }
		y = c.Reshape(c.Op("concat", ir.Attrs{"axis": 4}, pair(re), pair(im)), s[0], s[1], s[2], n)
	} else {
		y = c.Op("concat", ir.Attrs{"axis": 3}, re, im)
	}
	if n == s[3] {
		return y
	}
	return c.Op("concat", ir.Attrs{"axis": 3}, y, part(n, s[3]-n, 1))
}

// embedLayerNorm adds the rows of words, positions and segments and normalises them.
// Operands are the numbers of words and segments, the three tables, weight and bias,
// a mask and the positions.
func embedLayerNorm(c *call) {
	s := c.ranked(0, 2, 2)
	lookup := func(table, i int) *ir.Value {
		return c.Op("gather", nil, c.arg(table), c.index(i, c.ranked(table, 2, 2)[0]))
	}
	x := lookup(2, 0)
	if c.has(8) {
		x = c.Add(x, lookup(3, 8))
	} else {
		x = c.Add(x, c.Op("narrow", ir.Attrs{"axis": 0, "start": 0, "length": s[1]}, c.arg(3)))
	}
	if c.has(1) && c.has(4) {
		x = c.Add(x, lookup(4, 1))
	}
	c.set(0, c.layerNorm(x, x.Spec.Rank()-1, c.float("epsilon", 1e-12), 5))
	c.set(2, x)
	if len(c.out) < 2 || c.node.Outputs[1] == "" {
		return
	}
	if !c.has(7) {
		zeros, err := tensor.Zeros(tensor.I32, s[0])
		c.Check(err)
		c.setKnown(1, zeros)
		return
	}
	c.set(1, c.Cast(c.Op("sum", ir.Attrs{"axes": []int64{1}}, c.Cast(c.arg(7), tensor.I32)), tensor.I32))
}

func biasGelu(c *call) { c.set(0, c.Op("gelu", nil, c.Add(c.arg(0), c.arg(1)))) }

// tensorScatter writes a block into a cache, along an axis from an index for each row
// of the batch on; circular indices begin anew at the end.
func tensorScatter(c *call) {
	s, u := c.ranked(0, 2, tensor.MaxRank), c.shape(1)
	axis := c.Axis(c.int("axis", -2), len(s))
	mode := c.str("mode", "linear")
	c.oneOf("mode", mode, "linear", "circular")
	if axis == 0 || len(u) != len(s) || u[axis] > s[axis] || s[axis] == 0 {
		c.Fail("updates %v along axis %d do not fit a cache %v", u, axis, s)
	}
	shape := slices.Repeat([]int{1}, len(s))
	shape[axis] = u[axis]
	at := c.Reshape(c.iota(u[axis], tensor.I64), shape...)
	if c.has(2) {
		first := slices.Repeat([]int{1}, len(s))
		first[0] = s[0]
		at = c.Add(at, c.Reshape(c.Cast(c.arg(2), tensor.I64), first...))
	}
	if mode == "circular" {
		size := c.Number(at, float64(s[axis]))
		at = c.Sub(at, c.Mul(c.floorDiv(at, size), size))
	}
	at = c.Op("expand", ir.Attrs{"shape": formula.Int64s(u)}, at)
	c.set(0, c.Op("scatter", ir.Attrs{"axis": axis, "reduce": "none"}, c.arg(0), at, c.arg(1)))
}

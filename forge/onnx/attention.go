package onnx

import (
	"math"
	"slices"

	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]operator{
	"Attention": {23, attention}, "com.microsoft.Attention": {1, packedAttention}, "com.microsoft.MultiHeadAttention": {1, multiHeadAttention},
})

// heads is an attention in the making. Queries are [B,H,Q,D], keys [B,G,K,D] and
// values [B,G,K,E]; each of the G heads of the keys serves H/G of the queries'.
type heads struct {
	*call
	q, k, v *ir.Value
	past    int       // keys that stand before those of the first query
	scale   float64   // 0 for 1/sqrt(D)
	softcap float64   // 0 for none
	allowed *ir.Value // the pairs that take part, of a shape that broadcasts to [B,H,Q,K]; nil for all
	bias    *ir.Value // is added to the scores; or nil
}

// headsOf makes [B,T,n*D] into heads [B,n,T,D]; what has rank 4 is that already.
func (c *call) headsOf(v *ir.Value, n int) *ir.Value {
	s := v.Spec.Shape
	if len(s) == 4 {
		return v
	}
	if len(s) != 3 || n < 1 || s[2]%n != 0 {
		c.Fail("%v has no %d heads", v.Spec, n)
	}
	return c.Transpose(c.Reshape(v, s[0], s[1], n, s[2]/n), 0, 2, 1, 3)
}

// merge makes heads [B,n,T,D] into [B,T,n*D].
func (c *call) merge(v *ir.Value) *ir.Value {
	s := v.Spec.Shape
	return c.Reshape(c.Transpose(v, 0, 2, 1, 3), s[0], s[2], s[1]*s[3])
}

// cache puts earlier keys and values, operands i and i+1, before those of the call.
func (h *heads) cache(i int) {
	if !h.has(i) {
		return
	}
	h.past = h.ranked(i, 4, 4)[2]
	join := func(past int, v *ir.Value) *ir.Value { return h.Op("concat", ir.Attrs{"axis": 2}, h.arg(past), v) }
	h.k, h.v = join(i, h.k), join(i+1, h.v)
}

// allow leaves only pairs for which cond is true as well.
func (h *heads) allow(cond *ir.Value) {
	if h.allowed != nil {
		cond = h.Op("and", nil, h.allowed, cond)
	}
	h.allowed = cond
}

// sizes are the numbers of queries and keys.
func (h *heads) sizes() (queries, keys int) {
	if h.q.Spec.Rank() != 4 || h.k.Spec.Rank() != 4 || h.v.Spec.Rank() != 4 {
		h.Fail("heads %v, %v and %v must have rank 4", h.q.Spec, h.k.Spec, h.v.Spec)
	}
	return h.q.Spec.Shape[2], h.k.Spec.Shape[2]
}

// causal lets query i see the keys up to i and those of the past.
func (h *heads) causal() {
	queries, keys := h.sizes()
	mask := make([]bool, h.roomFor(1, queries, keys))
	for i := range mask {
		mask[i] = i%keys <= i/keys+h.past
	}
	h.allow(h.Constant(tensor.From([]int{queries, keys}, mask)))
}

// mask takes operand i, of bools or of numbers that are added. What it has fewer
// keys than there are excludes the others.
func (h *heads) mask(i int) {
	if !h.has(i) {
		return
	}
	_, keys := h.sizes()
	v := h.arg(i)
	if n := h.rank(i); n > 0 && v.Spec.Shape[n-1] < keys && v.Spec.Shape[n-1] != 1 {
		low, high := make([]int64, n), make([]int64, n)
		high[n-1] = int64(keys - v.Spec.Shape[n-1])
		if v.Spec.DType == tensor.Bool {
			v = h.Cast(h.Pad(h.Cast(v, tensor.I32), low, high, 0), tensor.Bool)
		} else {
			v = h.Pad(v, low, high, math.Inf(-1))
		}
	}
	if v.Spec.DType == tensor.Bool {
		h.allow(v)
		return
	}
	h.bias = h.Cast(v, h.q.Spec.DType)
}

// keyLengths leaves the first keys of each row of the batch, as many as v [B] says;
// causal queries are the last of them.
func (h *heads) keyLengths(v *ir.Value, causal bool) {
	queries, keys := h.sizes()
	v = h.Cast(h.Reshape(v, h.q.Spec.Shape[0], 1, 1, 1), tensor.I64)
	at := h.iota(keys, tensor.I64)
	h.allow(h.Op("lt", nil, at, v))
	if causal {
		first := h.Sub(h.Reshape(h.iota(queries, tensor.I64), queries, 1), h.Number(v, float64(queries)))
		h.allow(h.Op("le", nil, at, h.Add(first, v)))
	}
}

// pairs is allowed and bias as one mask.
func (h *heads) pairs() *ir.Value {
	switch {
	case h.allowed == nil:
		return h.bias
	case h.bias == nil:
		return h.allowed
	}
	return h.Where(h.allowed, h.bias, h.Number(h.bias, math.Inf(-1)))
}

// attend is the result [B,H,Q,E].
func (h *heads) attend() *ir.Value {
	if h.softcap != 0 {
		return h.Op("matmul", nil, h.weights(), h.served(h.v))
	}
	attrs := ir.Attrs{}
	if h.scale != 0 {
		attrs["scale"] = h.scale
	}
	in := []*ir.Value{h.q, h.k, h.v}
	if m := h.pairs(); m != nil {
		in = append(in, m)
	}
	return h.Op("sdpa", attrs, in...)
}

// served repeats keys or values for the heads of the queries that they serve.
func (h *heads) served(v *ir.Value) *ir.Value {
	s, n := v.Spec.Shape, h.q.Spec.Shape[1]
	if s[1] == n {
		return v
	}
	if s[1] == 0 || n%s[1] != 0 {
		h.Fail("%d heads of keys cannot serve %d of queries", s[1], n)
	}
	wide := h.Op("expand", ir.Attrs{"shape": formula.Int64s([]int{s[0], s[1], n / s[1], s[2], s[3]})}, h.Reshape(v, s[0], s[1], 1, s[2], s[3]))
	return h.Reshape(wide, s[0], n, s[2], s[3])
}

// scores are the products of queries and keys, scaled.
func (h *heads) scores() *ir.Value {
	h.sizes()
	scale := h.scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(h.q.Spec.Shape[3]))
	}
	return h.Scale(h.Op("matmul", nil, h.q, h.swap(h.served(h.k))), scale)
}

// weights are the softmax of the scores, which are capped before they are masked. A
// query without keys has weights of 0.
func (h *heads) weights() *ir.Value {
	s := h.scores()
	if h.softcap != 0 {
		s = h.Scale(h.Op("tanh", nil, h.Scale(s, 1/h.softcap)), h.softcap)
	}
	if h.bias != nil {
		s = h.Add(s, h.bias)
	}
	if h.allowed != nil {
		s = h.Where(h.allowed, s, h.Number(s, math.Inf(-1)))
	}
	top := h.Op("max", ir.Attrs{"axes": []int64{-1}, "keepdims": true}, s)
	return h.Where(h.Compare("eq", top, math.Inf(-1)), h.Number(s, 0), h.Op("softmax", ir.Attrs{"axis": -1}, s))
}

func attention(c *call) {
	n, groups := c.small("q_num_heads", 0, 0), c.small("kv_num_heads", 0, 0)
	flat := len(c.ranked(0, 3, 4)) == 3
	h := &heads{call: c, q: c.headsOf(c.arg(0), n), k: c.headsOf(c.arg(1), groups), v: c.headsOf(c.arg(2), groups)}
	h.scale, h.softcap = c.float("scale", 0), c.float("softcap", 0)
	h.cache(4)
	h.mask(3)
	causal := c.flag("is_causal", false)
	switch {
	case c.has(6):
		h.keyLengths(c.arg(6), causal)
	case causal:
		h.causal()
	}
	y := h.attend()
	if flat {
		y = c.merge(y)
	}
	c.set(0, y)
	c.set(1, h.k)
	c.set(2, h.v)
	if len(c.out) > 3 && c.node.Outputs[3] != "" {
		switch mode := c.int("qk_matmul_output_mode", 0); {
		case mode == 0 && h.softcap == 0:
			c.set(3, h.scores())
		case mode == 3:
			c.set(3, h.weights())
		default:
			c.unsupportedf("output of the scores by mode %d", mode)
		}
	}
}

// multiHeadAttention has the operands query, key, value, bias, padding mask, bias of
// the scores, and the earlier keys and values. Keys and values may be heads already.
func multiHeadAttention(c *call) {
	n := c.small("num_heads", 0, 1)
	if !c.has(1) || !c.has(2) {
		c.unsupportedf("queries, keys and values in one operand")
		return
	}
	q, k, v := c.arg(0), c.arg(1), c.arg(2)
	if c.has(3) {
		q, k, v = c.addBiases(c.arg(3), q, k, v)
	}
	h := &heads{call: c, q: c.headsOf(q, n), k: c.headsOf(k, n), v: c.headsOf(v, n), scale: c.float("scale", 0)}
	h.cache(6)
	h.mask(5)
	h.paddingMask(4)
	if c.flag("unidirectional", false) {
		h.causal()
	}
	c.set(0, c.merge(h.attend()))
	c.set(1, h.k)
	c.set(2, h.v)
}

// addBiases adds the parts of one vector.
func (c *call) addBiases(bias *ir.Value, q, k, v *ir.Value) (*ir.Value, *ir.Value, *ir.Value) {
	from := 0
	add := func(x *ir.Value) *ir.Value {
		if x.Spec.Rank() != 3 {
			c.Fail("a bias is added to %v, which must have rank 3", x.Spec)
		}
		n := x.Spec.Shape[2]
		b := c.Op("narrow", ir.Attrs{"axis": 0, "start": from, "length": n}, bias)
		from += n
		return c.Add(x, b)
	}
	q = add(q)
	k = add(k)
	return q, k, add(v)
}

// paddingMask takes operand i: lengths [B], or zeros where pairs are excluded, of
// shape [B,K], [B,Q,K] or [B,1,Q,K].
func (h *heads) paddingMask(i int) {
	if !h.has(i) {
		return
	}
	s, v := h.ranked(i, 1, 4), h.arg(i)
	batch := h.q.Spec.Shape[0]
	switch len(s) {
	case 1:
		if s[0] != batch {
			h.Fail("a mask of %d numbers for a batch of %d; lengths, one for each, are supported", s[0], batch)
		}
		h.keyLengths(v, false)
		return
	case 2:
		v = h.Reshape(v, s[0], 1, 1, s[1])
	case 3:
		v = h.Reshape(v, s[0], 1, s[1], s[2])
	}
	h.allow(h.Cast(v, tensor.Bool))
}

// packedAttention projects its operand to queries, keys and values: the operands are
// input, weights, bias, mask, past [2,B,H,T,D], bias of the scores.
func packedAttention(c *call) {
	if c.flag("do_rotary", false) || c.has(6) {
		c.unsupportedf("rotary positions or a shared buffer of the past")
		return
	}
	n := c.small("num_heads", 0, 1)
	x := c.Op("matmul", nil, c.arg(0), c.arg(1))
	if c.has(2) {
		x = c.Add(x, c.arg(2))
	}
	if x.Spec.Rank() != 3 {
		c.Fail("the input %v must have rank 3", c.shape(0))
	}
	third := int64(x.Spec.Shape[2] / 3)
	widths := []int64{third, third, third}
	if list := c.ints("qkv_hidden_sizes"); list != nil {
		widths = slices.Clone(list)
	}
	parts := c.Ops("split", ir.Attrs{"axis": 2, "sizes": widths}, x)
	if len(parts) != 3 {
		c.Fail("qkv_hidden_sizes are %v", widths)
	}
	h := &heads{call: c, q: c.headsOf(parts[0], n), k: c.headsOf(parts[1], n), v: c.headsOf(parts[2], n), scale: c.float("scale", 0)}
	if c.has(4) {
		s := c.ranked(4, 5, 5)
		h.past = s[3]
		before := c.Ops("split", ir.Attrs{"axis": 0, "sizes": []int64{1, 1}}, c.arg(4))
		join := func(i int, v *ir.Value) *ir.Value {
			return c.Op("concat", ir.Attrs{"axis": 2}, c.Reshape(before[i], s[1:]...), v)
		}
		h.k, h.v = join(0, h.k), join(1, h.v)
	}
	h.mask(5)
	h.paddingMask(3)
	if c.flag("unidirectional", false) {
		h.causal()
	}
	c.set(0, c.merge(h.attend()))
	if len(c.out) > 1 {
		lead := func(v *ir.Value) *ir.Value { return c.Reshape(v, append([]int{1}, v.Spec.Shape...)...) }
		c.set(1, c.Op("concat", ir.Attrs{"axis": 0}, lead(h.k), lead(h.v)))
	}
}

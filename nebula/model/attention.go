package model

import (
	"fmt"
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// append computes queries, keys and values of the new tokens h [B,T,C], writes
// keys and values to the cache of layer l, and returns the queries
// [B,H,T,D], in the type of the cache.
func (g *grapher) append(l int, h *ir.Value) *ir.Value {
	g.inLayer(l, "attention qkv")
	wide := g.beside(l, h, attentionQKV)
	q := g.cast(g.turn(g.heads(wide[0])), g.f.DType)
	k := g.turn(g.heads(wide[1]))
	v := g.heads(wide[2])
	g.inLayer(l, "kv append")
	keys, values := g.caches(l)
	*keys = g.write(*keys, k)
	*values = g.write(*values, v)
	g.name(*keys, fmt.Sprintf("k%d_next", l))
	g.name(*values, fmt.Sprintf("v%d_next", l))
	return q
}

// caches are the places of the keys and values of layer l among the pools.
func (g *grapher) caches(l int) (keys, values **ir.Value) {
	first, _ := g.f.Place.Layers(g.c.Layers)
	i := 2 * (l - first)
	return &g.pools[i], &g.pools[i+1]
}

// heads divides a projection [B,T,heads*D] into heads, [B,heads,T,D].
func (g *grapher) heads(y *ir.Value) *ir.Value {
	if g.err != nil {
		return nil
	}
	heads := y.Spec.Shape[2] / g.c.HeadDim
	y = g.reshape(y, g.f.Rows, g.f.Tokens, heads, g.c.HeadDim)
	return g.apply("transpose", ir.Attrs{"perm": []int{0, 2, 1, 3}}, y)
}

// turn applies rotary positions, if the family has them.
func (g *grapher) turn(x *ir.Value) *ir.Value {
	r := g.c.Rope
	if r == nil {
		return x
	}
	attrs := ir.Attrs{"base": r.Base}
	if freqs := r.frequencies(g.c.HeadDim); freqs != nil {
		t, err := tensor.From([]int{len(freqs)}, freqs)
		if err != nil {
			g.err = err
			return nil
		}
		attrs = ir.Attrs{"freqs": t}
	}
	if r.Interleaved {
		attrs["style"] = "interleaved"
	}
	return g.apply("rope", attrs, x, g.pos)
}

// write puts new keys or values [B,G,T,D] into their cache.
func (g *grapher) write(cache, x *ir.Value) *ir.Value {
	x = g.cast(x, g.f.DType)
	if g.table != nil {
		return g.apply("paged_kv_append", nil, cache, x, g.table, g.pos, g.length)
	}
	return g.apply("kv_append", nil, cache, x, g.pos, g.length)
}

// attend is the attention of queries [B,H,T,D] over the cache of layer l,
// projected back to [B,T,C].
func (g *grapher) attend(l int, q *ir.Value) *ir.Value {
	g.inLayer(l, "attention")
	keys, values := g.caches(l)
	in := []*ir.Value{q, *keys, *values}
	name := "cached_attention"
	if g.table != nil {
		name, in = "paged_attention", append(in, g.table)
	}
	var attrs ir.Attrs
	if s := g.c.Rope.sharpness(); s != 1 {
		attrs = ir.Attrs{"scale": s / math.Sqrt(float64(g.c.HeadDim))}
	}
	y := g.apply(name, attrs, append(in, g.pos, g.length)...)
	y = g.apply("transpose", ir.Attrs{"perm": []int{0, 2, 1, 3}}, y)
	y = g.cast(g.reshape(y, g.f.Rows, g.f.Tokens, -1), tensor.F32)
	g.inLayer(l, "attention output")
	return g.rows(layerName(l, attentionOutput), y)
}

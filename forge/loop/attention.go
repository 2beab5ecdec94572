package loop

import (
	"fmt"
	"math"

	"forgekernel/forge/tensor"
)

// Attention is Out = softmax(Scale * Q K^T + Mask) V for each of the batches and
// heads. Heads neighbouring query heads share one of Groups key heads.
//
// Query i sees the keys up to its own position, which is Start+i with a cache and
// i without one, when it is Causal, and else all. A pair that is not seen, or that
// the mask gives false or -inf, is excluded: its score is -inf, and neither its
// value nor, beyond what any query sees, its key is read. A query whose scores are
// all -inf gives weights of zero. When it is Strict, excluded values are read with
// weight zero, -inf is added to scores as any number is, and a query whose scores
// are all -inf gives NaN if there are keys.
type Attention struct {
	Batches, Heads, Groups int
	Queries, Keys          int // Keys is the most that there are
	D, E                   int // channels of queries and keys, and of values
	Causal, Strict         bool
	Scale                  float32
	Q, K, V, Out           Access  // over batch, head, row and channel
	Mask                   *Access // over batch, head, query and key; f32 or bool
	Cache                  *Cache
}

// Cache says which keys and queries of each batch there are. Query i is at
// position Pos+i. It is padding, whose result is zeros, when that is Length or
// more.
type Cache struct {
	Pos    Access  // over batch: an integer
	Length *Access // over batch: an integer; nil when there is no padding
	// Table, over batch and block, has the numbers of the blocks of Block keys in
	// which K and V of a batch stand. K and V then have one of Blocks blocks where
	// others have a batch. Nil when the cache is not in blocks.
	Table         *Access
	Block, Blocks int
}

// attention lowers sdpa and the attentions over caches.
func (l *lowering) attention() error {
	n := l.node
	if d := n.Out[0].Spec.DType; !l.wide && d == tensor.F64 {
		return fmt.Errorf("%s of f64 has no loop form: it computes in f32", n.Op.Name)
	}
	q, k, v := n.In[0].Spec.Shape, n.In[1].Spec.Shape, n.In[2].Spec.Shape
	a := &Attention{
		Batches: q[0], Heads: q[1], Groups: k[1], Queries: q[2], Keys: k[2], D: q[3], E: v[3],
		Scale: float32(n.Float("scale")),
	}
	if a.Scale == 0 {
		a.Scale = float32(1 / math.Sqrt(float64(a.D)))
	}
	switch n.Op.Name {
	case "cached_attention":
		l.checkCache(&tokens{l, q, a.Keys, 3})
		l.attend(a)
		l.cache(a, 3)
	case "paged_attention":
		table := n.In[3]
		a.Keys = k[2] * table.Spec.Shape[1]
		l.checkTable(&tokens{l, q, a.Keys, 4}, k)
		l.begin()
		l.attend(a)
		l.cache(a, 4)
		a.Cache.Table = &Access{Param: l.param(table, false), Strides: l.layout(table)}
		a.Cache.Block, a.Cache.Blocks = k[2], k[0]
	default:
		l.attend(a)
		a.Causal, a.Strict = n.Bool("causal"), n.Bool("strict")
		if len(n.In) > 3 {
			a.Mask = l.operand(3, []int{a.Batches, a.Heads, a.Queries, a.Keys})
		}
	}
	return nil
}

// attend makes the kernel and its first four parameters.
func (l *lowering) attend(a *Attention) {
	operand := func(i int) Access {
		return Access{Param: l.param(l.node.In[i], false), Strides: l.layout(l.node.In[i])}
	}
	a.Out = *l.out()
	a.Q, a.K, a.V = operand(0), operand(1), operand(2)
	l.kernel.Attention = a
}

// checkCache requires that the tokens of each row have positions in the cache.
func (l *lowering) checkCache(t *tokens) {
	nest := &Nest{Outer: t.shape[:1], Line: []int{1}}
	l.kernel.Nest = nest
	t.end(nest, 2)
	l.begin()
}

// cache reads the operands pos, which is operand i, and length.
func (l *lowering) cache(a *Attention, i int) {
	row := []int{a.Batches}
	a.Causal = true
	a.Cache = &Cache{Pos: *l.operand(i, row)}
	if i+1 < len(l.node.In) {
		a.Cache.Length = l.operand(i+1, row)
	}
}

// MaskIsBool reports whether the mask excludes rather than adds.
func (k *Kernel) MaskIsBool() bool {
	m := k.Attention.Mask
	return m != nil && k.Params[m.Param].DType() == tensor.Bool
}

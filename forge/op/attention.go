package op

import (
	"errors"
	"fmt"
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var scaleAttr = ir.AttrDecl{Name: "scale", Kind: ir.FloatAttr, Doc: "the factor of the scores, finite and positive; 1/sqrt(D) when absent"}

// attentionOp is what the registrations of attentions have in common: float heads,
// their last operand optional, and a cost for each pair of a query and a key.
func attentionOp(o ir.Op, eval32, eval64 func(*ir.Call) error, pairsDoc string, pairs func(*ir.Node) int) *ir.Op {
	o.Class, o.Optional, o.Canonical = ir.Contraction, 1, canonicalScale
	o.Eval = byType(eval32, eval64)
	o.FLOPs = ir.FLOPs{
		Doc: "2(D+E) + 5 per " + pairsDoc,
		Of:  func(n *ir.Node) int64 { return headDims(n).flops(pairs(n)) },
	}
	return &o
}

var attentions = []*ir.Op{attentionOp(
	ir.Op{
		Name: "sdpa",
		Doc: "Scaled dot-product attention: softmax(scale * q @ k^T + mask) @ v for q [B,H,Q,D], k [B,G,K,D] and v [B,G,K,E], " +
			"where each of the G key heads serves H/G neighbouring query heads. " +
			"The mask broadcasts to [B,H,Q,K]: a number is added to the score, false and -inf exclude the pair. " +
			"causal excludes keys j > i, aligned at the top left also when Q and K differ. " +
			"An excluded value is not read, so NaN there does no harm. A query whose scores are all -inf gives zeros. " +
			"All this is as in PyTorch 2.5 and later.",
		Operands: []string{"q", "k", "v", "mask"},
		Types:    floats.String() + "; the mask may be bool",
		Attrs: []ir.AttrDecl{
			{Name: "causal", Kind: ir.BoolAttr, Default: false, Doc: "query i attends to keys 0 to i; excludes a mask"},
			scaleAttr,
			{Name: "strict", Kind: ir.BoolAttr, Default: false, Doc: "give every NaN of the separate operators: excluded values are read with weight 0, -inf is added as any number is, and a query whose scores are all -inf gives NaN"},
		},
		Infer:   inferSDPA,
		Scratch: attentionScratch,
	},
	func(c *ir.Call) error { return sdpa(c, arithmetic32) },
	func(c *ir.Call) error { return sdpa(c, arithmetic64) },
	"pair of query and key; causal: min(BHQK, BHQ(Q+1)/2) pairs",
	func(n *ir.Node) int {
		d := headDims(n)
		pairs := d.b * d.h * d.q * d.keys
		if n.Bool("causal") {
			pairs = min(pairs, d.b*d.h*(d.q*(d.q+1)/2))
		}
		return pairs
	},
)}

// heads are the dimensions of an attention: b batches of h query heads that
// share g key heads, q queries, keys (at most), d channels of queries and keys
// and e of values.
type heads struct{ b, h, g, q, keys, d, e int }

// headDims reads the dimensions from operands q, k and v of the common layout.
func headDims(n *ir.Node) heads {
	q, k, v := n.In[0].Spec.Shape, n.In[1].Spec.Shape, n.In[2].Spec.Shape
	return heads{b: q[0], h: q[1], g: k[1], q: q[2], keys: k[2], d: q[3], e: v[3]}
}

// flops counts two per multiply and add of both products, and five of the
// softmax.
func (d heads) flops(pairs int) int64 { return int64(pairs) * int64(2*(d.d+d.e)+5) }

// result is the shape of the result.
func (d heads) result() []int { return []int{d.b, d.h, d.q, d.e} }

func inferSDPA(n *ir.Node) ([]ir.Spec, error) {
	dtype, err := inferHeads(n)
	if err != nil {
		return nil, err
	}
	d, k := headDims(n), n.In[1].Spec.Shape
	if k[0] != d.b {
		return nil, fmt.Errorf("q has %d batches, k and v have %d", d.b, k[0])
	}
	if err := checkMask(n, dtype, []int{d.b, d.h, d.q, d.keys}); err != nil {
		return nil, err
	}
	return []ir.Spec{{DType: dtype, Shape: d.result()}}, nil
}

// scaleOf is the factor of the scores.
func scaleOf(n *ir.Node) float64 {
	if s := n.Float("scale"); s > 0 {
		return s
	}
	return 1 / math.Sqrt(float64(headDims(n).d))
}

// canonicalScale leaves out the scale that is implied.
func canonicalScale(n *ir.Node) ir.Attrs {
	return withoutAttr(n, "scale", n.Float("scale") == 1/math.Sqrt(float64(headDims(n).d)))
}

// inferHeads checks what all attentions have in common: types and ranks, that v
// belongs to k, head sizes and head counts, and the scale.
func inferHeads(n *ir.Node) (tensor.DType, error) {
	dtype, err := sameFloat(&ir.Node{Op: n.Op, In: n.In[:3]})
	if err != nil {
		return 0, err
	}
	for i, v := range n.In[:3] {
		if v.Spec.Rank() != 4 {
			return 0, fmt.Errorf("%s must have rank 4, not %d", n.Op.Operands[i], v.Spec.Rank())
		}
	}
	q, k, v := n.In[0].Spec.Shape, n.In[1].Spec.Shape, n.In[2].Spec.Shape
	d := headDims(n)
	switch {
	case !tensor.ShapeEqual(k[:3], v[:3]):
		return 0, fmt.Errorf("k and v differ before the last dimension: %s and %s", tensor.FormatShape(k), tensor.FormatShape(v))
	case q[3] != k[3]:
		return 0, fmt.Errorf("q has %d channels per head, k has %d", q[3], k[3])
	case d.d == 0:
		return 0, errors.New("heads need at least one channel")
	case d.h != d.g && (d.g == 0 || d.h%d.g != 0):
		return 0, fmt.Errorf("%d query heads do not divide among %d key heads", d.h, d.g)
	}
	if s, given := n.Attrs["scale"]; given {
		if s := s.(float64); !(s > 0) || math.IsInf(s, 1) {
			return 0, fmt.Errorf("attribute scale is %v; it must be finite and positive", s)
		}
	}
	return dtype, nil
}

// checkMask checks the optional fourth operand of sdpa.
func checkMask(n *ir.Node, dtype tensor.DType, pairs []int) error {
	if len(n.In) < 4 {
		return nil
	}
	mask := n.In[3].Spec
	if n.Bool("causal") {
		return errors.New("causal and a mask exclude one another; let the mask exclude the keys j > i too")
	}
	if mask.DType != tensor.Bool && mask.DType != dtype {
		return fmt.Errorf("mask has type %v; bool or %v is needed", mask.DType, dtype)
	}
	if full, err := Broadcast(mask.Shape, pairs); err != nil || !tensor.ShapeEqual(full, pairs) {
		return fmt.Errorf("mask %s does not broadcast to %s, the pairs [B,H,Q,K]", tensor.FormatShape(mask.Shape), tensor.FormatShape(pairs))
	}
	return nil
}

// sdpa attends row by row over the whole width of keys, so that its sums are
// those of separate products and a softmax, to the last bit.
func sdpa[T float](c *ir.Call, a *attentionArithmetic[T]) error {
	d, causal, strict := headDims(c.Node), c.Node.Bool("causal"), c.Node.Bool("strict")
	var loadMask func(row *attentionRow[T], pair int)
	if len(c.In) == 4 {
		loadMask = maskLoader[T](c.In[3], []int{d.b, d.h, d.q, d.keys}, strict)
	}
	return attend(c, a, d, func(row *attentionRow[T], b, g, i int) ([]keyRun, int) {
		visible := d.keys
		row.strict = strict
		if causal && strict {
			row.excludeAfter(i)
		} else if causal {
			visible = min(i+1, d.keys)
		}
		if loadMask != nil {
			loadMask(row, row.index*d.keys)
		}
		return append(row.runs[:0], keyRun{0, visible, (b*d.g + g) * d.keys}), d.keys
	})
}

// maskLoader returns a function that fills a row's mask and exclusions, given
// the position of its first pair.
func maskLoader[T float](mask *tensor.Tensor, pairs []int, strict bool) func(row *attentionRow[T], pair int) {
	w, keys := newWalker(mask.Shape(), pairs), pairs[3]
	if mask.DType() == tensor.Bool {
		allowed := mask.Bool()
		return func(row *attentionRow[T], pair int) {
			row.excluded = row.excludedBuf[:keys]
			for j, ok := range load(&w, allowed, row.excludedBuf, pair, pair+keys) {
				row.excluded[j] = !ok
			}
		}
	}
	added := data[T](mask)
	return func(row *attentionRow[T], pair int) {
		row.mask = load(&w, added, row.maskBuf, pair, pair+keys)
		if strict {
			return
		}
		row.excluded = row.excludedBuf[:keys]
		for j, m := range row.mask {
			row.excluded[j] = math.IsInf(float64(m), -1)
		}
	}
}

package pass

import (
	"fmt"
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var (
	attentionRule = Rule{"attention", true, "strict sdpa multiplies, scales, masks, normalises and averages with the roundings of the separate operators, and keeps their NaNs"}

	boundedAttentionRule = Rule{"attention-of-small-numbers", false, "queries and keys are so small that no product or sum overflows, with their factors or without, and values so small that no average does; a factor of both that becomes the scale changes a score by at most 6u of the sum of the magnitudes of its terms, so a weight by a factor of exp(12u of that sum), with u half an ulp of 1; " +
		"where all are finite numbers, excluded pairs have no part, and a query without keys gives zeros as its guard does"}

	dividedAttentionRule = Rule{"attention-of-quotients", false, "dividing scores by c is multiplying by 1/c rounded: a score s changes by at most 1.5 ulp, so a weight by a factor of exp(2u|s|) with u half an ulp of 1; " +
		"c >= 1, so that neither a quotient nor a product overflows, and no mask is added, so that nothing after it does"}
)

// recogniseAttention finds softmax(q @ k^T * scale + mask) @ v, also where q and k have
// the scale as factors and a guard gives zeros to queries without keys.
func recogniseAttention(g *ir.Graph, r *report) error {
	w := newRewriter(g, r)
	known := make(magnitudes)
	return w.sweep(func(n *ir.Node) error {
		if n.Op.Name != "matmul" {
			return nil
		}
		a := &attention{rewriter: w, known: known, rule: &attentionRule, root: n, v: n.In[1], scale: 1, scores: n.In[0].Spec}
		weights := made(n.In[0], "softmax")
		if weights == nil {
			weights = a.takeGuard(n.In[0])
		}
		if weights == nil {
			return nil
		}
		reason, blockers := a.match(weights)
		if reason != "" {
			w.declined(a.rule, n.Out[0], reason, blockers...)
			return nil
		}
		return a.rewrite()
	})
}

// attention is what a match collects.
type attention struct {
	*rewriter
	known  magnitudes
	rule   *Rule
	root   *ir.Node // the product with v
	guard  []*ir.Node
	q, v   *ir.Value
	keys   *ir.Value // k, with its last two dimensions exchanged
	factor float64   // of the keys, to be multiplied by; 0 for none
	scale  float64
	mask   *ir.Value
	causal bool
	loose  bool    // all are finite numbers, so that nothing is to be kept of NaNs
	scores ir.Spec // masked
}

// match walks from the softmax up to q and k. It returns the first
// precondition that fails.
func (a *attention) match(weights *ir.Node) (string, []*ir.Value) {
	if axis := axisOf(weights.Int("axis"), weights.In[0].Spec.Rank()); axis != weights.In[0].Spec.Rank()-1 {
		return fmt.Sprintf("softmax runs along dimension %d, not along the keys", axis), weights.Out
	}
	if reason, blockers := a.weightsArePrivate(weights); reason != "" {
		return reason, blockers
	}
	if act := a.root.Str("act"); act != "none" {
		return "the product with the values has the activation " + act, a.root.Out
	}
	if residual := residualOf(a.root); residual != nil {
		return "the product with the values has a residual", []*ir.Value{residual}
	}
	at, v := a.readersOfScores(weights), weights.In[0]
	for _, step := range []func(*ir.Node) (*ir.Value, string, []*ir.Value){a.takeMask, a.takeScale} {
		d := v.Def
		if d == nil {
			break
		}
		next, reason, blockers := step(d)
		if reason != "" {
			return reason, blockers
		}
		if next == nil {
			continue
		}
		if reason, blockers := a.private(v, at...); reason != "" {
			return reason, blockers
		}
		at, v = []*ir.Node{d}, next
	}
	if reason, blockers := a.takeScores(at, v); reason != "" {
		return reason, blockers
	}
	return a.judge()
}

// takeMask reads scores + mask or where(mask, scores, -inf), and returns the
// scores; nil when d is neither.
func (a *attention) takeMask(d *ir.Node) (*ir.Value, string, []*ir.Value) {
	switch d.Op.Name {
	case "add":
		scores := slices.IndexFunc(d.In, isScores)
		if scores < 0 {
			return nil, "", nil
		}
		a.mask = d.In[1-scores]
		return d.In[scores], "", nil
	case "where":
		fill, ok := filled(d.In[2])
		switch {
		case !isScores(d.In[1]):
			return nil, "", nil
		case !ok:
			return nil, "the masked scores are not replaced by one constant", d.In[2:]
		case !math.IsInf(fill, -1):
			return nil, fmt.Sprintf("masked scores are replaced by %v, not -inf: they would still have weight where all scores are low", fill), d.In[2:]
		}
		a.mask = d.In[0]
		a.causal = isCausal(a.mask, a.scores)
		return d.In[1], "", nil
	}
	return nil, "", nil
}

// isScores reports whether v is a product or a scaled one.
func isScores(v *ir.Value) bool {
	if v.Def != nil && (v.Def.Op.Name == "mul" || v.Def.Op.Name == "div") {
		x, _, ok := withConst(v.Def)
		return ok && made(x, "matmul") != nil
	}
	return made(v, "matmul") != nil
}

// isCausal reports whether a constant lets query i attend to keys 0 to i.
func isCausal(mask *ir.Value, scores ir.Spec) bool {
	return isConst(mask) && mask.Spec.DType == tensor.Bool && isCausalPattern(mask.Def.Tensor("value").Bool(), mask.Spec, scores)
}

// isCausalPattern reports whether the pairs of a mask that are visible are those of query i
// with keys 0 to i.
func isCausalPattern(pairs []bool, mask, scores ir.Spec) bool {
	rank := mask.Rank()
	if rank < 2 || !slices.Equal(mask.Shape[rank-2:], scores.Shape[scores.Rank()-2:]) {
		return false
	}
	queries, keys := mask.Shape[rank-2], mask.Shape[rank-1]
	for i, visible := range pairs {
		if visible != (i%keys <= i/keys%queries) {
			return false
		}
	}
	return true
}

// takeScale reads scores * c or scores / c and returns the scores; nil when d
// is neither.
func (a *attention) takeScale(d *ir.Node) (*ir.Value, string, []*ir.Value) {
	if d.Op.Name != "mul" && d.Op.Name != "div" {
		return nil, "", nil
	}
	x, c, ok := withConst(d)
	if !ok || made(x, "matmul") == nil {
		return nil, "", nil
	}
	blockers := slices.DeleteFunc(slices.Clone(d.In), func(v *ir.Value) bool { return v == x })
	switch {
	case d.Op.Name == "div" && x != d.In[0]:
		return nil, "the scores are divided into a constant", blockers
	case !(c > 0) || math.IsInf(c, 1):
		return nil, fmt.Sprintf("the scale is %v; it must be finite and positive", c), blockers
	case !stands(d, x):
		return nil, "the scale stretches the scores", blockers
	case d.Op.Name == "mul":
		a.scale = c
	case exactReciprocal(x.Spec.DType, c):
		a.scale = 1 / c
	default:
		a.rule = &dividedAttentionRule
		if c < 1 {
			return nil, fmt.Sprintf("the scores are divided by %v, which is below 1: multiplying by its rounded reciprocal could overflow where dividing does not", c), blockers
		}
		if a.mask != nil && a.mask.Spec.DType != tensor.Bool {
			return nil, fmt.Sprintf("the scores are divided by %v, which rounds otherwise than sdpa, before a mask is added: the sum could overflow where it did not", c), []*ir.Value{a.mask}
		}
		a.scale = 1 / c
		if x.Spec.DType == tensor.F32 {
			a.scale = float64(float32(a.scale))
		}
	}
	return x, "", nil
}

// takeScores reads the product v of q and transposed keys, which at reads, and
// checks that sdpa takes all operands.
func (a *attention) takeScores(at []*ir.Node, v *ir.Value) (string, []*ir.Value) {
	product := made(v, "matmul")
	if product == nil {
		return "the scores are not a product of queries and keys", []*ir.Value{v}
	}
	if act := product.Str("act"); act != "none" {
		return "the scores have the activation " + act, []*ir.Value{v}
	}
	if residual := residualOf(product); residual != nil {
		return "the scores have a residual", []*ir.Value{residual}
	}
	if reason, blockers := a.private(v, at...); reason != "" {
		return reason, blockers
	}
	a.q, a.keys = product.In[0], product.In[1]
	operands := []*ir.Value{a.q, a.keys, a.v}
	for _, u := range operands {
		if r := u.Spec.Rank(); r > 4 || r != a.q.Spec.Rank() {
			return fmt.Sprintf("%v has rank %d; sdpa takes [batch, heads, length, channels], and all of it without heads or batch", u, r), []*ir.Value{u}
		}
		if d := u.Spec.DType; d != a.q.Spec.DType {
			return fmt.Sprintf("%v is %v and the queries are %v; sdpa takes one type", u, d, a.q.Spec.DType), []*ir.Value{u}
		}
	}
	if reason, blockers := roundsOften(a.q, "sdpa"); reason != "" {
		return reason, blockers
	}
	if x, c, ok := factorOf(a.keys); ok {
		a.keys, a.factor = x, c
	}
	if made(a.keys, "transpose") == nil {
		return fmt.Sprintf("%v is not transposed from keys: sdpa would need a copy with the last two dimensions exchanged", a.keys), []*ir.Value{a.keys}
	}
	q, k, v4 := withHeads(a.q.Spec.Shape), withHeads(a.keys.Spec.Shape), withHeads(a.v.Spec.Shape)
	switch {
	case q[0] != k[0] || q[0] != v4[0]:
		return fmt.Sprintf("batches are broadcast: q has %d, k %d and v %d", q[0], k[0], v4[0]), operands
	case k[1] != v4[1] || k[1] != q[1] && k[1] != 1:
		return fmt.Sprintf("heads are broadcast: q has %d, k %d and v %d", q[1], k[1], v4[1]), operands
	case q[3] == 0:
		return "heads have no channels", []*ir.Value{a.q}
	}
	if pairs := []int{q[0], q[1], q[2], k[3]}; !tensor.ShapeEqual(withHeads(a.scores.Shape), pairs) {
		return fmt.Sprintf("the mask stretches the scores from %s to %s", tensor.FormatShape(pairs), tensor.FormatShape(a.scores.Shape)), []*ir.Value{a.mask}
	}
	if a.mask != nil && !a.causal {
		operands = append(operands, a.mask)
	}
	return a.later(append(operands, a.keys.Def.In...)...)
}

// withHeads is the shape of rank 4 for one without heads, [batch, length,
// channels], or also without batch.
func withHeads(shape []int) []int {
	switch len(shape) {
	case 2:
		return []int{1, 1, shape[0], shape[1]}
	case 3:
		return []int{shape[0], 1, shape[1], shape[2]}
	}
	return shape
}

// oneHeadEach undoes a repetition of heads, reshape(expand(x)) from
// [B,G,1,K,D] by [B,G,R,K,D] to [B,G*R,K,D], and returns x; nil when v is not
// one.
func oneHeadEach(v *ir.Value) *ir.Value {
	joined := made(v, "reshape")
	if joined == nil {
		return nil
	}
	repeated := made(joined.In[0], "expand")
	if repeated == nil || repeated.Out[0].Spec.Rank() != 5 || repeated.In[0].Spec.Rank() != 5 {
		return nil
	}
	from, by, to := repeated.In[0].Spec.Shape, repeated.Out[0].Spec.Shape, v.Spec.Shape
	once := slices.Clone(by)
	once[2] = 1
	if !slices.Equal(from, once) || !slices.Equal(to, []int{by[0], by[1] * by[2], by[3], by[4]}) {
		return nil
	}
	return repeated.In[0]
}

// share lets sdpa divide the query heads among the key heads, where k and v
// repeat theirs for as many query heads.
func (a *attention) share(k, v *ir.Value) (*ir.Value, *ir.Value, error) {
	k5, v5 := oneHeadEach(k), oneHeadEach(v)
	if k5 == nil || v5 == nil || k5.Spec.Shape[1] != v5.Spec.Shape[1] {
		return k, v, nil
	}
	if reason, _ := a.later(k5, v5); reason != "" {
		return k, v, nil
	}
	for _, u := range []struct {
		to   **ir.Value
		five *ir.Value
		name string
	}{{&k, k5, "keys"}, {&v, v5, "values"}} {
		shape := slices.Delete(slices.Clone(u.five.Spec.Shape), 2, 3)
		if r := made(u.five, "reshape"); r != nil && slices.Equal(r.In[0].Spec.Shape, shape) {
			*u.to = r.In[0]
			continue
		}
		once, err := a.insert(a.root, u.name, "reshape", ir.Attrs{"shape": shape}, u.five)
		if err != nil {
			return nil, nil, err
		}
		*u.to = once
	}
	return k, v, nil
}

func (a *attention) rewrite() error {
	perm := permOf(a.keys.Def)
	last := len(perm) - 1
	perm[last-1], perm[last] = perm[last], perm[last-1]
	k, v := a.keys.Def.In[0], a.v
	var err error
	switch {
	case !isIdentity(perm):
		k, err = a.insert(a.root, "keys", "transpose", ir.Attrs{"perm": perm}, k)
	case a.factor == 0:
		k, v, err = a.share(k, v)
	}
	if err == nil && a.factor != 0 {
		k, err = a.multiplied(k)
	}
	if err != nil {
		return err
	}
	operands := []*ir.Value{a.q, k, v}
	reason := "softmax of scaled products of queries and keys, times values"
	switch {
	case a.causal:
		reason += "; the constant mask is causal"
	case a.mask != nil:
		operands = append(operands, a.mask)
	}
	if a.guard != nil {
		reason += "; " + a.guardReason()
	}
	a.applied(a.rule, a.root.Out[0], reason, operands...)
	attrs := ir.Attrs{"causal": a.causal, "scale": a.scale, "strict": !a.loose}
	if a.q.Spec.Rank() == 4 {
		return a.become(a.root, "sdpa", attrs, operands...)
	}
	return a.lift(attrs, operands)
}

// lift gives operands without heads a head of their own, which takes views
// only.
func (a *attention) lift(attrs ir.Attrs, operands []*ir.Value) error {
	for i, u := range operands {
		if i == 3 && u.Spec.Rank() < 3 {
			continue // such a mask is the same for every batch and head
		}
		var err error
		if operands[i], err = a.insert(a.root, "heads", "reshape", ir.Attrs{"shape": withHeads(u.Spec.Shape)}, u); err != nil {
			return err
		}
	}
	result, err := a.insert(a.root, "attention", "sdpa", attrs, operands...)
	if err != nil {
		return err
	}
	if err := a.become(a.root, "reshape", ir.Attrs{"shape": a.root.Out[0].Spec.Shape}, result); err != nil {
		return err
	}
	result.Def.Pos = slices.Clone(a.root.Pos) // of all that sdpa now does
	return nil
}

package pass

import (
	"fmt"
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// takeGuard reads where(no score is above -inf, 0, softmax(scores)), which gives zeros
// to a query without keys, and returns the softmax; nil when v is not that.
func (a *attention) takeGuard(v *ir.Value) *ir.Node {
	choice := made(v, "where")
	if choice == nil {
		return nil
	}
	weights := made(choice.In[2], "softmax")
	zero, ok := filled(choice.In[1])
	if weights == nil || !ok || zero != 0 || math.Signbit(zero) {
		return nil
	}
	test := testOfEmptyRows(choice.In[0], weights.In[0])
	if test == nil {
		return nil
	}
	a.guard = append([]*ir.Node{choice}, test...)
	return weights
}

// testOfEmptyRows lists the nodes of not(sum(cast(not(scores == -inf))) > 0) along the
// last dimension, from the last to the first; nil when v is not that.
func testOfEmptyRows(v, scores *ir.Value) []*ir.Node {
	var list []*ir.Node
	for _, name := range []string{"not", "gt", "sum", "cast", "not", "eq"} {
		d := made(v, name)
		if d == nil {
			return nil
		}
		list = append(list, d)
		v = d.In[0]
	}
	above, sum, last := list[1], list[2], list[5]
	none, ok := filled(above.In[1])
	low, known := filled(last.In[1])
	axis, one := keptAxis(sum)
	if !ok || none != 0 || !known || !math.IsInf(low, -1) || !one || axis != scores.Spec.Rank()-1 || v != scores {
		return nil
	}
	if d := sum.Out[0].Spec.DType; d != tensor.I32 && d != tensor.I64 {
		return nil
	}
	return list
}

// weightsArePrivate checks that nothing else reads what leads from the softmax to the
// product with the values.
func (a *attention) weightsArePrivate(weights *ir.Node) (string, []*ir.Value) {
	if a.guard == nil {
		return a.private(weights.Out[0], a.root)
	}
	choice, test := a.guard[0], a.guard[1:]
	reader := a.root
	for _, d := range []*ir.Node{choice, weights} {
		if reason, blockers := a.private(d.Out[0], reader); reason != "" {
			return reason, blockers
		}
		reader = choice
	}
	for _, d := range test {
		if reason, blockers := a.private(d.Out[0], reader); reason != "" {
			return reason, blockers
		}
		reader = d
	}
	return "", nil
}

// readersOfScores are the nodes of the pattern that read the masked scores.
func (a *attention) readersOfScores(weights *ir.Node) []*ir.Node {
	if a.guard == nil {
		return []*ir.Node{weights}
	}
	return []*ir.Node{weights, a.guard[len(a.guard)-1]}
}

// factorOf splits a value that is another times one positive number.
func factorOf(v *ir.Value) (x *ir.Value, c float64, ok bool) {
	d := made(v, "mul")
	if d == nil {
		return nil, 0, false
	}
	x, c, ok = withConst(d)
	return x, c, ok && c > 0 && !math.IsInf(c, 1) && stands(d, x)
}

// multiplied is k times the factor of the keys.
func (a *attention) multiplied(k *ir.Value) (*ir.Value, error) {
	t, err := tensor.Full(k.Spec.DType, a.factor)
	if err != nil {
		return nil, err
	}
	c, err := a.constant(a.root, "factor", t)
	if err != nil {
		return nil, err
	}
	return a.insert(a.root, "keys", "mul", nil, k, c)
}

// judge decides by magnitudes what becomes of factors, guard and constant mask. It
// says why a guard cannot be left out.
func (a *attention) judge() (string, []*ir.Value) {
	q, queryFactor, ok := factorOf(a.q)
	if !ok {
		q, queryFactor = a.q, 1
	}
	keyFactor := a.factor
	if keyFactor == 0 {
		keyFactor = 1
	}
	operands := []*ir.Value{q, a.keys, a.v}
	small, numbers := a.small(q, queryFactor, keyFactor), true
	for _, v := range operands {
		numbers = numbers && a.known.of(v).isNumbers()
	}
	if reason, _ := a.later(q); small && reason == "" && queryFactor*keyFactor != 1 {
		a.rule, a.q, a.factor = &boundedAttentionRule, q, 0
		a.scale *= queryFactor * keyFactor
	}
	if small && numbers && a.mask != nil && !a.causal && isCausalTerm(a.mask, a.scores) {
		a.rule, a.causal, a.loose = &boundedAttentionRule, true, true
	}
	switch {
	case a.guard == nil || small && a.leavesKeys():
		return "", nil
	case small && numbers:
		a.rule, a.loose = &boundedAttentionRule, true
		return "", nil
	case !small:
		return "all scores of a query may be -inf, where the guard gives zeros and attention NaN: nothing bounds the operands", operands
	}
	return "the mask may exclude all keys of a query, where the guard gives zeros: attention does too, but would not keep a NaN that an operand may hold", operands
}

// leastOfSums is so small a part of the largest number that adding it to a finite
// number never overflows.
const leastOfSums = 0x1p-30

// small reports whether no product, score or average overflows, or is lost beside a mask,
// with the factors on the operands or on the scores.
func (a *attention) small(q *ir.Value, queryFactor, keyFactor float64) bool {
	most := mostOf(q.Spec.DType)
	limits := []float64{a.known.of(q).limit, a.known.of(a.keys).limit, a.known.of(a.v).limit}
	if slices.Contains(limits, math.Inf(1)) {
		return false
	}
	factor := queryFactor * keyFactor
	channels := float64(q.Spec.Shape[q.Spec.Rank()-1])
	if channels > 1<<22 {
		return false
	}
	score := roundingSlack * channels * limits[0] * limits[1] * max(1, factor, factor*a.scale)
	least := 1 / mostOf(tensor.F32)
	return score < most*leastOfSums && limits[0]*queryFactor < most && limits[1]*keyFactor < most && roundingSlack*limits[2] < most &&
		factor > least && factor*a.scale > least && factor*a.scale < math.MaxFloat32
}

// leavesKeys reports whether every query has a key that the mask does not exclude.
func (a *attention) leavesKeys() bool {
	if a.mask == nil || a.causal {
		return a.scores.Shape[a.scores.Rank()-1] > 0
	}
	if !isConst(a.mask) || a.mask.Spec.Rank() == 0 {
		return false
	}
	t := a.mask.Def.Tensor("value")
	for row := range slices.Chunk(visiblePairs(t), max(1, t.Dim(-1))) {
		if !slices.Contains(row, true) {
			return false
		}
	}
	return t.Len() > 0
}

// visiblePairs tells which pairs a mask does not exclude.
func visiblePairs(mask *tensor.Tensor) []bool {
	if mask.DType() == tensor.Bool {
		return mask.Bool()
	}
	list := make([]bool, mask.Len())
	for i := range list {
		list[i] = !math.IsInf(mask.Elem(i), -1)
	}
	return list
}

// isCausalTerm reports whether a constant that is added to scores is 0 for keys 0 to i of
// query i and -inf for the others.
func isCausalTerm(mask *ir.Value, scores ir.Spec) bool {
	if !isConst(mask) || mask.Spec.DType == tensor.Bool {
		return false
	}
	t := mask.Def.Tensor("value")
	for i := range t.Len() {
		if x := t.Elem(i); x != 0 && !math.IsInf(x, -1) {
			return false
		}
	}
	return isCausalPattern(visiblePairs(t), mask.Spec, scores)
}

// guardReason says what became of the guard.
func (a *attention) guardReason() string {
	if a.loose {
		return fmt.Sprintf("%v and its test give way: a query without keys gives zeros", a.guard[0].Out[0])
	}
	return fmt.Sprintf("%v and its test give way: every query has a score above -inf, or NaN", a.guard[0].Out[0])
}

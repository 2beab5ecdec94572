package fuzz

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// ruleBounds say, for each rule that is not exact, how much farther from the
// float64 result an element may be than it was: n is the node that the rule
// made, in its operands, and u half an ulp of 1. They follow from the reasons
// that the rules give.
var ruleBounds = map[string]func(n *ir.Node, in []*tensor.Tensor, u float64) float64{
	"square":                     squareBound,
	"layer-norm-rounded":         normBound,
	"rms-norm-rounded":           normBound,
	"attention-of-quotients":     attentionBound,
	"attention-of-small-numbers": smallAttentionBound,
}

// bound is that of the site's rule.
func (s *site) bound() (float64, bool) {
	derive := ruleBounds[s.rule]
	if derive == nil {
		return 0, false
	}
	n := s.value.Def
	for n.Op.View && n.In[0].Def != nil { // sdpa may stand behind a reshape
		n = n.In[0].Def
	}
	u := 0x1p-24
	if s.value.Spec.DType == tensor.F64 {
		u = 0x1p-53
	}
	return derive(n, s.now.of(n.In), u), true
}

// squareBound is half an ulp of the largest square, which denormals have at
// least.
func squareBound(_ *ir.Node, in []*tensor.Tensor, u float64) float64 {
	x := largest(in[0])
	return u*x*x + 0x1p-150
}

// normBound allows for 4 ulp of an element, whose magnitude is at most sqrt(n)
// before weight and bias, and for a mean that is off by 2 ulp of the largest
// number over sqrt(eps).
func normBound(n *ir.Node, in []*tensor.Tensor, u float64) float64 {
	count := 1
	for _, d := range in[0].Shape()[n.Int("axis"):] {
		count *= d
	}
	weight, bias := 1.0, 0.0
	if len(in) > 1 {
		weight = max(1, largest(in[1]))
	}
	if len(in) > 2 {
		bias = largest(in[2])
	}
	bound := 8*u*math.Sqrt(float64(max(1, count)))*weight + 2*u*bias
	if n.Op.Name == "layer_norm" {
		bound += 4 * u * largest(in[0]) / math.Sqrt(n.Float("eps")) * weight
	}
	return bound
}

// attentionBound allows for scores s that change by 1.5 ulp each: weights
// change by a factor of exp(6u|s|), and so the average of values by that much
// of the largest value.
func attentionBound(_ *ir.Node, in []*tensor.Tensor, u float64) float64 {
	score := float64(in[0].Dim(-1)) * largest(in[0]) * largest(in[1])
	return (math.Expm1(6*u*score) + 8*u) * largest(in[2])
}

// smallAttentionBound allows for scores that change by 6u of the sum of the magnitudes
// of their terms.
func smallAttentionBound(n *ir.Node, in []*tensor.Tensor, u float64) float64 {
	score := float64(in[0].Dim(-1)) * largest(in[0]) * largest(in[1]) * max(1, n.Float("scale"))
	return (math.Expm1(12*u*score) + 16*u) * largest(in[2])
}

// largest is the largest magnitude of a finite element.
func largest(t *tensor.Tensor) float64 {
	most := 0.0
	for i := range t.Len() {
		if v := math.Abs(t.Elem(i)); v > most && !math.IsInf(v, 1) {
			most = v
		}
	}
	return most
}

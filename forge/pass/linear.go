package pass

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var linearRule = Rule{"matmul-bias", true, "linear adds the bias to the rounded sum of products, as add does to the result of matmul"}

// canonicalizeLinear writes a matrix product and the addition of a bias as one
// linear node.
func canonicalizeLinear(g *ir.Graph, r *report) error {
	w := newRewriter(g, r)
	return w.sweep(func(n *ir.Node) error {
		if n.Op.Name != "add" {
			return nil
		}
		for i, v := range n.In {
			product, bias := made(v, "matmul"), n.In[1-i]
			if product == nil {
				continue
			}
			reason, blockers := w.linearBlocked(n, product, bias)
			if reason == "" {
				w.applied(&linearRule, n.Out[0], "matmul and bias are linear", v, bias)
				return w.become(n, "linear", nil, product.In[0], product.In[1], bias)
			}
			w.declined(&linearRule, n.Out[0], reason, blockers...)
		}
		return nil
	})
}

// linearBlocked says why n, which adds bias to a product, is not linear.
func (w *rewriter) linearBlocked(n, product *ir.Node, bias *ir.Value) (string, []*ir.Value) {
	weight, result := product.In[1], product.Out[0]
	channels := weight.Spec.Shape[weight.Spec.Rank()-1]
	switch {
	case weight.Spec.Rank() != 2:
		return fmt.Sprintf("the weight has rank %d; linear takes [in, out]", weight.Spec.Rank()), []*ir.Value{weight}
	case bias.Spec.Rank() != 1:
		return fmt.Sprintf("the other operand has rank %d; a bias has rank 1", bias.Spec.Rank()), []*ir.Value{bias}
	case bias.Spec.Shape[0] != channels:
		return fmt.Sprintf("the other operand has the shape %s; a bias for %d output channels has [%d]", tensor.FormatShape(bias.Spec.Shape), channels, channels), []*ir.Value{bias}
	case residualOf(product) != nil:
		return "the product has a residual, which linear adds after the bias", []*ir.Value{residualOf(product)}
	case product.Str("act") != "none":
		return "the product already has the activation " + product.Str("act"), []*ir.Value{result}
	}
	if reason, blockers := roundsOften(result, "linear"); reason != "" {
		return reason, blockers
	}
	if reason, blockers := w.private(result, n); reason != "" {
		return reason, blockers
	}
	return w.later(product.In...)
}

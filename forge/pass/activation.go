package pass

import (
	"maps"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

var activationRule = Rule{"linear-activation", true, "the activation is applied to the rounded result of linear, matmul or conv2d, as the operator of that name is"}

// fuseLinearActivation applies an activation where a product, a linear node or a
// convolution stores its results.
func fuseLinearActivation(g *ir.Graph, r *report) error {
	w := newRewriter(g, r)
	return w.sweep(func(n *ir.Node) error {
		act, ok := op.Activation(n)
		if !ok {
			return nil
		}
		v := n.In[0]
		product := made(v, "linear")
		if product == nil {
			product = made(v, "matmul")
		}
		if product == nil {
			product = made(v, "conv2d")
		}
		if product == nil {
			return nil
		}
		reason, blockers := w.private(v, n)
		if reason == "" {
			reason, blockers = roundsOften(v, product.Op.Name+" with an activation")
		}
		if reason == "" {
			reason, blockers = w.later(product.In...)
		}
		if residual := residualOf(product); residual != nil {
			reason, blockers = v.String()+" has a residual, which is added after an activation", []*ir.Value{residual}
		}
		if done := product.Str("act"); done != "none" {
			reason, blockers = v.String()+" already has the activation "+done, []*ir.Value{v}
		}
		if reason != "" {
			w.declined(&activationRule, n.Out[0], reason, blockers...)
			return nil
		}
		w.applied(&activationRule, n.Out[0], act+" is applied where "+product.Op.Name+" stores its results", v)
		attrs := maps.Clone(product.Attrs)
		if attrs == nil {
			attrs = ir.Attrs{}
		}
		attrs["act"] = act
		return w.become(n, product.Op.Name, attrs, product.In...)
	})
}

package pass

import (
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var residualRule = Rule{"linear-residual", true, "the residual is added to the rounded result of linear or matmul, as add does; a sum has the same bits in either order"}

// fuseResidual adds a value of the same shape where a product or linear node stores
// its results, as a block of a network adds its input to what it has computed.
func fuseResidual(g *ir.Graph, r *report) error {
	w := newRewriter(g, r)
	return w.sweep(func(n *ir.Node) error {
		if n.Op.Name != "add" || !tensor.ShapeEqual(n.In[0].Spec.Shape, n.In[1].Spec.Shape) {
			return nil
		}
		for i, v := range n.In {
			product, residual := v.Def, n.In[1-i]
			if made(v, "linear") == nil && made(v, "matmul") == nil || i > 0 && v == residual {
				continue
			}
			reason, blockers := w.residualBlocked(n, product, residual)
			if reason == "" {
				name := product.Op.Name
				if len(product.In) == 2 { // linear without a bias
					name = "matmul"
				}
				w.applied(&residualRule, n.Out[0], residual.String()+" is added where "+name+" stores its results", v, residual)
				return w.become(n, name, product.Attrs, append(slices.Clone(product.In), residual)...)
			}
			w.declined(&residualRule, n.Out[0], reason, blockers...)
		}
		return nil
	})
}

// residualBlocked says why n cannot be added by the product.
func (w *rewriter) residualBlocked(n, product *ir.Node, residual *ir.Value) (string, []*ir.Value) {
	v := product.Out[0]
	last := residualIndex(product)
	switch {
	case residualOf(product) != nil:
		return v.String() + " already has a residual", []*ir.Value{v}
	case len(product.In) < last && v.Spec.Rank() < 2:
		return v.String() + " has no bias, behind which the residual stands, and is no matrix", []*ir.Value{v}
	case residual == v:
		return v.String() + " is added to itself", []*ir.Value{v}
	}
	if reason, blockers := roundsOften(v, product.Op.Name+" with a residual"); reason != "" {
		return reason, blockers
	}
	if reason, blockers := w.private(v, n); reason != "" {
		return reason, blockers
	}
	return w.later(product.In...)
}

// residualIndex is the operand of a product that is its residual.
func residualIndex(n *ir.Node) int { return len(n.Op.Operands) - 1 }

// residualOf is the value that a product adds after everything else; nil for none.
func residualOf(n *ir.Node) *ir.Value {
	if i := residualIndex(n); n.Op.Operands[i] == "residual" && len(n.In) > i {
		return n.In[i]
	}
	return nil
}

package pass

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var weightRule = Rule{"narrow-weight", true, "every number of f16 and bf16 is one of f32, and products widen their weights to it"}

// narrowWeights, the first half of the pass, lets products read constant weights of half precision as they
// stand, where a cast made them f32: half the memory, and half of what a product of
// few rows waits for.
func narrowWeights(g *ir.Graph, r *report) error {
	w := newRewriter(g, r)
	return w.sweep(func(n *ir.Node) error {
		weight, ok := weightOf(n)
		if !ok || weight.Spec.DType != tensor.F32 {
			return nil
		}
		cast, views := castBehind(weight)
		switch {
		case cast == nil:
			return nil
		case weight.Spec.Bytes() <= MaxWeightCopy:
			w.declined(&weightRule, n.Out[0], fmt.Sprintf("%v has %d bytes; up to %d are widened when the program is compiled", weight, weight.Spec.Bytes(), MaxWeightCopy), weight)
			return nil
		}
		narrow := cast.In[0]
		for _, view := range views {
			var err error
			if narrow, err = w.insert(n, "narrow", view.Op.Name, view.Attrs, narrow); err != nil {
				return err
			}
		}
		w.applied(&weightRule, n.Out[0], fmt.Sprintf("the weight stays %v", narrow.Spec.DType), cast.Out[0])
		return w.become(n, n.Op.Name, n.Attrs, append([]*ir.Value{n.In[0], narrow}, n.In[2:]...)...)
	})
}

// castBehind finds the cast of a constant of half precision that a weight is, or is
// a view of; views are those from the cast on.
func castBehind(weight *ir.Value) (cast *ir.Node, views []*ir.Node) {
	for n := weight.Def; n != nil; n = n.In[0].Def {
		switch {
		case isReorder(n):
			views = append([]*ir.Node{n}, views...)
		case n.Op.Name == "cast" && isHalfConstant(n.In[0]):
			return n, views
		default:
			return nil, nil
		}
	}
	return nil, nil
}

// isHalfConstant reports whether v is a constant of half precision, or a part of
// one in some order.
func isHalfConstant(v *ir.Value) bool {
	for v.Def != nil && isReorder(v.Def) {
		v = v.Def.In[0]
	}
	return isConst(v) && (v.Spec.DType == tensor.F16 || v.Spec.DType == tensor.BF16)
}

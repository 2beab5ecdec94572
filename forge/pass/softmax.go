package pass

import (
	"fmt"

	"forgekernel/forge/ir"
)

var softmaxRule = Rule{"stable-softmax", true, "softmax subtracts the maximum, takes exp, adds and divides in the same order; an exp without the subtraction overflows where softmax does not, and is left as it is"}

// recogniseSoftmax finds exp(x - max(x)) / sum(exp(x - max(x))) along one
// dimension.
func recogniseSoftmax(g *ir.Graph, r *report) error {
	w := newRewriter(g, r)
	return w.sweep(func(n *ir.Node) error {
		if n.Op.Name != "div" {
			return nil
		}
		exp, sum := made(n.In[0], "exp"), made(n.In[1], "sum")
		if exp == nil || sum == nil || sum.In[0] != n.In[0] {
			return nil
		}
		x, axis, reason, blockers := w.softmaxOperand(n, exp, sum)
		if reason != "" {
			w.declined(&softmaxRule, n.Out[0], reason, blockers...)
			return nil
		}
		w.applied(&softmaxRule, n.Out[0], fmt.Sprintf("exp of the distance to the maximum over its sum along dimension %d", axis), x)
		return w.become(n, "softmax", ir.Attrs{"axis": axis}, x)
	})
}

// softmaxOperand returns what n, the quotient of exp and its sum, is the
// softmax of.
func (w *rewriter) softmaxOperand(n, exp, sum *ir.Node) (x *ir.Value, axis int, reason string, blockers []*ir.Value) {
	if reason, blockers = roundsOften(sum.Out[0], "softmax"); reason != "" {
		return nil, 0, reason, blockers
	}
	axis, ok := keptAxis(sum)
	if !ok {
		return nil, 0, "the sum does not keep exactly one dimension with length 1", sum.Out
	}
	distance := made(exp.In[0], "sub")
	if distance == nil {
		return nil, 0, "exp is taken without subtracting the maximum: it overflows where softmax does not", exp.In
	}
	top := made(distance.In[1], "max")
	if top == nil || top.In[0] != distance.In[0] {
		return nil, 0, fmt.Sprintf("what is subtracted before exp is not the maximum of %v", distance.In[0]), distance.In[1:]
	}
	if topAxis, ok := keptAxis(top); !ok || topAxis != axis {
		return nil, 0, "the maximum and the sum are not along the same dimension", []*ir.Value{top.Out[0], sum.Out[0]}
	}
	for _, inner := range []struct {
		v       *ir.Value
		readers []*ir.Node
	}{{sum.Out[0], []*ir.Node{n}}, {exp.Out[0], []*ir.Node{n, sum}}, {distance.Out[0], []*ir.Node{exp}}, {top.Out[0], []*ir.Node{distance}}} {
		if reason, blockers = w.private(inner.v, inner.readers...); reason != "" {
			return nil, 0, reason, blockers
		}
	}
	if reason, blockers = w.later(distance.In[0]); reason != "" {
		return nil, 0, reason, blockers
	}
	return distance.In[0], axis, "", nil
}

// keptAxis is the dimension that a reduction shortens to 1.
func keptAxis(n *ir.Node) (int, bool) {
	rank := n.In[0].Spec.Rank()
	if !n.Bool("keepdims") {
		return 0, false
	}
	axes := n.Ints("axes")
	if axes == nil && rank == 1 {
		return 0, true
	}
	if len(axes) != 1 {
		return 0, false
	}
	return axisOf(int(axes[0]), rank), true
}

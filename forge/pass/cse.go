package pass

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var shareRule = Rule{"share", true, "equal operators, attributes and operands have equal results"}

// commonSubexpressions redirects the readers of a node to an earlier node with
// the same operator, attributes and operands. Constants are equal when their
// bits are.
func commonSubexpressions(g *ir.Graph, r *report) error {
	number := make(map[*ir.Value]int) // equal values have equal numbers
	for i, v := range g.Inputs {
		number[v] = i
	}
	first := make(map[string]*ir.Node)
	constants := make(map[string][]*ir.Node)
	instead := make(map[*ir.Value]*ir.Value)
	next := len(g.Inputs)
	taken := takenStorage(g)
	for _, n := range g.Nodes {
		redirect(n.In, instead)
		var key string
		var earlier *ir.Node
		if t := n.Tensor("value"); t != nil && n.Op.Class == ir.Constant {
			earlier = equalConstant(constants, n, t)
		} else {
			key = n.Key(number)
			earlier = first[key]
		}
		if earlier != nil {
			if by := blocker(taken, earlier, n); by != nil {
				r.declined(&shareRule, n.Out[0], siteName(by.Out[0])+" takes the storage of one of two equal results", earlier.Out...)
				earlier = nil
			}
		}
		if n.Op.Effect || earlier == nil {
			if key != "" {
				first[key] = n
			}
			for _, v := range n.Out {
				number[v] = next
				next++
			}
			continue
		}
		for i, v := range n.Out {
			number[v] = number[earlier.Out[i]]
			instead[v] = earlier.Out[i]
		}
		r.applied(&shareRule, n.Out[0], "shared: an earlier node computes the same", earlier.Out...)
		earlier.Pos = mergePos(earlier.Pos, n.Pos)
	}
	redirect(g.Outputs, instead)
	return nil
}

// equalConstant finds an earlier constant with the bits of t, or adds n to those that
// there are. Constants may be all weights of a large model: only those are compared as a
// whole that begin to look alike.
func equalConstant(known map[string][]*ir.Node, n *ir.Node, t *tensor.Tensor) *ir.Node {
	look := n.Str("device") + looks(t)
	for _, earlier := range known[look] {
		if tensor.SameBits(earlier.Tensor("value"), t) {
			return earlier
		}
	}
	known[look] = append(known[look], n)
	return nil
}

// looks is equal for tensors with equal bits, and seldom for others.
func looks(t *tensor.Tensor) string {
	const most = 16
	var sample [most]float64
	n := min(t.Len(), most)
	for i := range n {
		sample[i] = t.Elem(i * (t.Len() / n))
	}
	return fmt.Sprint(t.DType(), t.Shape(), sample[:n])
}

// blocker is a node that takes the storage of a result of one of the nodes.
func blocker(taken map[*ir.Value]*ir.Node, nodes ...*ir.Node) *ir.Node {
	for _, n := range nodes {
		for _, v := range n.Out {
			if by := taken[v.Owner()]; by != nil && !n.Op.View {
				return by
			}
		}
	}
	return nil
}

func redirect(values []*ir.Value, instead map[*ir.Value]*ir.Value) {
	for i, v := range values {
		if w := instead[v]; w != nil {
			values[i] = w
		}
	}
}

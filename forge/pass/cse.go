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
	instead := make(map[*ir.Value]*ir.Value)
	next := len(g.Inputs)
	taken := takenStorage(g)
	for _, n := range g.Nodes {
		redirect(n.In, instead)
		key := keyOf(n, number)
		earlier := first[key]
		if earlier != nil && !equalConstants(earlier, n) {
			earlier = nil
		}
		if earlier != nil {
			if by := blocker(taken, earlier, n); by != nil {
				r.declined(&shareRule, n.Out[0], siteName(by.Out[0])+" takes the storage of one of two equal results", earlier.Out...)
				earlier = nil
			}
		}
		if n.Op.Effect || earlier == nil {
			first[key] = n
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

// sampled is the elements of a constant from which on its key has some of them: a hash of
// the weights of a large model takes longer than all passes.
const sampled = 1 << 16

// keyOf is [ir.Node.Key], but for large constants, which may differ where it is equal.
func keyOf(n *ir.Node, number map[*ir.Value]int) string {
	if n.Op.Class != ir.Constant || n.Out[0].Spec.Elements() < sampled {
		return n.Key(number)
	}
	t := n.Tensor("value")
	var some [64]float64
	for i := range some {
		some[i] = t.Elem((t.Len() - 1) / (len(some) - 1) * i)
	}
	return fmt.Sprint(n.Out[0].Spec, some)
}

// equalConstants compares the bits of two constants with equal keys; other nodes with
// equal keys are equal.
func equalConstants(a, b *ir.Node) bool {
	return a.Op.Class != ir.Constant || tensor.Identical(a.Tensor("value"), b.Tensor("value"))
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

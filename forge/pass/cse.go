package pass

import "forgekernel/forge/ir"

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
	for _, n := range g.Nodes {
		redirect(n.In, instead)
		key := n.Key(number)
		earlier := first[key]
		if earlier == nil {
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

func redirect(values []*ir.Value, instead map[*ir.Value]*ir.Value) {
	for i, v := range values {
		if w := instead[v]; w != nil {
			values[i] = w
		}
	}
}

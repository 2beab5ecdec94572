package pass

import "forgekernel/forge/ir"

var deadRule = Rule{"remove", true, "no output depends on what is removed"}

// deadCode keeps the nodes that an output depends on. Inputs stay: they are
// the program's signature.
func deadCode(g *ir.Graph, r *report) error {
	live := make(map[*ir.Value]bool)
	for _, v := range g.Outputs {
		live[v] = true
	}
	keep := make([]bool, len(g.Nodes))
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := g.Nodes[i]
		keep[i] = n.Op.Effect
		for _, v := range n.Out {
			keep[i] = keep[i] || live[v]
		}
		if keep[i] {
			for _, v := range n.In {
				live[v] = true
			}
		}
	}
	var kept []*ir.Node
	for i, n := range g.Nodes {
		if keep[i] {
			kept = append(kept, n)
		} else {
			r.applied(&deadRule, n.Out[0], "removed: no output depends on it")
		}
	}
	g.Nodes = kept
	return nil
}

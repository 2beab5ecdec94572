package planned

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
)

// Isolate is the graph of one node, of the views that it reads through and of the
// constants. Everything else that it reads is an input.
func (p *Program) Isolate(node *ir.Node) (*ir.Graph, error) {
	at := slices.Index(p.Graph.Nodes, node)
	g := p.Graph.Clone()
	used := make(map[*ir.Value]bool)
	alone := &ir.Graph{Name: "kernel", Outputs: g.Nodes[at].Out}
	for i := at; i >= 0; i-- {
		n := g.Nodes[i]
		needed := i == at || slices.ContainsFunc(n.Out, func(v *ir.Value) bool { return used[v] })
		switch {
		case !needed:
		case i == at || p.IsView(p.Graph.Nodes[i].Out[0]) || n.Op.Class == ir.Constant:
			alone.Nodes = append(alone.Nodes, n)
			for _, v := range n.In {
				used[v] = true
			}
		default:
			for _, v := range n.Out {
				if v.Def = nil; used[v] {
					alone.Inputs = append(alone.Inputs, v)
				}
			}
		}
	}
	for _, v := range g.Inputs {
		if used[v] {
			alone.Inputs = append(alone.Inputs, v)
		}
	}
	slices.Reverse(alone.Nodes)
	if err := ir.Verify(alone); err != nil {
		return nil, fmt.Errorf("%v by itself: %w", node.Out[0], err)
	}
	return alone, nil
}

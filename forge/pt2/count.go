package pt2

import (
	"strings"

	"forgekernel/forge/pt2/archive"
)

// Operators counts the nodes of the program by target, as "aten.linear.default"; those
// of the bodies of its control flow as well.
func (m *Model) Operators() map[string]int {
	counts := make(map[string]int)
	var count func(g *archive.Graph)
	count = func(g *archive.Graph) {
		for _, n := range g.Nodes {
			counts[strings.TrimPrefix(n.Target, "torch.ops.")]++
			for i := range n.Inputs {
				if body := n.Inputs[i].Argument.Body; body != nil {
					count(body)
				}
			}
		}
	}
	count(m.archive.Program.Module.Graph)
	return counts
}

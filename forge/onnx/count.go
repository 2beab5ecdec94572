package onnx

import "forgekernel/forge/onnx/proto"

// Operators counts the nodes of the graph and of its branches and bodies by
// operator. Those of another domain have it in front of their names.
func (m *Model) Operators() map[string]int {
	counts := make(map[string]int)
	var count func(g *proto.Graph, depth int)
	count = func(g *proto.Graph, depth int) {
		if g == nil || depth > MaxNesting {
			return
		}
		for _, n := range g.Nodes {
			name := n.Op
			if n.Domain != "" && n.Domain != "ai.onnx" {
				name = n.Domain + "." + name
			}
			counts[name]++
			for _, a := range n.Attrs {
				count(a.G, depth+1)
			}
		}
	}
	count(m.proto.Graph, 0)
	return counts
}

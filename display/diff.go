package display

import (
	"cmp"
	"fmt"
)

// Classes of nodes in a [Graph.Diff].
const (
	ClassAdded   Class = "added"
	ClassRemoved Class = "removed"
	ClassChanged Class = "changed"
	ClassSame    Class = "same"
)

// signs stand before the names of nodes, for those who read text or cannot tell red from
// green; the space after them does not end a name.
var signs = map[Class]string{ClassAdded: "+\u00a0", ClassRemoved: "−\u00a0", ClassChanged: "~\u00a0"}

// classed is a node of a diff, coloured and named by what became of it.
func (n Node) classed(c Class) Node {
	n.Class, n.Label = c, signs[c]+cmp.Or(n.Label, n.ID)
	return n
}

// contextNodes is how many nodes a diff has before those are left out that are the
// same and stand beside no difference.
const contextNodes = 40

// Diff draws what made after out of g, matching nodes by their IDs: nodes that are new,
// those that are gone, those with another label, second line or cluster, which say what
// they were, and the same ones around them. A sign before their names says which. Edges that are gone are drawn between nodes
// of which one is gone.
func (g Graph) Diff(after Graph) Graph {
	d := Graph{Name: g.Name + " → " + after.Name, Direction: after.Direction, Theme: after.Theme, Whole: true, Clusters: after.Clusters}
	old, new := g.resolve(), after.resolve()
	was := make(map[string]Node)
	for _, n := range old.nodes {
		was[n.ID] = n
	}
	class := make(map[string]Class)
	for _, n := range new.nodes {
		n, class[n.ID] = compared(was, n)
		d.Nodes = append(d.Nodes, n)
	}
	for _, n := range old.nodes {
		if class[n.ID] == "" {
			class[n.ID] = ClassRemoved
			n.Cluster = ""
			d.Nodes = append(d.Nodes, n.classed(ClassRemoved))
		}
	}
	d.Edges = append(d.Edges, after.Edges...)
	for _, e := range g.Edges {
		if class[e.From] == ClassRemoved || class[e.To] == ClassRemoved {
			d.Edges = append(d.Edges, e)
		}
	}
	return d.around(class)
}

// compared is a node of the later graph, and what became of it.
func compared(was map[string]Node, n Node) (Node, Class) {
	o, known := was[n.ID]
	c := ClassSame
	switch {
	case !known:
		c = ClassAdded
	case o.Label != n.Label || o.Sub != n.Sub:
		c = ClassChanged
		n.Tooltip = fmt.Sprintf("was %s %s\n%s", o.Label, o.Sub, n.Tooltip)
	case o.Cluster != n.Cluster:
		c = ClassChanged
		n.Tooltip = fmt.Sprintf("was in %s\n%s", cmp.Or(o.Cluster, "no cluster"), n.Tooltip)
	}
	return n.classed(c), c
}

// around leaves out what is far from any difference in a large graph.
func (g Graph) around(class map[string]Class) Graph {
	if len(g.Nodes) <= contextNodes {
		return g
	}
	near := make(map[string]bool)
	for _, e := range g.Edges {
		if class[e.From] != ClassSame || class[e.To] != ClassSame {
			near[e.From], near[e.To] = true, true
		}
	}
	all := g.Nodes
	g.Nodes = nil
	for _, n := range all {
		if near[n.ID] || class[n.ID] != ClassSame {
			near[n.ID] = true
			g.Nodes = append(g.Nodes, n)
		}
	}
	var edges []Edge
	for _, e := range g.Edges {
		if near[e.From] && near[e.To] {
			edges = append(edges, e)
		}
	}
	g.Edges = edges
	if left := len(all) - len(g.Nodes); left > 0 {
		g.Name += fmt.Sprintf(", without %s that are the same", Count(left, "node"))
	}
	return g
}

package display

import (
	"fmt"
	"strings"
)

// Bounds of folding: what saves less is easier to read unfolded.
const (
	foldedNodes = 32 // graphs with fewer nodes are drawn as they are
	foldedSaves = 12 // nodes that one block has to save
)

// Folded is the graph with every block that stands several times in a row drawn once:
// a stack of equal layers becomes one layer in a frame that says how often it comes,
// with an edge back to its beginning. Nodes are equal if they are of one [Node.Kind],
// are connected alike and stand in the same order. The frames of clusters become
// nodes. It is false, and the graph as it was, if nothing repeats.
func (g Graph) Folded() (Graph, bool) {
	r := g.resolve()
	if len(r.nodes) < foldedNodes {
		return g, false
	}
	f := newFolder(g, r)
	found := false
	for f.fold() {
		found = true
	}
	if !found {
		return g, false
	}
	return f.graph(g), true
}

// folder is a graph on its way to a folded one.
type folder struct {
	nodes    []Node
	edges    []foldedEdge
	clusters []Cluster
	order    []int // of the nodes that have inputs
	block    []int // of each node: the frame that it stands in, or -1
	gone     []bool
}

type foldedEdge struct {
	from, to int
	Edge
}

// newFolder makes a node of every cluster.
func newFolder(g Graph, r *resolved) *folder {
	f := &folder{}
	at := make([]int, len(r.nodes))
	fused := make(map[int]int)
	for i, n := range r.nodes {
		c := r.cluster[i]
		if c < 0 {
			at[i] = f.add(n)
			continue
		}
		k, seen := fused[c]
		if !seen {
			k = f.add(Node{ID: "cluster " + r.clusters[c].ID, Label: r.clusters[c].Label, Class: ClassFused, Tooltip: r.clusters[c].Tooltip})
			fused[c] = k
		}
		f.nodes[k].absorb(n)
		at[i] = k
	}
	drawn := make(map[[2]int]bool) // between clusters, a value needs one edge
	for i, e := range g.Edges {
		from, to := at[r.from[i]], at[r.to[i]]
		ends := [2]int{r.from[i], to}
		inner := from == to && r.from[i] != r.to[i]
		if inner || drawn[ends] && r.cluster[r.to[i]] >= 0 {
			continue
		}
		drawn[ends] = true
		f.edges = append(f.edges, foldedEdge{from, to, e})
	}
	f.inOrder()
	return f
}

func (f *folder) add(n Node) int {
	n.Cluster = ""
	f.nodes, f.block, f.gone = append(f.nodes, n), append(f.block, -1), append(f.gone, false)
	return len(f.nodes) - 1
}

// absorb makes n a part of the node that stands for a cluster.
func (k *Node) absorb(n Node) {
	k.Kind += "/" + n.kind()
	k.Sub = n.Sub
	if k.Tooltip != "" {
		k.Tooltip += "\n"
	}
	k.Tooltip += strings.TrimSpace(n.Label + " " + n.Sub)
}

// kind is what n is, whatever its name.
func (n Node) kind() string {
	if n.Kind != "" {
		return n.Kind
	}
	return n.Label + "\x00" + n.Sub + "\x00" + string(n.Class)
}

// inOrder lists the nodes that have inputs. Inputs and constants stand where a program
// declares them, not where it uses them.
func (f *folder) inOrder() {
	fed := make([]bool, len(f.nodes))
	for _, e := range f.edges {
		fed[e.to] = true
	}
	f.order = nil
	for i := range f.nodes {
		if fed[i] && !f.gone[i] {
			f.order = append(f.order, i)
		}
	}
}

// fold draws the repeat once that saves most.
func (f *folder) fold() bool {
	var best repeat
	kinds, inputs := f.kinds(), f.inputs()
	for _, r := range repeats(kinds) {
		if r.saves() <= best.saves() || r.saves() < foldedSaves {
			break // the rest saves less
		}
		if r = f.aligned(r, kinds, inputs); r.saves() > best.saves() && r.saves() >= foldedSaves {
			best = r
		}
	}
	if best.times == 0 {
		return false
	}
	f.replace(best)
	return true
}

// replace keeps the first block, in a frame, and leads edges from the last one away
// from it.
func (f *folder) replace(r repeat) {
	frame := len(f.clusters)
	f.clusters = append(f.clusters, Cluster{ID: fmt.Sprint("repeated ", frame), Label: fmt.Sprintf("%d times these %d nodes", r.times, r.size),
		Tooltip: fmt.Sprintf("%d nodes, %d times in a row, drawn once", r.size, r.times)})
	first := make(map[int]int) // the counterpart in the first block
	block := make(map[int]int)
	for i := range r.size * r.times {
		n := f.order[r.start+i]
		first[n], block[n] = f.order[r.start+i%r.size], i/r.size
		if i < r.size {
			f.block[n] = frame
		} else {
			f.gone[n] = true
		}
	}
	var kept []foldedEdge
	again := make(map[int]bool) // nodes with an edge back already
	for _, e := range f.edges {
		from, fromIn := block[e.from]
		to, toIn := block[e.to]
		switch {
		case !fromIn && !toIn:
		case !fromIn && to > 0, fromIn && !toIn && from < r.times-1, fromIn && toIn && !(from == to && to == 0 || from == 0 && to == 1):
			continue
		case fromIn && toIn && to == 1 && again[e.from]:
			continue
		case fromIn && toIn && to == 1:
			again[e.from] = true
			e.to = first[e.to]
			e.Label = fmt.Sprintf("%s more", Count(r.times-1, "time"))
		case fromIn:
			e.from = first[e.from]
		}
		kept = append(kept, e)
	}
	f.edges = kept
	f.forget()
	f.inOrder()
}

// forget drops what only dropped nodes were connected to.
func (f *folder) forget() {
	connected := make([]bool, len(f.nodes))
	for _, e := range f.edges {
		connected[e.from], connected[e.to] = true, true
	}
	for i := range f.nodes {
		f.gone[i] = f.gone[i] || !connected[i]
	}
}

// graph is the folded graph.
func (f *folder) graph(g Graph) Graph {
	g.Nodes, g.Edges, g.Clusters = nil, nil, f.clusters
	for i, n := range f.nodes {
		if f.gone[i] {
			continue
		}
		if f.block[i] >= 0 {
			n.Cluster = f.clusters[f.block[i]].ID
		}
		g.Nodes = append(g.Nodes, n)
	}
	for _, e := range f.edges {
		e.From, e.To = f.nodes[e.from].ID, f.nodes[e.to].ID
		g.Edges = append(g.Edges, e.Edge)
	}
	return g
}

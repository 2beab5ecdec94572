// Package layered computes layered drawings of directed graphs, after
// Sugiyama: edges point one way, nodes stand in layers, an edge that spans
// several layers bends around the nodes between.
//
// One level of a graph goes through these steps:
//
//	cycles.go   reverse some edges, so that the rest is acyclic
//	layers.go   give every node a layer; cut long edges into unit segments
//	            by dummy vertices
//	order.go    order each layer so that few segments cross
//	place.go    choose coordinates that keep the order and straighten edges
//	route.go    trace the edges as Bézier curves
//
// Clusters are drawn first, each as a level of its own whose external edges
// end at terminals on its border, and then stand in the outer level as nodes
// with fixed ports (compose.go). So a cluster's box holds its own nodes only,
// and no edge ever crosses a node: segments bend in the free space between two
// layers and are straight beside nodes.
//
// The result depends on the input alone, never on map order or time.
package layered

import "fmt"

// Point is a position; y grows downwards.
type Point struct{ X, Y float64 }

// Size is the extent of a box.
type Size struct{ W, H float64 }

// Rect is a box at a position of its top left corner.
type Rect struct{ X, Y, W, H float64 }

// None is the cluster of a node outside all clusters, and the port of an edge
// that has no port.
const None = -1

// Node is a box to place.
type Node struct {
	Size
	// In and Out are the ports on the sides where edges enter and leave, as
	// offsets from the middle of the side.
	In, Out []float64
	Cluster int // index into Graph.Clusters, or None
}

// Edge is an arrow between two nodes, given by index. OutPort and InPort index
// the ports of its ends. With OutPort None it leaves in the middle; with
// InPort None it gets a point of its own, in an order that avoids crossings.
type Edge struct {
	From, To        int
	OutPort, InPort int
	Label           Size // room kept free for a label on the edge; zero for none
}

// Cluster is a box around nodes.
type Cluster struct {
	Title Size // room kept free in the top left corner; zero for none
}

// Graph is what to lay out. Edges point down, or right if Horizontal.
type Graph struct {
	Nodes      []Node
	Edges      []Edge
	Clusters   []Cluster
	Horizontal bool
}

// Drawing is a laid-out graph, within (0, 0) and its size.
type Drawing struct {
	Size
	Nodes    []Point   // centres
	Edges    [][]Point // Bézier curves: start, then two control points and an end for each piece
	Labels   []Point   // centres of the edges' labels; zero for edges without one
	Clusters []Rect    // zero for clusters without nodes
}

// MaxVertices bounds the work of a layout: nodes, and one more for each layer
// that an edge crosses.
const MaxVertices = 400_000

// TooLargeError reports a graph beyond [MaxVertices].
type TooLargeError struct{ Vertices int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("graph too large to lay out: %d vertices, at most %d", e.Vertices, MaxVertices)
}

// Layout draws g. It fails with a [*TooLargeError] only; indices out of range
// panic.
func Layout(g Graph) (*Drawing, error) {
	if !g.Horizontal {
		return compose(&g)
	}
	d, err := compose(transpose(g))
	if err != nil {
		return nil, err
	}
	d.transpose()
	return d, nil
}

// transpose exchanges the axes of every size, so that a horizontal drawing is
// the mirror image of a vertical one.
func transpose(g Graph) *Graph {
	t := Graph{Horizontal: true, Clusters: g.Clusters}
	t.Nodes = append(t.Nodes, g.Nodes...)
	for i := range t.Nodes {
		t.Nodes[i].Size = t.Nodes[i].Size.transposed()
	}
	t.Edges = append(t.Edges, g.Edges...)
	for i := range t.Edges {
		t.Edges[i].Label = t.Edges[i].Label.transposed()
	}
	return &t
}

func (s Size) transposed() Size   { return Size{s.H, s.W} }
func (p Point) transposed() Point { return Point{p.Y, p.X} }

func (d *Drawing) transpose() {
	d.Size = d.Size.transposed()
	for i, p := range d.Nodes {
		d.Nodes[i] = p.transposed()
	}
	for _, path := range d.Edges {
		for i, p := range path {
			path[i] = p.transposed()
		}
	}
	for i, p := range d.Labels {
		d.Labels[i] = p.transposed()
	}
	for i, r := range d.Clusters {
		d.Clusters[i] = Rect{r.Y, r.X, r.H, r.W}
	}
}

package layered

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// random makes a graph with everything that a layout has to cope with: fixed
// and free ports, labels, clusters (not always convex), self-loops, parallel
// edges and, if cyclic, edges in any direction.
func random(seed uint64, cyclic bool) Graph {
	rng := rand.New(rand.NewPCG(seed, 7))
	n := 1 + rng.IntN(40)
	g := Graph{Horizontal: rng.IntN(2) == 0}
	for range rng.IntN(4) {
		title := Size{}
		if rng.IntN(2) == 0 {
			title = Size{20 + 100*rng.Float64(), 14}
		}
		g.Clusters = append(g.Clusters, Cluster{Title: title})
	}
	for v := range n {
		node := Node{Size: Size{30 + 90*rng.Float64(), 20 + 40*rng.Float64()}, Cluster: None}
		for range rng.IntN(3) {
			node.In = append(node.In, 20*rng.Float64()-10)
			node.Out = append(node.Out, 20*rng.Float64()-10)
		}
		if len(g.Clusters) > 0 && rng.IntN(2) == 0 {
			node.Cluster = v * len(g.Clusters) / n
		}
		g.Nodes = append(g.Nodes, node)
	}
	for range rng.IntN(2*n + 1) {
		e := Edge{From: rng.IntN(n), To: rng.IntN(n), OutPort: None, InPort: None}
		if !cyclic && e.From > e.To {
			e.From, e.To = e.To, e.From
		}
		if k := len(g.Nodes[e.From].Out); k > 0 {
			e.OutPort = rng.IntN(k)
		}
		if k := len(g.Nodes[e.To].In); k > 0 {
			e.InPort = rng.IntN(k)
		}
		if rng.IntN(4) == 0 {
			e.Label = Size{10 + 40*rng.Float64(), 12}
		}
		g.Edges = append(g.Edges, e)
	}
	return g
}

func TestLayoutProperties(t *testing.T) {
	for seed := range uint64(400) {
		g := random(seed, seed%2 == 0)
		d, err := Layout(g)
		if err != nil {
			t.Fatal(err)
		}
		check(t, &g, d)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		if again, _ := Layout(g); !reflect.DeepEqual(d, again) {
			t.Fatalf("seed %d: two layouts of one graph differ", seed)
		}
	}
}

func FuzzLayout(f *testing.F) {
	f.Add(uint64(1), true)
	f.Add(uint64(2), false)
	f.Fuzz(func(t *testing.T, seed uint64, cyclic bool) {
		g := random(seed, cyclic)
		d, err := Layout(g)
		if err != nil {
			t.Fatal(err)
		}
		check(t, &g, d)
	})
}

const hair = 1e-5 // rounding

func around(c Point, s Size) Rect { return Rect{c.X - s.W/2, c.Y - s.H/2, s.W, s.H} }

func (r Rect) grown(by float64) Rect { return Rect{r.X - by, r.Y - by, r.W + 2*by, r.H + 2*by} }

func (r Rect) holds(p Point) bool {
	return r.X < p.X && p.X < r.X+r.W && r.Y < p.Y && p.Y < r.Y+r.H
}

func (r Rect) overlaps(s Rect) bool {
	return r.X < s.X+s.W && s.X < r.X+r.W && r.Y < s.Y+s.H && s.Y < r.Y+r.H
}

// check verifies what every drawing has to keep.
func check(t *testing.T, g *Graph, d *Drawing) {
	t.Helper()
	page := Rect{0, 0, d.W, d.H}.grown(hair)
	boxes := make([]Rect, len(g.Nodes))
	for v, n := range g.Nodes {
		boxes[v] = around(d.Nodes[v], n.Size).grown(-hair)
		if r := boxes[v]; !page.holds(Point{r.X, r.Y}) || !page.holds(Point{r.X + r.W, r.Y + r.H}) {
			t.Errorf("node %d lies outside the drawing", v)
		}
		for w := range v {
			if boxes[v].overlaps(boxes[w]) {
				t.Errorf("nodes %d and %d overlap", w, v)
			}
		}
		for k, r := range d.Clusters {
			if inside := r.grown(-hair).overlaps(boxes[v]); inside != (n.Cluster == k) {
				t.Errorf("node %d of cluster %d: inside cluster %d is %v", v, n.Cluster, k, inside)
			}
		}
	}
	for i, e := range g.Edges {
		checkEdge(t, g, d, i, boxes, page)
		if e.Label.W == 0 {
			continue
		}
		label := around(d.Labels[i], e.Label)
		for v := range boxes {
			if label.grown(-hair).overlaps(boxes[v]) {
				t.Errorf("label of edge %d covers node %d", i, v)
			}
		}
	}
}

func checkEdge(t *testing.T, g *Graph, d *Drawing, i int, boxes []Rect, page Rect) {
	t.Helper()
	e, path := g.Edges[i], d.Edges[i]
	if len(path) < 4 || len(path)%3 != 1 {
		t.Fatalf("edge %d has %d points", i, len(path))
	}
	if !boxes[e.From].grown(2*hair).holds(path[0]) || !boxes[e.To].grown(2*hair).holds(path[len(path)-1]) {
		t.Errorf("edge %d does not join its nodes %d and %d", i, e.From, e.To)
	}
	if e.From != e.To && forward(g, path) {
		along := func(p Point) float64 {
			if g.Horizontal {
				return p.Y
			}
			return p.X
		}
		start, end := along(path[0])-along(d.Nodes[e.From]), along(path[len(path)-1])-along(d.Nodes[e.To])
		if e.OutPort != None && math.Abs(start-g.Nodes[e.From].Out[e.OutPort]) > hair {
			t.Errorf("edge %d leaves at offset %g", i, start)
		}
		if e.InPort != None && math.Abs(end-g.Nodes[e.To].In[e.InPort]) > hair {
			t.Errorf("edge %d enters at offset %g", i, end)
		}
	}
	for _, p := range sample(path) {
		if !page.holds(p) {
			t.Errorf("edge %d leaves the drawing at %v", i, p)
			return
		}
		for v := range boxes {
			if boxes[v].holds(p) {
				t.Errorf("edge %d from %d to %d crosses node %d", i, e.From, e.To, v)
				return
			}
		}
		for k, r := range d.Clusters {
			if r.grown(-hair).holds(p) && g.Nodes[e.From].Cluster != k && g.Nodes[e.To].Cluster != k {
				t.Errorf("edge %d crosses foreign cluster %d", i, k)
				return
			}
		}
	}
}

// forward reports whether a path follows the direction of the drawing.
func forward(g *Graph, path []Point) bool {
	a, b := path[0], path[len(path)-1]
	if g.Horizontal {
		return a.X < b.X
	}
	return a.Y < b.Y
}

func sample(path []Point) []Point {
	var out []Point
	for i := 0; i+3 < len(path); i += 3 {
		p, q, r, s := path[i], path[i+1], path[i+2], path[i+3]
		for j := range 17 {
			t := float64(j) / 16
			u := 1 - t
			a, b, c, e := u*u*u, 3*u*u*t, 3*u*t*t, t*t*t
			out = append(out, Point{a*p.X + b*q.X + c*r.X + e*s.X, a*p.Y + b*q.Y + c*r.Y + e*s.Y})
		}
	}
	return out
}

func TestAcyclicEdgesPointDown(t *testing.T) {
	for seed := range uint64(100) {
		g := random(seed, false)
		g.Horizontal, g.Clusters = false, nil
		for v := range g.Nodes {
			g.Nodes[v].Cluster = None
		}
		d, err := Layout(g)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range g.Edges {
			if e.From != e.To && d.Nodes[e.From].Y >= d.Nodes[e.To].Y {
				t.Errorf("seed %d: edge %d points up", seed, i)
			}
		}
	}
}

// The graph is a grid, which can be drawn without crossings; its nodes come in
// random order.
func TestCrossingsOfAPlanarGraphVanish(t *testing.T) {
	const width, height = 6, 5
	boxes := make([]box, width*height)
	var links []link
	rng := rand.New(rand.NewPCG(3, 3))
	number := rng.Perm(len(boxes))
	for y := range height - 1 {
		for x := range width {
			links = append(links, link{from: number[y*width+x], to: number[(y+1)*width+x], out: None, in: None})
			if x+1 < width {
				links = append(links, link{from: number[y*width+x], to: number[(y+1)*width+x+1], out: None, in: None})
			}
		}
	}
	for i := range boxes {
		boxes[i].Size = Size{40, 20}
	}
	l, err := newLevel(boxes, links, Size{})
	if err != nil {
		t.Fatal(err)
	}
	l.reduceCrossings()
	o := newOrdering(l)
	o.index()
	if c := o.crossings(); c != 0 {
		t.Errorf("%d crossings remain", c)
	}
}

func TestLongEdgeIsStraight(t *testing.T) {
	// A chain of four beside one edge from its first node to its last.
	g := Graph{}
	for range 4 {
		g.Nodes = append(g.Nodes, Node{Size: Size{60, 30}, Cluster: None})
	}
	for _, e := range [][2]int{{0, 1}, {1, 2}, {2, 3}, {0, 3}} {
		g.Edges = append(g.Edges, Edge{From: e[0], To: e[1], OutPort: None, InPort: None})
	}
	d, err := Layout(g)
	if err != nil {
		t.Fatal(err)
	}
	bends := 0
	path := d.Edges[3]
	for i := 0; i+3 < len(path); i += 3 {
		if path[i].X != path[i+3].X {
			bends++
		}
	}
	if bends > 2 {
		t.Errorf("long edge bends %d times", bends)
	}
}

func TestTooLarge(t *testing.T) {
	const n = 2000
	var g Graph
	for v := range n {
		g.Nodes = append(g.Nodes, Node{Size: Size{10, 10}, Cluster: None})
		if v > 0 {
			g.Edges = append(g.Edges, Edge{From: v - 1, To: v, OutPort: None, InPort: None})
		}
	}
	for v := range 500 { // edges over all layers
		g.Edges = append(g.Edges, Edge{From: 0, To: n - 1 - v, OutPort: None, InPort: None})
	}
	_, err := Layout(g)
	var large *TooLargeError
	if !errors.As(err, &large) || large.Vertices <= MaxVertices {
		t.Errorf("got error %v", err)
	}
}

func TestEmptyGraph(t *testing.T) {
	d, err := Layout(Graph{Clusters: []Cluster{{Title: Size{10, 10}}}})
	if err != nil || d.W != 0 || d.H != 0 || d.Clusters[0] != (Rect{}) {
		t.Errorf("got %+v, %v", d, err)
	}
}

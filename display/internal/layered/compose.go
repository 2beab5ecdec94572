package layered

import "slices"

// compose draws g level by level: the inside of each cluster, then the outer
// level, in which clusters are boxes with ports where edges cross their
// borders.
func compose(g *Graph) (*Drawing, error) {
	c := newComposer(g)
	for i := range g.Edges {
		c.split(i)
	}
	for _, k := range c.clusters {
		if err := k.draw(g.Horizontal); err != nil {
			return nil, err
		}
		c.boxes[k.item] = k.asBox()
	}
	outer, err := drawComponents(c.boxes, c.links)
	if err != nil {
		return nil, err
	}
	return c.assemble(outer), nil
}

type composer struct {
	*Graph
	reversed []bool     // edges drawn against their direction
	item     []int      // the outer box of each node
	home     []*cluster // the cluster of each node, nil for none
	clusters []*cluster // those with nodes, in order of their first
	boxes    []box      // of the outer level
	links    []link
	merged   map[crossing]int // outer links that several edges share
	courses  []course
}

// course is the way of an edge through the levels: a link in the cluster it
// leaves, one in the outer level and one in the cluster it enters, or None. An
// edge within a cluster has the first alone.
type course struct{ leave, outer, enter int }

// crossing is where edges of one source cross the border of a cluster; one
// line serves them all.
type crossing struct {
	cluster, node, port int
	side                pin
	reversed            bool
}

func newComposer(g *Graph) *composer {
	c := &composer{Graph: g, merged: map[crossing]int{}}
	byIndex := make([]*cluster, len(g.Clusters))
	margin := make([]float64, len(g.Nodes)) // for self-loops, on both sides
	for _, e := range g.Edges {
		if e.From == e.To {
			margin[e.From] = max(margin[e.From], loopRoom+e.Label.W)
		}
	}
	for v, n := range g.Nodes {
		b := box{Size: n.Size, side: n.W, in: n.In, out: n.Out}
		b.W += 2 * margin[v]
		if n.Cluster == None {
			c.item = append(c.item, len(c.boxes))
			c.boxes = append(c.boxes, b)
			c.home = append(c.home, nil)
			continue
		}
		k := byIndex[n.Cluster]
		if k == nil { // the cluster stands where its first node does
			k = &cluster{index: n.Cluster, item: len(c.boxes), title: g.Clusters[n.Cluster].Title,
				local: map[int]int{}, terminals: map[crossing]int{}}
			byIndex[n.Cluster] = k
			c.clusters = append(c.clusters, k)
			c.boxes = append(c.boxes, box{})
		}
		c.item = append(c.item, k.item)
		c.home = append(c.home, k)
		k.local[v] = len(k.boxes)
		k.boxes = append(k.boxes, b)
	}
	c.courses = make([]course, len(g.Edges))
	c.orient()
	return c
}

// orient finds edges to reverse, so that every level is acyclic.
func (c *composer) orient() {
	c.reversed = make([]bool, len(c.Edges))
	outer := make([]arc, len(c.Edges))
	inner := make([]arc, len(c.Edges))
	for i, e := range c.Edges {
		outer[i] = arc{c.item[e.From], c.item[e.To]}
		if outer[i].from == outer[i].to {
			inner[i] = arc{e.From, e.To}
		}
	}
	outerBack, innerBack := feedback(len(c.boxes), outer), feedback(len(c.Nodes), inner)
	for i := range c.Edges {
		c.reversed[i] = outerBack[i] || innerBack[i]
	}
}

// downward is edge i as it is drawn, from top to bottom.
func (c *composer) downward(i int) link {
	e := c.Edges[i]
	if c.reversed[i] {
		return link{from: e.To, to: e.From, out: None, in: None, label: e.Label, reversed: true}
	}
	return link{from: e.From, to: e.To, out: e.OutPort, in: e.InPort, label: e.Label}
}

// split adds edge i to the levels it passes through.
func (c *composer) split(i int) {
	k := c.downward(i)
	c.courses[i] = course{None, None, None}
	if k.from == k.to {
		return
	}
	from, to := c.home[k.from], c.home[k.to]
	if from != nil && from == to {
		k.from, k.to = from.local[k.from], from.local[k.to]
		c.courses[i].leave = from.add(k)
		return
	}
	outer := k
	outer.from, outer.to = c.item[k.from], c.item[k.to]
	at := crossing{node: k.from, port: k.out, reversed: k.reversed}
	if from != nil {
		at.cluster, at.side = from.index, atBottom
		c.courses[i].leave, outer.out = from.leave(at, k)
	}
	if to == nil {
		c.courses[i].outer = c.add(outer)
		return
	}
	at.cluster, at.side = to.index, atTop
	c.courses[i].enter, outer.in = to.enter(at, k)
	outer.label = Size{}
	shared, ok := c.merged[at]
	if !ok {
		shared = c.add(outer)
		c.merged[at] = shared
	}
	c.courses[i].outer = shared
}

func (c *composer) add(k link) int {
	c.links = append(c.links, k)
	return len(c.links) - 1
}

// cluster is the inside of a cluster: a level with terminals on its border.
type cluster struct {
	index, item int
	title       Size
	local       map[int]int // box of a node
	boxes       []box
	links       []link
	terminals   map[crossing]int // their boxes
	in, out     []int            // boxes of the terminals, by port
	leaving     map[crossing]int // links to the terminals at the bottom
	sketch      *sketch
	origin      Point // of the sketch within the cluster
	size        Size
}

func (k *cluster) add(l link) int {
	k.links = append(k.links, l)
	return len(k.links) - 1
}

func (k *cluster) terminal(at crossing) int {
	t, ok := k.terminals[at]
	if !ok {
		t = len(k.boxes)
		k.terminals[at] = t
		k.boxes = append(k.boxes, box{pin: at.side})
	}
	return t
}

// leave joins the source of l to a terminal at the bottom; edges of one source
// share the link. It returns the link and the port of the cluster.
func (k *cluster) leave(at crossing, l link) (index, port int) {
	if k.leaving == nil {
		k.leaving = map[crossing]int{}
	}
	t := k.terminal(at)
	if index, ok := k.leaving[at]; ok {
		return index, slices.Index(k.out, t)
	}
	index = k.add(link{from: k.local[l.from], to: t, out: l.out, in: None, reversed: l.reversed})
	k.leaving[at] = index
	k.out = append(k.out, t)
	return index, len(k.out) - 1
}

// enter joins a terminal at the top to the target of l.
func (k *cluster) enter(at crossing, l link) (index, port int) {
	t := k.terminal(at)
	port = slices.Index(k.in, t)
	if port < 0 {
		port = len(k.in)
		k.in = append(k.in, t)
	}
	return k.add(link{from: t, to: k.local[l.to], out: None, in: l.in, label: l.label}), port
}

// draw lays out the inside and the border. In a horizontal drawing, whose axes
// are exchanged here, the title stands beside the level and not in a layer.
func (k *cluster) draw(horizontal bool) error {
	title := k.title
	if horizontal {
		title = Size{}
	}
	s, err := drawLevel(k.boxes, k.links, title)
	if err != nil {
		return err
	}
	k.sketch = s
	k.origin.X = gapBorder
	if len(k.in) == 0 {
		k.origin.Y = gapBorder
		if title.W > 0 {
			k.origin.Y = gapTitle
		}
	}
	k.size = Size{s.W + 2*gapBorder, s.H + k.origin.Y}
	if len(k.out) == 0 {
		k.size.H += gapBorder
	}
	if horizontal && k.title.W > 0 {
		k.origin.X += k.title.H
		k.size.W += k.title.H
		if short := k.title.W + 2*gapTitle - k.size.H; short > 0 {
			k.origin.Y += short / 2
			k.size.H += short
		}
	}
	return nil
}

// asBox is the cluster in the outer level.
func (k *cluster) asBox() box {
	ports := func(terminals []int) []float64 {
		offsets := make([]float64, len(terminals))
		for i, t := range terminals {
			offsets[i] = k.sketch.centres[t].X + k.origin.X - k.size.W/2
		}
		return offsets
	}
	return box{Size: k.size, in: ports(k.in), out: ports(k.out)}
}

// assemble puts the levels together.
func (c *composer) assemble(outer *sketch) *Drawing {
	d := &Drawing{
		Size:     outer.Size,
		Nodes:    make([]Point, len(c.Nodes)),
		Edges:    make([][]Point, len(c.Edges)),
		Labels:   make([]Point, len(c.Edges)),
		Clusters: make([]Rect, len(c.Clusters)),
	}
	for _, k := range c.clusters {
		corner := outer.centres[k.item].plus(-k.size.W/2, -k.size.H/2)
		d.Clusters[k.index] = Rect{corner.X, corner.Y, k.size.W, k.size.H}
		k.origin = k.origin.plus(corner.X, corner.Y)
	}
	for v := range c.Nodes {
		if k := c.home[v]; k != nil {
			d.Nodes[v] = k.sketch.centres[k.local[v]].plus(k.origin.X, k.origin.Y)
		} else {
			d.Nodes[v] = outer.centres[c.item[v]]
		}
	}
	for i, e := range c.Edges {
		if e.From == e.To {
			d.Edges[i], d.Labels[i] = selfLoop(d.Nodes[e.From], c.Nodes[e.From].Size, e.Label)
		} else {
			d.Edges[i], d.Labels[i] = c.trace(i, outer)
		}
	}
	return d
}

// trace joins the pieces of edge i.
func (c *composer) trace(i int, outer *sketch) (path []Point, label Point) {
	k := c.downward(i)
	way := c.courses[i]
	var t tracer
	piece := func(s *sketch, origin Point, link int) {
		if link == None {
			return
		}
		t.follow(s.paths[link], origin)
		if s.labels[link] != (Point{}) {
			label = s.labels[link].plus(origin.X, origin.Y)
		}
	}
	if from := c.home[k.from]; from != nil {
		piece(from.sketch, from.origin, way.leave)
	}
	piece(outer, Point{}, way.outer)
	if to := c.home[k.to]; to != nil {
		piece(to.sketch, to.origin, way.enter)
	}
	if k.reversed {
		slices.Reverse(t.path)
	}
	return t.path, label
}

func (p Point) plus(x, y float64) Point { return Point{p.X + x, p.Y + y} }

// loopRoom is what a self-loop takes beside its node, apart from its label.
const loopRoom = 22.0

// selfLoop leaves a node on its right side and returns there; the label stands
// to the right of it.
func selfLoop(centre Point, node, label Size) (path []Point, at Point) {
	side := centre.plus(node.W/2, 0)
	h := min(node.H/4, 10)
	const reach = loopRoom * 1.2
	path = []Point{side.plus(0, -h), side.plus(reach, -2*h), side.plus(reach, 2*h), side.plus(0, h)}
	return path, side.plus(loopRoom+label.W/2, 0)
}

package layered

import "slices"

// box is a node of one level.
type box struct {
	Size
	side    float64 // width of the node's own sides, without room for self-loops
	in, out []float64
	pin     pin
}

// pin ties a terminal to a border of its cluster.
type pin uint8

const (
	unpinned pin = iota
	atTop
	atBottom
)

// link is an edge of one level; the level is acyclic and has no self-loops.
type link struct {
	from, to int
	out, in  int // ports, or None
	label    Size
	reversed bool // an arrow that points up
}

// vertex is what stands in a layer: a box, the title of a cluster, or a dummy,
// which holds the place of a long edge in a layer that the edge crosses.
type vertex struct {
	Size
	kind     kind
	side     float64 // of a box
	layer    int
	x, y     float64 // centre
	up, down []int   // segments to the layers above and below
}

type kind uint8

const (
	boxVertex kind = iota
	terminalVertex
	titleVertex
	dummyVertex
	labelVertex // a dummy with an edge label on it
)

// segment is the part of a link between two adjacent layers. Its ends stand at
// offsets from the centres of its vertices.
type segment struct {
	from, to             int
	fromOffset, toOffset float64
	freeEnd              bool // toOffset is chosen by the layout
	weight               float64
}

// level is one level of a graph on its way through the steps of the layout.
type level struct {
	vertices []vertex
	segments []segment
	chains   [][]int // for each link, its segments from top to bottom
	layers   [][]int // vertices of each layer, from left to right
}

// newLevel assigns layers and cuts the links into segments. The title, if any,
// gets a layer of its own below the terminals at the top.
func newLevel(boxes []box, links []link, title Size) (*level, error) {
	layer := assignLayers(boxes, links)
	l := &level{chains: make([][]int, len(links))}
	top := pinLayers(boxes, links, layer, title.W > 0)
	total := len(boxes) + 1
	for _, k := range links {
		total += layer[k.to] - layer[k.from] - 1
	}
	if total > MaxVertices {
		return nil, &TooLargeError{total}
	}
	l.vertices = make([]vertex, 0, total)
	l.segments = make([]segment, 0, total-len(boxes)+len(links))
	for i, b := range boxes {
		k := boxVertex
		if b.pin != unpinned {
			k = terminalVertex
		}
		l.vertices = append(l.vertices, vertex{Size: b.Size, kind: k, side: b.side, layer: layer[i]})
	}
	if title.W > 0 {
		l.vertices = append(l.vertices, vertex{Size: title, kind: titleVertex, layer: top})
	}
	for i, k := range links {
		l.cut(i, k, boxes)
	}
	l.connect()
	l.lightenLeaves()
	return l, nil
}

// lightenLeaves makes the edges of sources with one use pull less: an operand
// stands beside the line of computation that it joins and does not bend it.
func (l *level) lightenLeaves() {
	const leafWeight = 0.25
	for _, chain := range l.chains {
		if v := &l.vertices[l.segments[chain[0]].from]; len(v.up) == 0 && len(v.down) == 1 {
			l.segments[chain[len(chain)-1]].weight *= leafWeight
		}
	}
}

// connect lists the segments of every vertex.
func (l *level) connect() {
	ups, downs := make([]int, len(l.vertices)), make([]int, len(l.vertices))
	for _, s := range l.segments {
		ups[s.to]++
		downs[s.from]++
	}
	room := make([]int, 2*len(l.segments))
	take := func(n int) []int {
		part := room[:0:n]
		room = room[n:]
		return part
	}
	for v := range l.vertices {
		l.vertices[v].up, l.vertices[v].down = take(ups[v]), take(downs[v])
	}
	for i, s := range l.segments {
		l.vertices[s.from].down = append(l.vertices[s.from].down, i)
		l.vertices[s.to].up = append(l.vertices[s.to].up, i)
	}
}

// span is the least number of layers that a link crosses: a label needs a
// layer between the ends.
func (k link) span() int {
	if k.label.W > 0 {
		return 2
	}
	return 1
}

// assignLayers puts every vertex as high as its predecessors allow, then moves
// vertices down or up within their room wherever that shortens edges in total.
func assignLayers(boxes []box, links []link) []int {
	n := len(boxes)
	arcs := make([]arc, len(links))
	in, out := make([][]int, n), make([][]int, n)
	for i, k := range links {
		arcs[i] = arc{k.from, k.to}
		in[k.to] = append(in[k.to], i)
		out[k.from] = append(out[k.from], i)
	}
	order := topological(n, arcs)
	layer := make([]int, n)
	for _, v := range order {
		for _, i := range out[v] {
			w := links[i].to
			layer[w] = max(layer[w], layer[v]+links[i].span())
		}
	}
	const rounds = 4 // later rounds rarely find anything
	for range rounds {
		moved := false
		for i := len(order) - 1; i >= 0; i-- {
			v := order[i]
			// On a tie go down, so that a chain from a source follows to
			// the place where it is used.
			if len(out[v]) == 0 || len(out[v]) < len(in[v]) {
				continue
			}
			room := layer[links[out[v][0]].to] - links[out[v][0]].span()
			for _, j := range out[v] {
				room = min(room, layer[links[j].to]-links[j].span())
			}
			moved = moved || room != layer[v]
			layer[v] = room
		}
		for _, v := range order {
			if len(in[v]) <= len(out[v]) {
				continue
			}
			room := 0
			for _, j := range in[v] {
				room = max(room, layer[links[j].from]+links[j].span())
			}
			moved = moved || room != layer[v]
			layer[v] = room
		}
		if !moved {
			break
		}
	}
	return layer
}

// pinLayers moves terminals to layers of their own at the top and bottom,
// starts the numbering at zero, and returns the layer of the title. Labels on
// links from terminals may share that layer.
func pinLayers(boxes []box, links []link, layer []int, title bool) int {
	first, last, have := 0, 0, false
	terminals := false
	for v, b := range boxes {
		terminals = terminals || b.pin == atTop
		if b.pin != unpinned {
			continue
		}
		if !have {
			first, last, have = layer[v], layer[v], true
		}
		first, last = min(first, layer[v]), max(last, layer[v])
	}
	top := 0
	if terminals {
		top = 1
	}
	shift := top - first
	labelled := func(k link) bool { return boxes[k.from].pin == atTop && k.label.W > 0 }
	if title || slices.ContainsFunc(links, labelled) {
		shift++
	}
	for v, b := range boxes {
		switch b.pin {
		case unpinned:
			layer[v] += shift
		case atTop:
			layer[v] = 0
		case atBottom:
			layer[v] = last + shift + 1
		}
	}
	return top
}

// Weights of segments, by how many of their ends are dummies: it matters most
// that the middle of a long edge is straight.
var segmentWeight = [3]float64{1, 2, 8}

// cut adds the segments of link i, with a dummy in every layer between its
// ends; the dummy nearest the middle carries the label.
func (l *level) cut(i int, k link, boxes []box) {
	l.chains[i] = make([]int, 0, l.vertices[k.to].layer-l.vertices[k.from].layer)
	prev, top, bottom := k.from, l.vertices[k.from].layer, l.vertices[k.to].layer
	offset, dummies := 0.0, 0
	switch {
	case k.out != None:
		offset = boxes[k.from].out[k.out]
	case k.reversed: // its head should not meet the tails of others
		offset = boxes[k.from].side / 4
	}
	add := func(s segment) {
		l.chains[i] = append(l.chains[i], len(l.segments))
		l.segments = append(l.segments, s)
	}
	for layer := top + 1; layer < bottom; layer++ {
		d := vertex{kind: dummyVertex, layer: layer}
		if k.label.W > 0 && layer == (top+bottom)/2 {
			d.kind, d.Size = labelVertex, k.label
		}
		l.vertices = append(l.vertices, d)
		add(segment{from: prev, to: len(l.vertices) - 1, fromOffset: offset, weight: segmentWeight[dummies+1]})
		prev, offset, dummies = len(l.vertices)-1, 0, 1
	}
	last := segment{from: prev, to: k.to, fromOffset: offset, freeEnd: k.in == None, weight: segmentWeight[dummies]}
	if k.in != None {
		last.toOffset = boxes[k.to].in[k.in]
	}
	add(last)
}

package layered

import (
	"cmp"
	"math"
	"slices"
)

// Distances between drawn things.
const (
	gapBoxes   = 24.0 // between boxes in a layer
	gapDummies = 12.0 // between edges, and between an edge and a box
	gapLayers  = 38.0 // between layers with boxes
	gapThin    = 14.0 // between layers if one of them holds edges only
	gapBorder  = 16.0 // between the border of a cluster and what it holds
	gapTitle   = 5.0  // between the top border of a cluster and its title
)

// placeX chooses horizontal centres. Each sweep moves a whole layer to where
// its segments would be straight, as far as order and gaps allow; the optimum
// for one layer is an isotonic regression. A last part makes edges that are
// nearly straight exactly so.
func (l *level) placeX() {
	for _, layer := range l.layers {
		x := 0.0
		for i, v := range layer {
			if i > 0 {
				x += l.gap(layer[i-1], v)
			}
			l.vertices[v].x = x
		}
		for _, v := range layer { // start centred on zero
			l.vertices[v].x -= x / 2
		}
	}
	const sweeps = 8
	r := newRegression(l)
	for range sweeps {
		r.sweep(true, false)
		r.sweep(false, true)
	}
	for range sweeps {
		r.sweep(true, true)
	}
	for v := range l.vertices {
		l.vertices[v].x = r.x[v]
	}
	const passes = 4
	for range passes {
		l.straightenBoxes()
		l.straightenChains()
	}
	l.tuckTitle()
}

// tuckTitle moves the title of a cluster, which nothing pulls anywhere, to
// above the leftmost vertex or as near as its right neighbour lets it, so that
// the cluster is no wider than it must be.
func (l *level) tuckTitle() {
	left, title, pos := math.Inf(1), None, l.positions()
	for v := range l.vertices {
		if p := &l.vertices[v]; p.kind == titleVertex {
			title = v
		} else {
			left = min(left, p.x-p.W/2)
		}
	}
	if title == None || math.IsInf(left, 1) {
		return
	}
	p := &l.vertices[title]
	_, right := l.room(title, pos[title])
	p.x = max(p.x, min(right, left+p.W/2))
}

// gap is the least distance between the centres of neighbours in a layer.
func (l *level) gap(left, right int) float64 {
	a, b := &l.vertices[left], &l.vertices[right]
	g := gapDummies
	if a.kind == boxVertex && b.kind == boxVertex {
		g = gapBoxes
	}
	return (a.W+b.W)/2 + g
}

// A vertex without segments stays where it is, if nothing pushes.
const idleWeight = 1e-3

// regression holds what the sweeps of placeX need, side by side, because they spend
// their time on it.
type regression struct {
	layers   [][]int
	x        []float64 // of each vertex
	shift    []float64 // of each vertex, to turn the gaps of its layer into plain order
	up, down pulls
	pools    []pool // reused memory
}

// pulls are the segments of all vertices on one side: of vertex v those from first[v] to
// first[v+1].
type pulls struct {
	first []int32
	list  []pull
}

// pull is a segment from a vertex: the vertex at its other end, and the offsets there and
// here.
type pull struct {
	other                int32
	weight, theirs, mine float64
}

// pool is a run of vertices that touch one another.
type pool struct {
	mean, weight float64
	count        int
}

// newPulls has room for those of a level.
func newPulls(l *level) pulls {
	return pulls{make([]int32, 0, len(l.vertices)+1), make([]pull, 0, len(l.segments))}
}

// next begins the pulls of the next vertex.
func (s *pulls) next() { s.first = append(s.first, int32(len(s.list))) }

func newRegression(l *level) *regression {
	n := len(l.vertices)
	r := &regression{layers: l.layers, x: make([]float64, n), shift: make([]float64, n), up: newPulls(l), down: newPulls(l)}
	for v := range l.vertices {
		r.x[v] = l.vertices[v].x
		r.up.next()
		r.down.next()
		for _, i := range l.vertices[v].up {
			s := &l.segments[i]
			r.up.list = append(r.up.list, pull{int32(s.from), s.weight, s.fromOffset, s.toOffset})
		}
		for _, i := range l.vertices[v].down {
			s := &l.segments[i]
			r.down.list = append(r.down.list, pull{int32(s.to), s.weight, s.toOffset, s.fromOffset})
		}
	}
	r.up.next()
	r.down.next()
	for _, layer := range l.layers {
		for i := 1; i < len(layer); i++ {
			r.shift[layer[i]] = r.shift[layer[i-1]] + l.gap(layer[i-1], layer[i])
		}
	}
	return r
}

// sweep regresses every layer towards its neighbours above, below or both.
func (r *regression) sweep(up, down bool) {
	n := len(r.layers)
	for i := range r.layers {
		if !up { // follow the layers below: begin with the lowest
			i = n - 1 - i
		}
		r.run(r.layers[i], up, down)
	}
}

// run places one layer: it minimises the weighted squares of the distances
// to the wanted centres by pooling adjacent violators.
func (r *regression) run(layer []int, up, down bool) {
	pools := r.pools[:0]
	for _, v := range layer {
		want, weight := r.wanted(v, up, down)
		p := pool{want - r.shift[v], weight, 1}
		for len(pools) > 0 && pools[len(pools)-1].mean > p.mean {
			q := pools[len(pools)-1]
			pools = pools[:len(pools)-1]
			w := p.weight + q.weight
			p = pool{(p.mean*p.weight + q.mean*q.weight) / w, w, p.count + q.count}
		}
		pools = append(pools, p)
	}
	r.pools = pools
	i := 0
	for _, p := range pools {
		for range p.count {
			v := layer[i]
			r.x[v] = p.mean + r.shift[v]
			i++
		}
	}
}

// wanted is the mean of the centres that would make a vertex's segments
// straight, and their weight.
func (r *regression) wanted(v int, up, down bool) (x, weight float64) {
	if up {
		x, weight = r.pulled(&r.up, v, x, weight)
	}
	if down {
		x, weight = r.pulled(&r.down, v, x, weight)
	}
	if weight == 0 {
		return r.x[v], idleWeight
	}
	return x / weight, weight
}

// pulled adds the wanted centres of one side, and their weights.
func (r *regression) pulled(side *pulls, v int, x, weight float64) (float64, float64) {
	for _, p := range side.list[side.first[v]:side.first[v+1]] {
		x += p.weight * (r.x[p.other] + p.theirs - p.mine)
		weight += p.weight
	}
	return x, weight
}

// straightTo is the centre of the lower vertex of s that makes it vertical,
// straightFrom that of the upper vertex.
func (l *level) straightTo(s *segment) float64 {
	return l.vertices[s.from].x + s.fromOffset - s.toOffset
}

func (l *level) straightFrom(s *segment) float64 {
	return l.vertices[s.to].x + s.toOffset - s.fromOffset
}

// straightenBoxes moves every box to the weighted median of the wanted
// centres, if there is room: so one of its segments becomes exactly vertical.
func (l *level) straightenBoxes() {
	pos := l.positions()
	var wants []want
	for _, layer := range l.layers {
		for _, v := range layer {
			if k := l.vertices[v].kind; k == dummyVertex || k == labelVertex || k == titleVertex {
				continue
			}
			lo, hi := l.room(v, pos[v])
			wants = l.wants(wants[:0], v)
			l.vertices[v].x = clamp(l.median(v, wants), lo, hi)
		}
	}
}

func clamp(x, lo, hi float64) float64 { return max(lo, min(x, hi)) }

func (l *level) positions() []int {
	pos := make([]int, len(l.vertices))
	for _, layer := range l.layers {
		for i, v := range layer {
			pos[v] = i
		}
	}
	return pos
}

// room is where v can move without its neighbours.
func (l *level) room(v, pos int) (lo, hi float64) {
	const far = 1e9
	lo, hi = -far, far
	layer := l.layers[l.vertices[v].layer]
	if pos > 0 {
		lo = l.vertices[layer[pos-1]].x + l.gap(layer[pos-1], v)
	}
	if pos+1 < len(layer) {
		hi = l.vertices[layer[pos+1]].x - l.gap(v, layer[pos+1])
	}
	// Rounding can make the room negative by a hair.
	return min(lo, l.vertices[v].x), max(hi, l.vertices[v].x)
}

// want is a centre that would make one segment vertical.
type want struct {
	x, weight float64
	up        bool
}

// wants appends the wanted centres of a vertex.
func (l *level) wants(list []want, v int) []want {
	for _, i := range l.vertices[v].up {
		s := &l.segments[i]
		list = append(list, want{l.straightTo(s), s.weight, true})
	}
	for _, i := range l.vertices[v].down {
		s := &l.segments[i]
		list = append(list, want{l.straightFrom(s), s.weight, false})
	}
	return list
}

// median is the weighted median of v's wanted centres. Between two middle ones,
// v stays where it is if both belong to edges from one side, which it balances;
// otherwise it goes to the nearer one, which straightens an edge.
func (l *level) median(v int, wants []want) float64 {
	total := 0.0
	for _, w := range wants {
		total += w.weight
	}
	x := l.vertices[v].x
	slices.SortStableFunc(wants, func(a, b want) int { return cmp.Compare(a.x, b.x) })
	sum := 0.0
	for i, w := range wants {
		sum += w.weight
		if 2*sum == total {
			next := wants[i+1]
			switch {
			case w.up == next.up:
				return clamp(x, w.x, next.x)
			case x-w.x <= next.x-x:
				return w.x
			}
			return next.x
		}
		if 2*sum > total {
			return w.x
		}
	}
	return x
}

// straightenChains gives the dummies of every long link as few different
// centres as the room between their neighbours allows.
func (l *level) straightenChains() {
	pos := l.positions()
	for _, chain := range l.chains {
		if len(chain) < 2 {
			continue
		}
		first, last := &l.segments[chain[0]], &l.segments[chain[len(chain)-1]]
		start := l.vertices[first.from].x + first.fromOffset
		end := l.vertices[last.to].x + last.toOffset
		l.straighten(chain[:len(chain)-1], start, end, pos)
	}
}

// straighten places the lower ends of the given segments, one below the other,
// in vertical stretches: each reaches down as far as one centre fits. A
// stretch takes the centre nearest to the line's start or, for the last one,
// to its end.
func (l *level) straighten(segments []int, start, end float64, pos []int) {
	x := start
	for len(segments) > 0 {
		lo, hi := l.room(l.segments[segments[0]].to, pos[l.segments[segments[0]].to])
		n := 1
		for ; n < len(segments); n++ {
			v := l.segments[segments[n]].to
			a, b := l.room(v, pos[v])
			if max(lo, a) > min(hi, b) {
				break
			}
			lo, hi = max(lo, a), min(hi, b)
		}
		if n == len(segments) && (x < lo || x > hi) {
			x = end
		}
		x = clamp(x, lo, hi)
		for _, s := range segments[:n] {
			l.vertices[l.segments[s].to].x = x
		}
		segments = segments[n:]
	}
}

// placeY stacks the layers and moves the level so that its top left corner is
// the origin; it returns its size. Boxes without successors stand at the top
// of their layer and those without predecessors at the bottom, near what they
// are joined to.
func (l *level) placeY() Size {
	left, right := 0.0, 0.0
	for i := range l.vertices {
		v := &l.vertices[i]
		if i == 0 {
			left, right = v.x-v.W/2, v.x+v.W/2
		}
		left, right = min(left, v.x-v.W/2), max(right, v.x+v.W/2)
	}
	top := 0.0
	for i, layer := range l.layers {
		if i > 0 {
			top += l.layerGap(i - 1)
		}
		height := l.height(layer)
		for _, v := range layer {
			p := &l.vertices[v]
			p.x -= left
			p.y = top + height/2
			switch {
			case len(p.up) == 0 && len(p.down) > 0:
				p.y = top + height - p.H/2
			case len(p.down) == 0 && len(p.up) > 0:
				p.y = top + p.H/2
			}
		}
		top += height
	}
	return Size{right - left, top}
}

func (l *level) height(layer []int) float64 {
	h := 0.0
	for _, v := range layer {
		h = max(h, l.vertices[v].H)
	}
	return h
}

// layerGap is the distance between layer i and the next: more where long
// horizontal runs would make the edges flat.
func (l *level) layerGap(i int) float64 {
	a, b := l.layerKind(l.layers[i]), l.layerKind(l.layers[i+1])
	var g float64
	switch {
	case a == terminalVertex && b == titleVertex:
		g = gapTitle
	case a == terminalVertex || b == terminalVertex:
		g = gapBorder
	case a == boxVertex && b == boxVertex:
		g = gapLayers
	default:
		g = gapThin
	}
	run := 0.0
	for _, v := range l.layers[i] {
		for _, s := range l.vertices[v].down {
			s := &l.segments[s]
			run = max(run, l.straightTo(s)-l.vertices[s.to].x, l.vertices[s.to].x-l.straightTo(s))
		}
	}
	const flattest, most = 9, 60
	return max(g, min(run/flattest, most))
}

// layerKind is what the height of a layer is for.
func (l *level) layerKind(layer []int) kind {
	k := dummyVertex
	for _, v := range layer {
		switch l.vertices[v].kind {
		case boxVertex:
			return boxVertex
		case terminalVertex, titleVertex:
			k = l.vertices[v].kind
		}
	}
	return k
}

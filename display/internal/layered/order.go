package layered

import (
	"cmp"
	"slices"
)

// ordering holds the state of crossing reduction.
type ordering struct {
	*level
	pos      []int32 // position of each vertex in its layer
	up, down ends

	// Reused memory.
	keys, tmp []int64
	joined    []joined
	stirred   []bool
	moving    []int64
	movers    []int32
}

// ends are the neighbours of all vertices on one side: of vertex v those from first[v]
// to first[v+1]. They lie side by side, because the reduction spends its time on them.
type ends struct {
	first []int32
	list  []end
}

// end is where a segment meets a neighbour, and where it leaves the vertex itself.
type end struct{ vertex, port, own int32 }

// Keys order the ends of segments within a layer: by the position of the vertex, then by
// port. Vertices have fewer than 1<<20 positions; offsets are cut to as many bits.
const (
	portBits = 20
	keyBits  = 2 * portBits
)

func port(offset float64) int32 { return int32((int(offset*8) + 1<<(portBits-1)) & (1<<portBits - 1)) }

func (o *ordering) key(e end) int64 { return int64(o.pos[e.vertex])<<portBits | int64(e.port) }

func (s *ends) of(v int) []end { return s.list[s.first[v]:s.first[v+1]] }

// newEnds has room for those of a level.
func newEnds(l *level) ends {
	return ends{make([]int32, 0, len(l.vertices)+1), make([]end, 0, len(l.segments))}
}

// next begins the ends of the next vertex.
func (s *ends) next() { s.first = append(s.first, int32(len(s.list))) }

func newOrdering(l *level) *ordering {
	o := &ordering{level: l, pos: make([]int32, len(l.vertices)), up: newEnds(l), down: newEnds(l)}
	for v := range l.vertices {
		o.up.next()
		o.down.next()
		for _, i := range l.vertices[v].up {
			s := &l.segments[i]
			o.up.list = append(o.up.list, end{int32(s.from), port(s.fromOffset), port(s.toOffset)})
		}
		for _, i := range l.vertices[v].down {
			s := &l.segments[i]
			o.down.list = append(o.down.list, end{int32(s.to), port(s.toOffset), port(s.fromOffset)})
		}
	}
	o.up.next()
	o.down.next()
	return o
}

// reduceCrossings orders every layer: sweeps down and up that sort a layer by
// the medians of its neighbours, each followed by exchanges of adjacent
// vertices. The best order found is kept.
func (l *level) reduceCrossings() {
	o := newOrdering(l)
	o.start()
	best, crossings := o.snapshot(nil), o.crossings()
	rounds := min(60, 4+150_000/(len(l.vertices)+1))
	stale := 0
	for round := 0; round < rounds && crossings > 0 && stale < 20; round++ {
		o.sweep(round%2 == 0, round/2%2 == 1)
		o.exchange()
		stale++
		if c := o.crossings(); c < crossings {
			best, crossings, stale = o.snapshot(best), c, 0
		}
	}
	l.layers = best
	l.titlesLeft()
}

// start orders the layers by a depth-first walk, so that connected vertices
// begin close together.
func (o *ordering) start() {
	depth := 0
	for _, v := range o.vertices {
		depth = max(depth, v.layer+1)
	}
	o.layers = make([][]int, depth)
	seen := make([]bool, len(o.vertices))
	place := func(v int) {
		seen[v] = true
		o.layers[o.vertices[v].layer] = append(o.layers[o.vertices[v].layer], v)
	}
	var stack []int
	for root := range o.vertices {
		if seen[root] || len(o.vertices[root].up) > 0 {
			continue
		}
		stack = append(stack, root)
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[v] {
				continue
			}
			place(v)
			for _, s := range slices.Backward(o.vertices[v].down) {
				stack = append(stack, o.segments[s].to)
			}
		}
	}
	o.index()
}

func (o *ordering) index() {
	for _, layer := range o.layers {
		o.renumber(layer)
	}
}

func (o *ordering) renumber(layer []int) {
	for i, v := range layer {
		o.pos[v] = int32(i)
	}
}

// snapshot copies the order, into the memory of an earlier one if there is any.
func (o *ordering) snapshot(into [][]int) [][]int {
	if into == nil {
		into = make([][]int, len(o.layers))
	}
	for i, layer := range o.layers {
		into[i] = append(into[i][:0], layer...)
	}
	return into
}

// sweep sorts every layer by the medians of its neighbours in the layer before
// it. Vertices without neighbours keep their place; flip exchanges those with
// equal medians, which gets the search out of many dead ends.
func (o *ordering) sweep(down, flip bool) {
	n, side := len(o.layers), &o.down
	if down {
		side = &o.up
	}
	const rank = 1<<portBits - 1
	for i := 1; i < n; i++ {
		layer := o.layers[i]
		if !down {
			layer = o.layers[n-1-i]
		}
		moving, movers := o.moving[:0], o.movers[:0]
		for _, v := range layer {
			m, ok := o.median(side.of(v))
			if !ok {
				continue
			}
			tie := int64(len(moving))
			if flip {
				tie = rank - tie
			}
			moving = append(moving, m<<portBits|tie) // which sorts by median, then by tie
			movers = append(movers, int32(v))
		}
		slices.Sort(moving)
		j := 0
		for i, v := range layer {
			if len(side.of(v)) == 0 {
				continue
			}
			tie := moving[j] & rank
			if flip {
				tie = rank - tie
			}
			layer[i] = int(movers[tie])
			j++
		}
		o.renumber(layer)
		o.moving, o.movers = moving, movers
	}
}

// median is the weighted median of the neighbours' keys: for an even number
// the point between the middle two, nearer to the side where they lie closer.
func (o *ordering) median(list []end) (int64, bool) {
	switch len(list) {
	case 0:
		return 0, false
	case 1:
		return o.key(list[0]), true
	case 2:
		return (o.key(list[0]) + o.key(list[1])) / 2, true
	}
	o.keys = o.sorted(o.keys[:0], list)
	keys, n := o.keys, len(list)
	m := n / 2
	if n%2 == 1 {
		return keys[m], true
	}
	left, right := keys[m-1]-keys[0], keys[n-1]-keys[m]
	if left+right == 0 {
		return (keys[m-1] + keys[m]) / 2, true
	}
	return int64((float64(keys[m-1])*float64(right) + float64(keys[m])*float64(left)) / float64(left+right)), true
}

// sorted appends the keys of ends in their order.
func (o *ordering) sorted(keys []int64, list []end) []int64 {
	from := len(keys)
	for _, e := range list {
		keys = append(keys, o.key(e))
	}
	if len(list) > 1 {
		slices.Sort(keys[from:])
	}
	return keys
}

// joined says where the sorted keys of a vertex's neighbours stand among all keys: those
// above it from up to down, those below it from down to end.
type joined struct{ up, down, end int32 }

// exchange swaps adjacent vertices as long as that removes crossings. The
// layers beside the one at work keep their order meanwhile, so the keys of
// neighbours are sorted once for each vertex. Of a pair that did not gain, it looks again
// only after one of the two has changed.
func (o *ordering) exchange() {
	for _, layer := range o.layers {
		keys, at := o.keys[:0], o.joined[:0]
		stirred := slices.Grow(o.stirred[:0], len(layer))[:len(layer)]
		for i, v := range layer {
			up := int32(len(keys))
			keys = o.sorted(keys, o.up.of(v))
			down := int32(len(keys))
			keys = o.sorted(keys, o.down.of(v))
			at = append(at, joined{up, down, int32(len(keys))})
			stirred[i] = true
		}
		o.keys, o.joined, o.stirred = keys, at, stirred
		const rounds = 8
		for improved, n := true, 0; improved && n < rounds; n++ {
			improved = false
			for i := 0; i+1 < len(layer); i++ {
				if !stirred[i] {
					continue
				}
				stirred[i] = false
				if gain(keys, at[i], at[i+1]) > 0 {
					layer[i], layer[i+1] = layer[i+1], layer[i]
					at[i], at[i+1] = at[i+1], at[i]
					stirred[max(i-1, 0)], stirred[i+1] = true, true
					improved = true
				}
			}
		}
		o.renumber(layer)
	}
}

// gain is how many crossings vanish when two neighbours in a layer, given from
// left to right, change places.
func gain(keys []int64, v, w joined) int {
	return swapped(keys[v.up:v.down], keys[w.up:w.down]) + swapped(keys[v.down:v.end], keys[w.down:w.end])
}

// swapped is how many pairs of keys, all of which are sorted, are out of order in left
// before right beyond those that would be with right before left.
func swapped(left, right []int64) int {
	switch {
	case len(left) == 0 || len(right) == 0:
		return 0
	case len(left) == 1 && len(right) == 1:
		return cmp.Compare(left[0], right[0])
	}
	return inversions(left, right) - inversions(right, left)
}

// inversions counts the pairs of a key in left and a smaller one in right;
// both are sorted.
func inversions(left, right []int64) int {
	count, j := 0, 0
	for _, k := range left {
		for j < len(right) && right[j] < k {
			j++
		}
		count += j
	}
	return count
}

// crossings counts the crossing pairs of segments in the whole level.
func (o *ordering) crossings() int {
	total := 0
	for _, layer := range o.layers {
		total += o.crossingsBelow(layer)
	}
	return total
}

// crossingsBelow lists the lower ends of segments in the order of their upper
// ends; each pair out of order crosses.
func (o *ordering) crossingsBelow(layer []int) int {
	lower := o.keys[:0]
	for _, v := range layer {
		from := len(lower)
		for _, e := range o.down.of(v) {
			lower = append(lower, int64(e.own)<<keyBits|o.key(e)) // by port, then by lower end
		}
		if len(lower) > from+1 {
			slices.Sort(lower[from:])
		}
		for i := from; i < len(lower); i++ {
			lower[i] &= 1<<keyBits - 1
		}
	}
	o.keys, o.tmp = lower, slices.Grow(o.tmp[:0], len(lower))
	return countInversions(lower, o.tmp[:len(lower)])
}

// countInversions sorts a by merging and counts the pairs out of order.
func countInversions(a, tmp []int64) int {
	if len(a) < 2 {
		return 0
	}
	m := len(a) / 2
	n := countInversions(a[:m], tmp[:m]) + countInversions(a[m:], tmp[m:])
	if a[m-1] <= a[m] {
		return n
	}
	copy(tmp[:m], a)
	i, j, k := 0, m, 0
	for i < m {
		if j == len(a) || tmp[i] <= a[j] {
			a[k] = tmp[i]
			i++
		} else {
			a[k] = a[j]
			n += m - i
			j++
		}
		k++
	}
	return n
}

// titlesLeft moves the title of a cluster to the left end of its layer.
func (l *level) titlesLeft() {
	for _, layer := range l.layers {
		for i, v := range layer {
			if l.vertices[v].kind == titleVertex {
				copy(layer[1:i+1], layer[:i])
				layer[0] = v
			}
		}
	}
}

// spreadPorts places the free ends of segments along the side of their vertex,
// in the order of the vertices they come from.
func (l *level) spreadPorts() {
	pos := l.positions()
	upper := func(s int) int { return pos[l.segments[s].from]<<portBits | int(port(l.segments[s].fromOffset)) }
	for v := range l.vertices {
		var free []int
		for _, s := range l.vertices[v].up {
			if l.segments[s].freeEnd {
				free = append(free, s)
			}
		}
		slices.SortStableFunc(free, func(a, b int) int { return cmp.Compare(upper(a), upper(b)) })
		step := min(18, l.vertices[v].side*0.8/float64(max(1, len(free))))
		for i, s := range free {
			l.segments[s].toOffset = step * (float64(i) - float64(len(free)-1)/2)
		}
	}
}

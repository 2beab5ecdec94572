package layered

import (
	"cmp"
	"slices"
)

// ordering holds the state of crossing reduction.
type ordering struct {
	*level
	pos []int // position of each vertex in its layer

	// Reused memory.
	buf, tmp []int
	ends     []neighbours
	moving   []placed
	slots    []int
}

// reduceCrossings orders every layer: sweeps down and up that sort a layer by
// the medians of its neighbours, each followed by exchanges of adjacent
// vertices. The best order found is kept.
func (l *level) reduceCrossings() {
	o := &ordering{level: l, pos: make([]int, len(l.vertices))}
	o.start()
	best, crossings := o.snapshot(), o.crossings()
	rounds := min(60, 4+150_000/(len(l.vertices)+1))
	stale := 0
	for round := 0; round < rounds && crossings > 0 && stale < 20; round++ {
		o.sweep(round%2 == 0, round/2%2 == 1)
		o.exchange()
		stale++
		if c := o.crossings(); c < crossings {
			best, crossings, stale = o.snapshot(), c, 0
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
		for i, v := range layer {
			o.pos[v] = i
		}
	}
}

func (o *ordering) snapshot() [][]int {
	c := make([][]int, len(o.layers))
	for i, layer := range o.layers {
		c[i] = slices.Clone(layer)
	}
	return c
}

// key orders the ends of segments within a layer: by vertex, then by port.
// Vertices have fewer than 1<<20 positions; offsets are cut to 20 bits.
func (o *ordering) key(v int, offset float64) int {
	return o.pos[v]<<20 | (int(offset*8)+1<<19)&(1<<20-1)
}

func (o *ordering) upperKey(s int) int {
	return o.key(o.segments[s].from, o.segments[s].fromOffset)
}

func (o *ordering) lowerKey(s int) int {
	return o.key(o.segments[s].to, o.segments[s].toOffset)
}

// placed is a vertex that a sweep moves.
type placed struct{ v, median, was int }

// sweep sorts every layer by the medians of its neighbours in the layer before
// it. Vertices without neighbours keep their place; flip exchanges those with
// equal medians, which gets the search out of many dead ends.
func (o *ordering) sweep(down, flip bool) {
	n := len(o.layers)
	for i := 1; i < n; i++ {
		layer := o.layers[i]
		if !down {
			layer = o.layers[n-1-i]
		}
		moving, slots := o.moving[:0], o.slots[:0]
		for j, v := range layer {
			if m, ok := o.median(v, down); ok {
				tie := len(moving)
				if flip {
					tie = -tie
				}
				moving = append(moving, placed{v, m, tie})
				slots = append(slots, j)
			}
		}
		slices.SortFunc(moving, func(a, b placed) int {
			return cmp.Or(cmp.Compare(a.median, b.median), cmp.Compare(a.was, b.was))
		})
		for j, p := range moving {
			layer[slots[j]] = p.v
		}
		for j, v := range layer {
			o.pos[v] = j
		}
		o.moving, o.slots = moving, slots
	}
}

// median is the weighted median of the neighbours' keys: for an even number
// the point between the middle two, nearer to the side where they lie closer.
func (o *ordering) median(v int, down bool) (int, bool) {
	keys := o.buf[:0]
	if down {
		for _, s := range o.vertices[v].up {
			keys = append(keys, o.upperKey(s))
		}
	} else {
		for _, s := range o.vertices[v].down {
			keys = append(keys, o.lowerKey(s))
		}
	}
	o.buf = keys
	n := len(keys)
	if n == 0 {
		return 0, false
	}
	slices.Sort(keys)
	m := n / 2
	switch {
	case n%2 == 1:
		return keys[m], true
	case n == 2:
		return (keys[0] + keys[1]) / 2, true
	}
	left, right := keys[m-1]-keys[0], keys[n-1]-keys[m]
	if left+right == 0 {
		return (keys[m-1] + keys[m]) / 2, true
	}
	return int((float64(keys[m-1])*float64(right) + float64(keys[m])*float64(left)) / float64(left+right)), true
}

// exchange swaps adjacent vertices as long as that removes crossings. The
// layers beside the one at work keep their order meanwhile, so the keys of
// neighbours are sorted once for each vertex.
func (o *ordering) exchange() {
	for _, layer := range o.layers {
		o.buf = o.buf[:0]
		ends := o.ends[:0]
		for _, v := range layer {
			ends = append(ends, o.neighbours(v))
		}
		o.ends = ends
		const rounds = 8
		for improved, n := true, 0; improved && n < rounds; n++ {
			improved = false
			for i := 0; i+1 < len(layer); i++ {
				if gain(&ends[i], &ends[i+1]) > 0 {
					layer[i], layer[i+1] = layer[i+1], layer[i]
					ends[i], ends[i+1] = ends[i+1], ends[i]
					improved = true
				}
			}
		}
		for i, v := range layer {
			o.pos[v] = i
		}
	}
}

// neighbours is the sorted keys of a vertex's neighbours above and below.
type neighbours struct{ up, down []int }

// neighbours appends the keys to o.buf. That may move the buffer; earlier
// slices then keep the old one.
func (o *ordering) neighbours(v int) neighbours {
	start := len(o.buf)
	for _, s := range o.vertices[v].up {
		o.buf = append(o.buf, o.upperKey(s))
	}
	middle := len(o.buf)
	for _, s := range o.vertices[v].down {
		o.buf = append(o.buf, o.lowerKey(s))
	}
	n := neighbours{o.buf[start:middle], o.buf[middle:]}
	slices.Sort(n.up)
	slices.Sort(n.down)
	return n
}

// gain is how many crossings vanish when two neighbours in a layer, given from
// left to right, change places.
func gain(v, w *neighbours) int {
	return inversions(v.up, w.up) - inversions(w.up, v.up) + inversions(v.down, w.down) - inversions(w.down, v.down)
}

// inversions counts the pairs of a key in left and a smaller one in right;
// both are sorted.
func inversions(left, right []int) int {
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
	lower := o.buf[:0]
	for _, v := range layer {
		down := o.vertices[v].down
		if len(down) > 1 {
			down = slices.Clone(down)
			slices.SortFunc(down, func(a, b int) int {
				return cmp.Or(cmp.Compare(o.upperKey(a), o.upperKey(b)), cmp.Compare(o.lowerKey(a), o.lowerKey(b)))
			})
		}
		for _, s := range down {
			lower = append(lower, o.lowerKey(s))
		}
	}
	o.buf, o.tmp = lower, slices.Grow(o.tmp[:0], len(lower))
	return countInversions(lower, o.tmp[:len(lower)])
}

// countInversions sorts a by merging and counts the pairs out of order.
func countInversions(a, tmp []int) int {
	if len(a) < 2 {
		return 0
	}
	m := len(a) / 2
	n := countInversions(a[:m], tmp[:m]) + countInversions(a[m:], tmp[m:])
	copy(tmp, a)
	i, j := 0, m
	for k := range a {
		if j == len(a) || i < m && tmp[i] <= tmp[j] {
			a[k] = tmp[i]
			i++
		} else {
			a[k] = tmp[j]
			n += m - i
			j++
		}
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
	o := &ordering{level: l, pos: make([]int, len(l.vertices))}
	o.index()
	for v := range l.vertices {
		var free []int
		for _, s := range l.vertices[v].up {
			if l.segments[s].freeEnd {
				free = append(free, s)
			}
		}
		slices.SortStableFunc(free, func(a, b int) int { return cmp.Compare(o.upperKey(a), o.upperKey(b)) })
		step := min(18, l.vertices[v].side*0.8/float64(max(1, len(free))))
		for i, s := range free {
			l.segments[s].toOffset = step * (float64(i) - float64(len(free)-1)/2)
		}
	}
}

package layered

// arrowRoom is the last, straight part of an edge, for the head of an arrow.
const arrowRoom = 8.0

// route traces link i from top to bottom. Between two layers a segment bends;
// beside the boxes of a layer it is vertical, so it meets none of them.
func (l *level) route(i int, bounds []band) []Point {
	chain := l.chains[i]
	first := &l.segments[chain[0]]
	from := &l.vertices[first.from]
	t := tracer{path: []Point{{from.x + first.fromOffset, from.y + from.H/2}}}
	for _, s := range chain {
		s := &l.segments[s]
		upper, lower := bounds[l.vertices[s.from].layer], bounds[l.vertices[s.to].layer]
		to := &l.vertices[s.to]
		t.down(upper.bottom)
		straight := 0.0
		if to.kind == boxVertex {
			straight = arrowRoom
		}
		t.bend(Point{to.x + s.toOffset, lower.top - straight})
		if to.kind == dummyVertex || to.kind == labelVertex {
			t.down(lower.bottom)
		} else {
			t.down(to.y - to.H/2)
		}
	}
	return t.path
}

// band is the vertical extent of a layer.
type band struct{ top, bottom float64 }

func (l *level) bands() []band {
	bands := make([]band, len(l.layers))
	for i, layer := range l.layers {
		for j, v := range layer {
			p := &l.vertices[v]
			b := band{p.y - p.H/2, p.y + p.H/2}
			if j > 0 {
				b = band{min(bands[i].top, b.top), max(bands[i].bottom, b.bottom)}
			}
			bands[i] = b
		}
	}
	return bands
}

// tracer appends Bézier pieces to a path; straight pieces in line become one.
type tracer struct{ path []Point }

func (t *tracer) last() Point { return t.path[len(t.path)-1] }

func (t *tracer) down(y float64) {
	if p := t.last(); y > p.Y {
		t.line(Point{p.X, y})
	}
}

func (t *tracer) line(q Point) {
	p := t.last()
	if n := len(t.path); n >= 4 && t.path[n-4].X == p.X && t.path[n-3].X == p.X && t.path[n-2].X == p.X && p.X == q.X {
		t.path = t.path[:n-3]
		p = t.last()
	}
	third := (q.Y - p.Y) / 3
	t.path = append(t.path, Point{p.X, p.Y + third}, Point{q.X, q.Y - third}, q)
}

// bend draws an S between two vertical directions.
func (t *tracer) bend(q Point) {
	p := t.last()
	if d := q.X - p.X; d < 1e-6 && d > -1e-6 { // rounding
		q.X = p.X
		t.line(q)
		return
	}
	half := (q.Y - p.Y) / 2
	t.path = append(t.path, Point{p.X, p.Y + half}, Point{q.X, q.Y - half}, q)
}

// follow continues with a path of another level, whose origin is given.
func (t *tracer) follow(path []Point, origin Point) {
	start := path[0].plus(origin.X, origin.Y)
	if len(t.path) == 0 {
		t.path = append(t.path, start)
	}
	t.down(start.Y)
	for _, p := range path[1:] {
		t.path = append(t.path, p.plus(origin.X, origin.Y))
	}
}

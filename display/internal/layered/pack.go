package layered

import "math"

// sketch is one level, laid out.
type sketch struct {
	Size
	centres []Point   // of the boxes
	paths   [][]Point // of the links, from top to bottom
	labels  []Point   // centres of the links' labels
}

// drawLevel takes one level through the steps of the layout.
func drawLevel(boxes []box, links []link, title Size) (*sketch, error) {
	l, err := newLevel(boxes, links, title)
	if err != nil {
		return nil, err
	}
	l.reduceCrossings()
	l.spreadPorts()
	l.placeX()
	s := &sketch{Size: l.placeY(), labels: make([]Point, len(links))}
	for i := range boxes {
		s.centres = append(s.centres, Point{l.vertices[i].x, l.vertices[i].y})
	}
	bands := l.bands()
	for i := range links {
		s.paths = append(s.paths, l.route(i, bands))
		for _, j := range l.chains[i] {
			if v := &l.vertices[l.segments[j].to]; v.kind == labelVertex {
				s.labels[i] = Point{v.x, v.y}
			}
		}
	}
	return s, nil
}

// drawComponents draws each connected component by itself and sets them in
// rows, in the order of their first boxes.
func drawComponents(boxes []box, links []link) (*sketch, error) {
	arcs := make([]arc, len(links))
	for i, k := range links {
		arcs[i] = arc{k.from, k.to}
	}
	number, count := components(len(boxes), arcs)
	parts := make([]part, count)
	local := make([]int, len(boxes))
	for v, b := range boxes {
		p := &parts[number[v]]
		local[v] = len(p.boxes)
		p.boxes, p.members = append(p.boxes, b), append(p.members, v)
	}
	for i, k := range links {
		p := &parts[number[k.from]]
		k.from, k.to = local[k.from], local[k.to]
		p.links, p.edges = append(p.links, k), append(p.edges, i)
	}
	for i := range parts {
		s, err := drawLevel(parts[i].boxes, parts[i].links, Size{})
		if err != nil {
			return nil, err
		}
		parts[i].sketch = s
	}
	return pack(parts, len(boxes), len(links)), nil
}

// part is one connected component.
type part struct {
	boxes   []box
	links   []link
	members []int // which boxes and links of the whole these are
	edges   []int
	sketch  *sketch
}

func pack(parts []part, boxes, links int) *sketch {
	whole := &sketch{centres: make([]Point, boxes), paths: make([][]Point, links), labels: make([]Point, links)}
	area, widest := 0.0, 0.0
	for _, p := range parts {
		area += (p.sketch.W + gapBoxes) * (p.sketch.H + gapLayers)
		widest = max(widest, p.sketch.W)
	}
	const aspect = 1.6
	rowWidth := max(widest, math.Sqrt(area*aspect))
	x, y, rowHeight := 0.0, 0.0, 0.0
	for _, p := range parts {
		if x > 0 && x+p.sketch.W > rowWidth {
			x, y, rowHeight = 0, y+rowHeight+gapLayers, 0
		}
		p.moveTo(whole, x, y)
		whole.W, whole.H = max(whole.W, x+p.sketch.W), max(whole.H, y+p.sketch.H)
		rowHeight = max(rowHeight, p.sketch.H)
		x += p.sketch.W + gapBoxes
	}
	return whole
}

func (p *part) moveTo(whole *sketch, x, y float64) {
	for i, v := range p.members {
		whole.centres[v] = p.sketch.centres[i].plus(x, y)
	}
	for i, e := range p.edges {
		for _, q := range p.sketch.paths[i] {
			whole.paths[e] = append(whole.paths[e], q.plus(x, y))
		}
		if p.sketch.labels[i] != (Point{}) {
			whole.labels[e] = p.sketch.labels[i].plus(x, y)
		}
	}
}

package display

import (
	"math"

	"forgekernel/display/internal/canvas"
	"forgekernel/display/internal/cells"
	"forgekernel/display/internal/layered"
)

func (p *picture) svg() string {
	s := canvas.NewSVG(p.w, p.h)
	p.draw(s)
	return s.Document(p.graph.label())
}

// label is what the picture of a graph is called by those who do not see it.
func (g Graph) label() string {
	if g.Name == "" {
		return "graph"
	}
	return cells.OneLine(g.Name)
}

// Limits of a PNG: decoders refuse very long sides, and pixels cost memory.
const (
	pngScale   = 2.0
	pngLegible = 0.7 // the least scale at which labels can be read
	pngSide    = 8000.0
	pngPixels  = 24e6
)

// scale is the pixels per CSS pixel.
func (p *picture) scale() float64 {
	s := min(pngScale, pngSide/p.w, pngSide/p.h)
	if s*s*p.w*p.h > pngPixels {
		s = math.Sqrt(pngPixels / (p.w * p.h))
	}
	return s
}

func (p *picture) png() ([]byte, error) {
	r := canvas.NewRaster(p.w, p.h, p.scale())
	p.draw(r)
	return r.PNG()
}

// pngHints is the metadata by which front ends show the PNG in its true size, and name it.
func (p *picture) pngHints() map[string]any {
	return map[string]any{"width": int(p.w), "height": int(p.h), "alt": p.graph.label()}
}

func (p *picture) draw(s canvas.Surface) {
	s.Box(canvas.Box{W: p.w, H: p.h, Radius: 10, Fill: p.colour.Card.Fill, Stroke: p.colour.Card.Stroke, StrokeWidth: 1})
	x, y := cardPad, cardPad
	for i, line := range p.title {
		s.Text(canvas.Text{X: x, Y: y + titleSize - 2 + titleHeight*float64(i), Text: line, Font: canvas.Medium, Size: titleSize, Fill: p.colour.Card.Text})
	}
	y += p.titleHeight()
	p.drawLegend(s, x, y+p.layout.H)
	x += (p.w - 2*cardPad - p.layout.W) / 2
	at := func(q layered.Point) canvas.Point { return canvas.Point{X: q.X + x, Y: q.Y + y} }
	for i, r := range p.layout.Clusters {
		if r.W > 0 {
			r.X, r.Y = r.X+x, r.Y+y
			s.Group(p.groups[i].Tooltip, func() { p.drawCluster(s, p.groups[i], r) })
		}
	}
	for i, path := range p.layout.Edges {
		points := make([]canvas.Point, len(path))
		for j, q := range path {
			points[j] = at(q)
		}
		s.Group(p.graph.Edges[i].Tooltip, func() { p.drawArrow(s, points) })
		if p.labels[i] != "" {
			p.drawEdgeLabel(s, p.labels[i], at(p.layout.Labels[i]))
		}
	}
	for i, c := range p.layout.Nodes {
		s.Group(p.tooltip(i), func() { p.drawNode(s, i, at(c)) })
	}
}

// tooltip is the node's own or, where the text in the box had to be cut, the
// whole text.
func (p *picture) tooltip(i int) string {
	n, b := p.nodes[i], p.boxes[i]
	if n.Tooltip == "" && (b.label != n.Label || b.sub != n.Sub) {
		return n.Label + "\n" + n.Sub
	}
	return n.Tooltip
}

func (p *picture) drawCluster(s canvas.Surface, c Cluster, r layered.Rect) {
	t := p.colour.Cluster
	s.Box(canvas.Box{X: r.X, Y: r.Y, W: r.W, H: r.H, Radius: 8, Fill: t.Fill, Stroke: t.Stroke, StrokeWidth: 1, Dashed: true})
	s.Text(canvas.Text{X: r.X + 10, Y: r.Y + 5 + subSize, Text: short(c.Label), Font: canvas.Medium, Size: subSize, Fill: t.Text})
}

func (p *picture) drawArrow(s canvas.Surface, path []canvas.Point) {
	tip, before := path[len(path)-1], path[len(path)-2]
	dx, dy := tip.X-before.X, tip.Y-before.Y
	d := math.Hypot(dx, dy)
	dx, dy = dx/d, dy/d
	base := canvas.Point{X: tip.X - dx*arrowLength, Y: tip.Y - dy*arrowLength}
	line := append([]canvas.Point(nil), path...)
	line[len(line)-1] = canvas.Point{X: tip.X - dx*arrowLength/2, Y: tip.Y - dy*arrowLength/2}
	s.Curve(canvas.Curve{Points: line, Stroke: p.colour.Edge, Width: 1.3})
	half := arrowWidth / 2
	s.Polygon(canvas.Polygon{Fill: p.colour.Edge, Points: []canvas.Point{
		tip, {X: base.X - dy*half, Y: base.Y + dx*half}, {X: base.X + dy*half, Y: base.Y - dx*half},
	}})
}

func (p *picture) drawEdgeLabel(s canvas.Surface, label string, c canvas.Point) {
	w := canvas.Width(label, canvas.Regular, smallSize) + 6
	s.Box(canvas.Box{X: c.X - w/2, Y: c.Y - smallSize/2 - 2, W: w, H: smallSize + 4, Radius: 3, Fill: p.colour.Card.Fill})
	s.Text(canvas.Text{X: c.X, Y: c.Y + smallSize/2 - 1.5, Text: label, Font: canvas.Regular, Size: smallSize, Fill: p.colour.Faint, Anchor: canvas.Middle})
}

func (p *picture) drawNode(s canvas.Surface, i int, c canvas.Point) {
	b, t := &p.boxes[i], p.colour.Tint(string(p.nodes[i].Class))
	left, top := c.X-b.W/2, c.Y-b.H/2
	s.Box(canvas.Box{X: left, Y: top, W: b.W, H: b.H, Radius: 6, Fill: t.Fill, Stroke: t.Stroke, StrokeWidth: 1.2})
	middle := c
	if p.graph.Direction == LeftRight {
		middle.X += (portsWidth(b.ins) - portsWidth(b.outs)) / 2
	} else {
		if named(b.ins) > 0 {
			middle.Y += portHeight / 2
		}
		if named(b.outs) > 0 {
			middle.Y -= portHeight / 2
		}
	}
	baseline := middle.Y + labelSize*0.36
	if b.sub != "" {
		baseline -= (lineHeight - 3) / 2
		s.Text(canvas.Text{X: middle.X, Y: baseline + lineHeight - 2, Text: b.sub, Font: canvas.Regular, Size: subSize, Fill: p.colour.Faint, Anchor: canvas.Middle})
	}
	s.Text(canvas.Text{X: middle.X, Y: baseline, Text: b.label, Font: canvas.Medium, Size: labelSize, Fill: t.Text, Anchor: canvas.Middle})
	p.drawPorts(s, b, c)
}

func (p *picture) drawPorts(s canvas.Surface, b *nodeBox, c canvas.Point) {
	port := func(name string, x, y float64) {
		if name != "" {
			s.Text(canvas.Text{X: x, Y: y, Text: short(name), Font: canvas.Regular, Size: smallSize, Fill: p.colour.Faint, Anchor: canvas.Middle})
		}
	}
	const half = smallSize * 0.36
	for i, name := range b.ins {
		if p.graph.Direction == LeftRight {
			port(name, c.X-b.W/2+4+widestPort(b.ins)/2, c.Y+b.In[i]+half)
		} else {
			port(name, c.X+b.In[i], c.Y-b.H/2+portHeight)
		}
	}
	for i, name := range b.outs {
		if p.graph.Direction == LeftRight {
			port(name, c.X+b.W/2-4-widestPort(b.outs)/2, c.Y+b.Out[i]+half)
		} else {
			port(name, c.X+b.Out[i], c.Y+b.H/2-4)
		}
	}
}

func (p *picture) drawLegend(s canvas.Surface, x, y float64) {
	for _, e := range p.legend.entries {
		t := p.colour.Tint(string(e.class))
		s.Box(canvas.Box{X: x + e.x, Y: y + e.y, W: swatch, H: swatch, Radius: 2.5, Fill: t.Fill, Stroke: t.Stroke, StrokeWidth: 1})
		s.Text(canvas.Text{X: x + e.x + swatch + 5, Y: y + e.y + swatch - 1.5, Text: short(string(e.class)), Font: canvas.Regular, Size: smallSize, Fill: p.colour.Faint})
	}
}

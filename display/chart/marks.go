package chart

import (
	"image/color"
	"math"

	"forgekernel/display/internal/canvas"
	"forgekernel/display/internal/cells"
	"forgekernel/display/internal/palette"
)

// Widths of marks without one of their own, in CSS pixels.
const (
	lineWidth = 1.8
	ruleWidth = 1.3
	pointSize = 6.0
)

// pen is how the marks of a layer are drawn.
type pen struct {
	palette.Tint
	width float64
}

func (l *laid) pen(layer Layer) pen {
	p := pen{l.colour.Tint(string(layer.Colour)), layer.Width}
	if p.width <= 0 {
		p.width = map[Kind]float64{Line: lineWidth, Point: pointSize}[layer.Kind]
		if p.width == 0 {
			p.width = ruleWidth
		}
	}
	if layer.Strong {
		p.Fill, p.Text = p.Stroke, l.colour.Card.Fill
	}
	return p
}

func (l *laid) drawLayer(s canvas.Surface, p *panel, layer Layer) {
	pen := l.pen(layer)
	switch layer.Kind {
	case Line:
		s.Group(layer.Name, func() {
			for _, piece := range p.clip(p.points(layer, func(d Datum) float64 { return d.Y })) {
				s.Line(canvas.Line{Points: piece, Stroke: pen.Stroke, Width: pen.width, Dashed: layer.Dashed})
			}
		})
	case Area:
		s.Group(layer.Name, func() { p.drawArea(s, layer, pen) })
	default:
		for _, d := range layer.Data {
			s.Group(d.Tip, func() { l.drawDatum(s, p, layer, pen, d) })
		}
	}
}

func (l *laid) drawDatum(s canvas.Surface, p *panel, layer Layer, pen pen, d Datum) {
	a := canvas.Point{X: p.corner.X + p.xs.at(d.X), Y: p.corner.Y + p.ys.at(d.Y)}
	b := canvas.Point{X: p.corner.X + p.xs.at(d.X2), Y: p.corner.Y + p.ys.at(d.Y2)}
	switch layer.Kind {
	case Rect:
		p.drawRect(s, pen, a, b, d.Text)
	case Rule:
		for _, piece := range p.clip([]canvas.Point{a, b}) {
			s.Line(canvas.Line{Points: piece, Stroke: pen.Stroke, Width: pen.width, Dashed: layer.Dashed})
		}
	case Point:
		if p.xs.holds(d.X) && p.ys.holds(d.Y) {
			l.point(s, layer, a, pen.width)
		}
	case Text:
		fill := pen.Tint.Text
		if layer.Colour == "" || layer.Colour == Ink {
			fill = l.colour.Card.Text
		}
		s.Text(canvas.Text{X: a.X + layer.DX, Y: a.Y + layer.DY + tickSize*0.36, Text: cells.OneLine(d.Text), Font: canvas.Regular, Size: tickSize, Fill: fill, Anchor: canvas.Anchor(layer.Anchor)})
	}
}

// point draws a dot that is size pixels wide.
func (l *laid) point(s canvas.Surface, layer Layer, at canvas.Point, size float64) {
	t := l.colour.Tint(string(layer.Colour))
	box := canvas.Box{X: at.X - size/2, Y: at.Y - size/2, W: size, H: size, Radius: size / 2, Fill: t.Stroke}
	switch layer.Shape {
	case Ring:
		box.Fill, box.Stroke, box.StrokeWidth = color.NRGBA{}, t.Stroke, 1.5
	case Square:
		box.Radius = 0
	}
	s.Box(box)
}

// drawRect draws the part of a rectangle inside the area; one too small to be seen
// becomes a line.
func (p *panel) drawRect(s canvas.Surface, pen pen, a, b canvas.Point, text string) {
	lo, hi := p.corner, canvas.Point{X: p.corner.X + p.Width, Y: p.corner.Y + p.Height}
	left, right := max(min(a.X, b.X), lo.X), min(max(a.X, b.X), hi.X)
	top, bottom := max(min(a.Y, b.Y), lo.Y), min(max(a.Y, b.Y), hi.Y)
	if right < left || bottom < top {
		return
	}
	box := canvas.Box{X: left, Y: top, W: max(right-left, 1), H: max(bottom-top, 1), Radius: 2, Fill: pen.Fill, Stroke: pen.Stroke, StrokeWidth: 1}
	if box.W < 4 || box.H < 4 {
		box.Radius, box.StrokeWidth, box.Fill = 0, 0, pen.Stroke
	}
	s.Box(box)
	if text := cells.OneLine(text); fits(text, box.W, box.H) {
		s.Text(canvas.Text{X: box.X + box.W/2, Y: box.Y + box.H/2 + tickSize*0.36, Text: text, Font: canvas.Regular, Size: tickSize, Fill: pen.Text, Anchor: canvas.Middle})
	}
}

func fits(text string, w, h float64) bool {
	return text != "" && h >= tickSize+2 && small(text)+6 <= w
}

func (p *panel) drawArea(s canvas.Surface, layer Layer, pen pen) {
	upper := p.points(layer, func(d Datum) float64 { return d.Y })
	lower := p.points(layer, func(d Datum) float64 { return d.Y2 })
	if len(upper) < 2 {
		return
	}
	clamp := func(q canvas.Point) canvas.Point {
		return canvas.Point{X: min(max(q.X, p.corner.X), p.corner.X+p.Width), Y: min(max(q.Y, p.corner.Y), p.corner.Y+p.Height)}
	}
	var outline []canvas.Point
	for _, q := range upper {
		outline = append(outline, clamp(q))
	}
	for i := range lower {
		outline = append(outline, clamp(lower[len(lower)-1-i]))
	}
	s.Polygon(canvas.Polygon{Points: outline, Fill: pen.Fill})
	for _, edge := range [][]canvas.Point{upper, lower} {
		for _, piece := range p.clip(edge) {
			s.Line(canvas.Line{Points: piece, Stroke: pen.Stroke, Width: pen.width})
		}
	}
}

// points are the data of a layer as points of the picture.
func (p *panel) points(layer Layer, y func(Datum) float64) []canvas.Point {
	list := make([]canvas.Point, len(layer.Data))
	for i, d := range layer.Data {
		list[i] = canvas.Point{X: p.corner.X + p.xs.at(d.X), Y: p.corner.Y + p.ys.at(y(d))}
	}
	return list
}

// clip cuts a line into its pieces inside the area of data.
func (p *panel) clip(line []canvas.Point) (pieces [][]canvas.Point) {
	lo, hi := p.corner, canvas.Point{X: p.corner.X + p.Width, Y: p.corner.Y + p.Height}
	var piece []canvas.Point
	for i := 1; i < len(line); i++ {
		a, b, inside := clipped(line[i-1], line[i], lo, hi)
		if !inside {
			continue
		}
		if n := len(piece); n == 0 || piece[n-1] != a {
			if n > 1 {
				pieces = append(pieces, piece)
			}
			piece = []canvas.Point{a}
		}
		piece = append(piece, b)
	}
	if len(piece) > 1 {
		pieces = append(pieces, piece)
	}
	return pieces
}

// clipped is the part of a segment inside a rectangle (Liang and Barsky).
func clipped(a, b, lo, hi canvas.Point) (from, to canvas.Point, inside bool) {
	start, end := 0.0, 1.0
	dx, dy := b.X-a.X, b.Y-a.Y
	for _, edge := range [][2]float64{{-dx, a.X - lo.X}, {dx, hi.X - a.X}, {-dy, a.Y - lo.Y}, {dy, hi.Y - a.Y}} {
		switch step, room := edge[0], edge[1]; {
		case step == 0 && room < -1e-6:
			return a, b, false
		case step < 0:
			start = math.Max(start, room/step)
		case step > 0:
			end = math.Min(end, room/step)
		}
	}
	if start > end {
		return a, b, false
	}
	from, to = a, b
	if start > 0 {
		from = canvas.Point{X: a.X + start*dx, Y: a.Y + start*dy}
	}
	if end < 1 {
		to = canvas.Point{X: a.X + end*dx, Y: a.Y + end*dy}
	}
	return from, to, true
}

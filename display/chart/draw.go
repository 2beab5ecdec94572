package chart

import (
	"math"

	"forgekernel/display/internal/canvas"
	"forgekernel/display/internal/cells"
)

// draw draws the figure, with all that it says.
func (l *laid) draw(s canvas.Surface) {
	card := l.colour.Card
	s.Box(canvas.Box{W: l.w, H: l.h, Radius: 10, Fill: card.Fill, Stroke: card.Stroke, StrokeWidth: 1})
	y := cardPad
	for _, line := range l.title {
		s.Text(canvas.Text{X: cardPad, Y: y + titleSize*0.85, Text: line, Font: canvas.Medium, Size: titleSize, Fill: card.Text})
		y += titleSize * lineHeight
	}
	for _, line := range l.note {
		l.small(s, cardPad, y+tickSize*0.85, line, canvas.Start)
		y += tickSize * lineHeight
	}
	for i := range l.panels {
		l.drawPanel(s, &l.panels[i])
	}
	for _, e := range l.legend {
		l.drawEntry(s, e)
	}
}

func (l *laid) small(s canvas.Surface, x, y float64, text string, a canvas.Anchor) {
	s.Text(canvas.Text{X: x, Y: y, Text: text, Font: canvas.Regular, Size: tickSize, Fill: l.colour.Faint, Anchor: a})
}

func (l *laid) drawPanel(s canvas.Surface, p *panel) {
	y := p.corner.Y
	if p.Y.Title != "" {
		y -= tickSize*lineHeight - 4
		l.small(s, p.corner.X, y, cells.OneLine(p.Y.Title), canvas.Start)
		y -= 6
	}
	if p.Title != "" {
		s.Text(canvas.Text{X: cardPad, Y: y - 6, Text: cells.OneLine(p.Title), Font: canvas.Medium, Size: panelSize, Fill: l.colour.Card.Text})
	}
	l.drawGrid(s, p)
	for _, layer := range p.Layers {
		l.drawLayer(s, p, layer)
	}
	l.drawAxes(s, p)
}

// drawGrid marks the ticks of axes of numbers across the area.
func (l *laid) drawGrid(s canvas.Surface, p *panel) {
	area := p.corner
	if p.Y.Ticks == nil {
		for _, t := range p.yTicks {
			y := area.Y + p.ys.at(t.At)
			l.line(s, canvas.Point{X: area.X, Y: y}, canvas.Point{X: area.X + p.Width, Y: y})
		}
	}
	if p.X.Ticks == nil {
		for _, t := range p.xTicks {
			x := area.X + p.xs.at(t.At)
			l.line(s, canvas.Point{X: x, Y: area.Y}, canvas.Point{X: x, Y: area.Y + p.Height})
		}
	}
}

func (l *laid) line(s canvas.Surface, a, b canvas.Point) {
	s.Line(canvas.Line{Points: []canvas.Point{a, b}, Stroke: l.colour.Grid, Width: 1})
}

// drawAxes draws the foot of the area and labels both axes.
func (l *laid) drawAxes(s canvas.Surface, p *panel) {
	x, y := p.corner.X, p.corner.Y+p.Height
	s.Line(canvas.Line{Points: []canvas.Point{{X: x, Y: y}, {X: x + p.Width, Y: y}}, Stroke: l.colour.Edge, Width: 1})
	for _, t := range p.yTicks {
		label := func() { l.small(s, x-tickGap, p.corner.Y+p.ys.at(t.At)+tickSize*0.36, short(t.Label), canvas.End) }
		if short(t.Label) != t.Label {
			s.Group(t.Label, label)
		} else {
			label()
		}
	}
	below := y + tickGap + tickSize*0.8
	end := math.Inf(-1)
	for _, t := range p.xTicks {
		label := short(t.Label)
		at := x + p.xs.at(t.At)
		if at-small(label)/2 < end { // names may be longer than their place
			continue
		}
		l.small(s, at, below, label, canvas.Middle)
		end = at + small(label)/2 + 6
	}
	if p.X.Title != "" {
		if len(p.xTicks) > 0 {
			y = below
		}
		l.small(s, x+p.Width/2, y+tickSize*lineHeight+3, cells.OneLine(p.X.Title), canvas.Middle)
	}
}

// drawEntry explains a layer in the legend.
func (l *laid) drawEntry(s canvas.Surface, e entry) {
	x, y := cardPad+e.dx, l.legendAt+e.dy
	t := l.colour.Tint(string(e.layer.Colour))
	middle := y + swatch/2
	switch e.layer.Kind {
	case Line, Rule:
		s.Line(canvas.Line{Points: []canvas.Point{{X: x - 2, Y: middle}, {X: x + swatch + 2, Y: middle}}, Stroke: t.Stroke, Width: 2, Dashed: e.layer.Dashed})
	case Point:
		l.point(s, e.layer, canvas.Point{X: x + swatch/2, Y: middle}, 8)
	case Text:
	default:
		fill := t.Fill
		if e.layer.Strong {
			fill = t.Stroke
		}
		s.Box(canvas.Box{X: x, Y: y, W: swatch, H: swatch, Radius: 2.5, Fill: fill, Stroke: t.Stroke, StrokeWidth: 1})
	}
	l.small(s, x+swatch+6, y+swatch-1, short(e.name), canvas.Start)
}

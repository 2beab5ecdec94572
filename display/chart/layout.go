package chart

import (
	"math"

	"forgekernel/display"
	"forgekernel/display/internal/canvas"
	"forgekernel/display/internal/cells"
	"forgekernel/display/internal/palette"
)

// Measures of a figure, in CSS pixels.
const (
	cardPad     = 18.0
	titleSize   = 14.0
	panelSize   = 12.0
	tickSize    = 11.0
	lineHeight  = 1.35 // of the size of the text
	tickGap     = 7.0  // between labels and the area
	panelGap    = 16.0
	areaWidth   = 520.0
	areaHeight  = 240.0
	tickRoomX   = 74.0 // of a label on an axis
	tickRoomY   = 34.0
	swatch      = 10.0
	longestName = 48 // characters of a label; its tooltip has all
)

// laid is a figure, measured and ready to draw.
type laid struct {
	Figure
	colour      *palette.Palette
	left, right float64 // beside the areas of data
	title, note []string
	panels      []panel
	legend      []entry
	legendAt    float64
	w, h        float64
}

// panel is a chart with its place: the corner of its area of data.
type panel struct {
	Chart
	corner         canvas.Point
	xs, ys         scale
	xTicks, yTicks []Tick
}

// entry is a line of the legend.
type entry struct {
	name   string
	layer  Layer
	dx, dy float64
}

func small(s string) float64 { return canvas.Width(s, canvas.Regular, tickSize) }

// layout measures a figure that passed its check.
func (f Figure) layout() *laid {
	l := &laid{Figure: f, colour: palette.Light}
	if f.Theme == display.Dark {
		l.colour = palette.Dark
	}
	width := 0.0
	for _, c := range f.Panels {
		p := c.orNothing().panel()
		for _, t := range p.yTicks {
			l.left = max(l.left, small(short(t.Label))+tickGap)
		}
		if n := len(p.xTicks); n > 0 {
			end := p.xTicks[n-1]
			l.right = max(l.right, p.xs.at(end.At)+small(end.Label)/2-p.Width)
			l.left = max(l.left, small(p.xTicks[0].Label)/2-p.xs.at(p.xTicks[0].At))
		}
		l.right = max(l.right, p.beside())
		width = max(width, p.Width, small(p.Y.Title), small(p.X.Title), canvas.Width(p.Title, canvas.Medium, panelSize))
		l.panels = append(l.panels, p)
	}
	all := l.left + width + l.right
	l.title = canvas.Wrap(f.Title, all, canvas.Medium, titleSize)
	l.note = canvas.Wrap(f.Note, all, canvas.Regular, tickSize)
	l.place()
	l.placeLegend(all)
	l.w, l.h = math.Ceil(all+2*cardPad), math.Ceil(l.h+cardPad)
	return l
}

// panel measures the axes of a chart.
func (c Chart) panel() panel {
	p := panel{Chart: c}
	if p.Width <= 0 {
		p.Width = areaWidth
	}
	if p.Height <= 0 {
		p.Height = areaHeight
	}
	var xs, ys []float64
	p.Layers = make([]Layer, len(c.Layers))
	for i, l := range c.Layers {
		l = l.columns(c.Y)
		p.Layers[i] = l
		for _, d := range l.Data {
			for _, q := range l.positions(d) {
				if q.vertical {
					ys = append(ys, q.at)
				} else {
					xs = append(xs, q.at)
				}
			}
		}
	}
	p.xs, p.ys = c.X.scale(p.Width, xs), c.Y.scale(p.Height, ys)
	p.ys.reverse = !p.ys.reverse // y grows upwards, pixels downwards
	p.xTicks = c.X.ticks(p.xs, int(p.Width/tickRoomX))
	p.yTicks = c.Y.ticks(p.ys, int(max(p.Height/tickRoomY, 2)))
	return p
}

// Of an area without data.
const (
	nothing       = "no data"
	nothingHeight = 60.0
)

// orNothing is a chart that says so where it has no data: axes alone would show ends
// and numbers that nobody measured.
func (c Chart) orNothing() Chart {
	for _, l := range c.Layers {
		if len(l.Data) > 0 {
			return c
		}
	}
	for _, a := range []*Axis{&c.X, &c.Y} {
		if a.Ticks == nil {
			a.Ticks = []Tick{}
		}
	}
	if c.Height <= 0 || c.Height > nothingHeight {
		c.Height = nothingHeight
	}
	at := func(a *Axis) float64 {
		s := a.scale(1, nil)
		a.Min, a.Max = s.min, s.max
		if s.log {
			return math.Sqrt(s.min * s.max)
		}
		return (s.min + s.max) / 2
	}
	c.Layers = []Layer{{Kind: Text, Colour: Plain, Anchor: Middle, Data: []Datum{{X: at(&c.X), Y: at(&c.Y), Text: nothing}}}}
	return c
}

// beside is how far texts reach beyond the right end of the area.
func (p *panel) beside() float64 {
	room := 0.0
	for _, l := range p.Layers {
		if l.Kind != Text || l.Anchor != Start {
			continue
		}
		for _, d := range l.Data {
			room = max(room, p.xs.at(d.X)+l.DX+small(d.Text)-p.Width)
		}
	}
	return room
}

// place stacks the panels below the title.
func (l *laid) place() {
	y := cardPad + lines(l.title, titleSize) + lines(l.note, tickSize)
	for i := range l.panels {
		p := &l.panels[i]
		if y > cardPad {
			y += panelGap * 0.6
		}
		if p.Title != "" {
			y += panelSize * lineHeight
		}
		if p.Y.Title != "" {
			y += tickSize*lineHeight + 2
		}
		p.corner = canvas.Point{X: cardPad + l.left, Y: y}
		y += p.Height
		if len(p.xTicks) > 0 {
			y += tickGap + tickSize
		}
		if p.X.Title != "" {
			y += tickSize*lineHeight + 4
		}
		if i+1 < len(l.panels) {
			y += panelGap * 0.6
		}
	}
	l.h = y
}

// placeLegend puts the names of layers in rows at the foot, unless there is only
// one, which needs no telling apart.
func (l *laid) placeLegend(width float64) {
	x, y := 0.0, 0.0
	for _, p := range l.panels {
		for _, layer := range p.Layers {
			if layer.Name == "" || l.listed(layer.Name) {
				continue
			}
			w := swatch + 6 + small(short(layer.Name)) + 16
			if x > 0 && x+w-16 > width {
				x, y = 0, y+tickSize*1.6
			}
			l.legend = append(l.legend, entry{layer.Name, layer, x, y})
			x += w
		}
	}
	if len(l.legend) < 2 {
		l.legend = nil
		return
	}
	l.legendAt = l.h + 14
	l.h = l.legendAt + y + swatch
}

func (l *laid) listed(name string) bool {
	for _, e := range l.legend {
		if e.name == name {
			return true
		}
	}
	return false
}

func lines(list []string, size float64) float64 { return float64(len(list)) * size * lineHeight }

func short(s string) string { return cells.Short(s, longestName) }

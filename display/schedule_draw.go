package display

import (
	"math"
	"strconv"
	"time"

	"forgekernel/display/internal/canvas"
)

// Measures of a schedule, in CSS pixels.
const (
	scheduleWidth = 760.0
	scheduleLane  = 26.0
	innerInset    = 4.0 // of a bar that stands within another one, above and below
)

// schedulePlot is a schedule, measured and ready to draw.
type schedulePlot struct {
	Schedule
	colour   *palette
	left     float64 // room for the names of lanes
	top      float64
	from, to time.Duration
	legend   []kind
	w, h     float64
}

func (s Schedule) plot() *schedulePlot {
	p := &schedulePlot{Schedule: s, colour: s.Theme.palette(), top: cardPad, legend: s.kinds()}
	p.from, p.to = s.extent()
	for _, lane := range s.Lanes {
		p.left = max(p.left, canvas.Width(short(lane), canvas.Regular, smallSize)+8)
	}
	if s.Title != "" {
		p.top += titleHeight
	}
	p.w = math.Ceil(2*cardPad + p.left + scheduleWidth)
	p.h = math.Ceil(p.top + float64(len(s.Lanes))*(scheduleLane+laneGap) + axisHeight + cardPad)
	if len(p.legend) > 1 {
		p.h += legendHeight
	}
	return p
}

func (p *schedulePlot) svg() string {
	s := canvas.NewSVG(p.w, p.h)
	p.draw(s)
	label := p.Title
	if label == "" {
		label = "work over time"
	}
	return s.Document(oneLine(label))
}

func (p *schedulePlot) png() ([]byte, error) {
	r := canvas.NewRaster(p.w, p.h, min(pngScale, pngSide/p.w, pngSide/p.h))
	p.draw(r)
	return r.PNG()
}

// x is where a time is.
func (p *schedulePlot) x(t time.Duration) float64 {
	return cardPad + p.left + scheduleWidth*float64(t-p.from)/float64(p.to-p.from)
}

func (p *schedulePlot) lane(i int) float64 { return p.top + float64(i)*(scheduleLane+laneGap) }

func (p *schedulePlot) draw(s canvas.Surface) {
	card := p.colour.card
	s.Box(canvas.Box{W: p.w, H: p.h, Radius: 10, Fill: card.fill, Stroke: card.stroke, StrokeWidth: 1})
	if p.Title != "" {
		s.Text(canvas.Text{X: cardPad, Y: cardPad + titleSize - 2, Text: short(p.Title), Font: canvas.Medium, Size: titleSize, Fill: card.text})
	}
	for i, name := range p.Lanes {
		y := p.lane(i)
		s.Box(canvas.Box{X: cardPad + p.left, Y: y, W: scheduleWidth, H: scheduleLane, Fill: p.colour.cluster.fill})
		p.small(s, cardPad+p.left-8-canvas.Width(short(name), canvas.Regular, smallSize), y+scheduleLane/2+3.5, short(name), canvas.Start)
	}
	for _, inner := range []bool{false, true} {
		for _, x := range p.Spans {
			if x.Inner == inner {
				s.Group(x.Tooltip, func() { p.drawSpan(s, x) })
			}
		}
	}
	p.drawAxis(s, p.lane(len(p.Lanes))+10)
	p.drawLegend(s)
}

func (p *schedulePlot) small(s canvas.Surface, x, y float64, text string, anchor canvas.Anchor) {
	s.Text(canvas.Text{X: x, Y: y, Text: text, Font: canvas.Regular, Size: smallSize, Fill: p.colour.faint, Anchor: anchor})
}

func (p *schedulePlot) drawSpan(s canvas.Surface, x Span) {
	t := p.colour.tint(x.Class)
	box := canvas.Box{X: p.x(x.Start), W: p.x(x.End) - p.x(x.Start), Y: p.lane(x.Lane), H: scheduleLane, Radius: 2, Fill: t.fill, Stroke: t.stroke, StrokeWidth: 1}
	if x.Inner {
		box.Y, box.H = box.Y+innerInset, box.H-2*innerInset
	}
	if box.W < 3 {
		box.W, box.Radius, box.StrokeWidth, box.Fill = max(box.W, 0.6), 0, 0, t.stroke
	}
	s.Box(box)
	if label := short(x.Label); canvas.Width(label, canvas.Regular, smallSize)+6 <= box.W {
		s.Text(canvas.Text{X: box.X + box.W/2, Y: box.Y + box.H/2 + 3.5, Text: label, Font: canvas.Regular, Size: smallSize, Fill: t.text, Anchor: canvas.Middle})
	}
}

// drawAxis writes times that are round numbers since the first bar.
func (p *schedulePlot) drawAxis(s canvas.Surface, y float64) {
	step := roundStep(float64(p.to-p.from) / 8)
	unit, name := unitOf(step)
	for t := 0.0; t <= float64(p.to-p.from); t += step {
		text := strconv.FormatFloat(t/unit, 'f', -1, 64)
		if t == 0 {
			text += " " + name
		}
		p.small(s, p.x(p.from+time.Duration(t)), y+3, text, canvas.Middle)
	}
}

// roundStep is the next of 1, 2, 5, 10, … that is no smaller, in nanoseconds.
func roundStep(least float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10(max(least, 1))))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*step >= least {
			return m * step
		}
	}
	return 10 * step
}

// unitOf is the unit in which a step of an axis is best written.
func unitOf(step float64) (float64, string) {
	switch {
	case step >= 1e9:
		return 1e9, "s"
	case step >= 1e6:
		return 1e6, "ms"
	case step >= 1e3:
		return 1e3, "µs"
	}
	return 1, "ns"
}

func (p *schedulePlot) drawLegend(s canvas.Surface) {
	if len(p.legend) < 2 {
		return
	}
	x, y := cardPad+p.left, p.h-cardPad-swatch
	for _, k := range p.legend {
		t, name := p.colour.tint(k.class), short(k.name)
		s.Box(canvas.Box{X: x, Y: y, W: swatch, H: swatch, Radius: 2.5, Fill: t.fill, Stroke: t.stroke, StrokeWidth: 1})
		p.small(s, x+swatch+5, y+swatch-1.5, name, canvas.Start)
		x += swatch + 19 + canvas.Width(name, canvas.Regular, smallSize)
	}
}

package display

import (
	"cmp"
	"fmt"
	"forgekernel/display/internal/cells"
	"image/color"
	"math"
	"slices"

	"forgekernel/display/internal/canvas"
	"forgekernel/display/internal/palette"
)

// Measures of a timeline, in CSS pixels.
const (
	lanesHeight  = 220.0 // of all lanes, shared in proportion to their bytes
	laneLeast    = 16.0
	laneGap      = 4.0
	levelHeight  = 80.0
	levelGap     = 34.0 // between lanes and level: the axis stands there
	plotLeast    = 360.0
	plotMost     = 900.0
	columnMost   = 96.0
	axisHeight   = 18.0
	legendHeight = 22.0
)

// timelinePlot is a timeline, measured and ready to draw.
type timelinePlot struct {
	Timeline
	colour  *palette.Palette
	left    float64 // room for the names of lanes and the numbers of the level
	right   float64 // room for the names of marks
	column  float64 // width of a step
	named   bool    // steps are named, not numbered
	lanes   []canvas.Box
	classes []Class
	w, h    float64
}

func (t Timeline) plot() *timelinePlot {
	p := &timelinePlot{Timeline: t, colour: t.Theme.palette()}
	p.measureColumns()
	width := func(s string) float64 { return canvas.Width(s, canvas.Regular, smallSize) }
	for _, lane := range t.Lanes {
		p.left = max(p.left, width(laneLabel(lane))+8)
	}
	for _, tick := range p.ticks() {
		p.left = max(p.left, width(FormatBytes(tick))+8)
	}
	for _, m := range t.Marks {
		p.right = max(p.right, width(markLabel(m))+8)
	}
	for _, b := range t.Bars {
		if b.Class != "" && !slices.Contains(p.classes, b.Class) {
			p.classes = append(p.classes, b.Class)
		}
	}
	p.placeLanes()
	return p
}

func laneLabel(l Lane) string {
	if l.Bytes == 0 {
		return short(l.Name)
	}
	return short(l.Name) + "  " + FormatBytes(l.Bytes)
}

func markLabel(m Mark) string { return short(m.Label) + " " + FormatBytes(m.Bytes) }

// measureColumns makes steps wide enough for their names if there is room, and
// numbers them if not.
func (p *timelinePlot) measureColumns() {
	steps := float64(max(1, len(p.Steps)))
	widest := 0.0
	for _, s := range p.Steps {
		widest = max(widest, canvas.Width(short(s), canvas.Regular, smallSize)+8)
	}
	p.named = widest*steps <= plotMost && widest <= columnMost
	p.column = min(max(plotLeast/steps, 14), columnMost)
	if p.named {
		p.column = max(p.column, widest)
	}
	p.column = min(p.column, plotMost/steps)
}

func (p *timelinePlot) width() float64 { return p.column * float64(max(1, len(p.Steps))) }

// placeLanes gives lanes heights in proportion to their sizes, but each enough
// to be seen, and computes the size of the picture.
func (p *timelinePlot) placeLanes() {
	var total float64
	for _, l := range p.Lanes {
		total += float64(l.Bytes)
	}
	x, y := cardPad+p.left, cardPad
	if p.Title != "" {
		y += titleHeight
	}
	for _, l := range p.Lanes {
		h := laneLeast * float64(max(1, l.Rows))
		if total > 0 {
			h = max(h, lanesHeight*float64(l.Bytes)/total)
		}
		p.lanes = append(p.lanes, canvas.Box{X: x, Y: y, W: p.width(), H: h})
		y += h + laneGap
	}
	p.h = y + axisHeight + cardPad
	if len(p.Level) > 0 {
		p.h = y + levelGap + levelHeight + cardPad
	}
	if len(p.classes) > 1 {
		p.h += legendHeight
	}
	p.w = x + p.width() + p.right + cardPad
	if p.Title != "" {
		p.w = max(p.w, canvas.Width(short(p.Title), canvas.Medium, titleSize)+2*cardPad)
	}
	p.w, p.h = math.Ceil(p.w), math.Ceil(p.h)
}

func (p *timelinePlot) svg() string {
	s := canvas.NewSVG(p.w, p.h)
	p.draw(s)
	label := p.Title
	if label == "" {
		label = "memory over time"
	}
	return s.Document(cells.OneLine(label))
}

func (p *timelinePlot) png() ([]byte, error) {
	r := canvas.NewRaster(p.w, p.h, min(pngScale, pngSide/p.w, pngSide/p.h))
	p.draw(r)
	return r.PNG()
}

func (p *timelinePlot) draw(s canvas.Surface) {
	card := p.colour.Card
	s.Box(canvas.Box{W: p.w, H: p.h, Radius: 10, Fill: card.Fill, Stroke: card.Stroke, StrokeWidth: 1})
	if p.Title != "" {
		s.Text(canvas.Text{X: cardPad, Y: cardPad + titleSize - 2, Text: short(p.Title), Font: canvas.Medium, Size: titleSize, Fill: card.Text})
	}
	bottom := cardPad
	for i, lane := range p.lanes {
		s.Box(canvas.Box{X: lane.X, Y: lane.Y, W: lane.W, H: lane.H, Fill: p.colour.Cluster.Fill})
		p.small(s, lane.X-8, lane.Y+lane.H/2+3.5, laneLabel(p.Lanes[i]), canvas.Width(laneLabel(p.Lanes[i]), canvas.Regular, smallSize))
		bottom = lane.Y + lane.H
	}
	for _, b := range p.Bars {
		s.Group(b.Tooltip, func() { p.drawBar(s, b) })
	}
	p.drawAxis(s, bottom+12)
	if len(p.Level) > 0 {
		p.drawLevel(s, bottom+laneGap+levelGap)
	}
	p.drawLegend(s)
}

// small writes faint text that ends, or for a width of 0 starts, at x.
func (p *timelinePlot) small(s canvas.Surface, x, y float64, text string, width float64) {
	s.Text(canvas.Text{X: x - width, Y: y, Text: text, Font: canvas.Regular, Size: smallSize, Fill: p.colour.Faint})
}

func (p *timelinePlot) drawBar(s canvas.Surface, b Bar) {
	lane, t := p.lanes[b.Lane], p.colour.Tint(string(b.Class))
	box := canvas.Box{X: lane.X + b.Start*p.column + 0.5, W: (b.End-b.Start)*p.column - 1, Y: lane.Y, H: lane.H, Radius: 3, Fill: t.Fill, Stroke: t.Stroke, StrokeWidth: 1}
	if size := p.Lanes[b.Lane].extent(); size > 0 {
		box.Y += lane.H * float64(b.Offset) / float64(size)
		box.H *= float64(b.Bytes) / float64(size)
	}
	box.W, box.H = max(box.W, 1), max(box.H, 1)
	if box.W < 4 || box.H < 4 {
		box.Radius, box.StrokeWidth = 0, 0
		box.Fill = t.Stroke
	}
	s.Box(box)
	if label := short(b.Label); box.H >= smallSize+2 && canvas.Width(label, canvas.Regular, smallSize)+6 <= box.W {
		s.Text(canvas.Text{X: box.X + box.W/2, Y: box.Y + box.H/2 + 3.5, Text: label, Font: canvas.Regular, Size: smallSize, Fill: t.Text, Anchor: canvas.Middle})
	}
}

// drawAxis names the steps, or numbers as many as have room.
func (p *timelinePlot) drawAxis(s canvas.Surface, y float64) {
	x := cardPad + p.left
	every := 1
	for _, n := range []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000} {
		every = n
		if float64(n)*p.column >= canvas.Width(fmt.Sprint(len(p.Steps)), canvas.Regular, smallSize)+8 {
			break
		}
	}
	for t, name := range p.Steps {
		text := short(name)
		if !p.named {
			if text = fmt.Sprint(t); t%every != 0 {
				continue
			}
		}
		s.Text(canvas.Text{X: x + (float64(t)+0.5)*p.column, Y: y, Text: text, Font: canvas.Regular, Size: smallSize, Fill: p.colour.Faint, Anchor: canvas.Middle})
	}
}

// top is the number of bytes at the upper edge of the level.
func (p *timelinePlot) top() int64 {
	top := int64(1)
	for _, x := range p.Level {
		top = max(top, x)
	}
	for _, m := range p.Marks {
		top = max(top, m.Bytes)
	}
	return top
}

// ticks are round numbers of bytes: a power of two apart, two to four of them.
func (p *timelinePlot) ticks() []int64 {
	top := p.top()
	step := int64(1)
	for step*4 < top {
		step *= 2
	}
	var list []int64
	for at := int64(0); at <= top; at += step {
		list = append(list, at)
	}
	return list
}

func (p *timelinePlot) drawLevel(s canvas.Surface, y float64) {
	x, top := cardPad+p.left, float64(p.top())
	at := func(bytes float64) float64 { return y + levelHeight*(1-bytes/top) }
	for _, tick := range p.ticks() {
		p.line(s, x, at(float64(tick)), p.colour.Cluster.Fill, 1)
		label := FormatBytes(tick)
		p.small(s, x-8, at(float64(tick))+3.5, label, canvas.Width(label, canvas.Regular, smallSize))
	}
	area := []canvas.Point{{X: x, Y: at(0)}}
	for t, bytes := range p.Level {
		left := x + float64(t)*p.column
		area = append(area, canvas.Point{X: left, Y: at(float64(bytes))}, canvas.Point{X: left + p.column, Y: at(float64(bytes))})
	}
	area = append(area, canvas.Point{X: x + float64(len(p.Level))*p.column, Y: at(0)})
	s.Polygon(canvas.Polygon{Points: area, Fill: p.colour.Tint(string(ClassInput)).Fill})
	labelled := math.Inf(-1)
	for _, m := range slices.SortedFunc(slices.Values(p.Marks), func(a, b Mark) int { return int(min(max(b.Bytes-a.Bytes, -1), 1)) }) {
		line := at(float64(m.Bytes))
		p.line(s, x, line, p.colour.Tint(string(ClassTransfer)).Stroke, 1.3)
		labelled = max(line, labelled+smallSize+2) // lines may be close, their names not
		p.small(s, x+p.width()+8, labelled+3.5, markLabel(m), 0)
	}
}

// line is horizontal, over all steps.
func (p *timelinePlot) line(s canvas.Surface, x, y float64, stroke color.NRGBA, width float64) {
	end := canvas.Point{X: x + p.width(), Y: y}
	s.Curve(canvas.Curve{Points: []canvas.Point{{X: x, Y: y}, {X: x, Y: y}, end, end}, Stroke: stroke, Width: width})
}

func (p *timelinePlot) drawLegend(s canvas.Surface) {
	if len(p.classes) < 2 {
		return
	}
	x, y := cardPad+p.left, p.h-cardPad-swatch
	for _, c := range p.classes {
		t := p.colour.Tint(string(c))
		s.Box(canvas.Box{X: x, Y: y, W: swatch, H: swatch, Radius: 2.5, Fill: t.Fill, Stroke: t.Stroke, StrokeWidth: 1})
		name := short(cmp.Or(p.Names[c], string(c)))
		p.small(s, x+swatch+5, y+swatch-1.5, name, 0)
		x += swatch + 19 + canvas.Width(name, canvas.Regular, smallSize)
	}
}

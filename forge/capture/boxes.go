package capture

import (
	"bytes"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"forgekernel/display"
)

// Panel is samples of things to compare, each a row with a box and its samples as
// points, on one axis of time.
type Panel struct {
	Title string
	Rows  []Row
}

// Row is one thing in a panel.
type Row struct {
	Name    string
	Note    string    // at the right of the row
	Samples []float64 // seconds; none for a row of words alone
	Emphasis
}

// Emphasis is how a row stands out.
type Emphasis int

// Emphases.
const (
	Plain Emphasis = iota
	Picked
	Near   // as good as the picked one
	Failed // not measured
)

// emphases are the colours of rows.
var emphases = map[Emphasis]color.NRGBA{
	Plain: {0x8a, 0x92, 0x9b, 0xff}, Picked: {0x00, 0x9e, 0x73, 0xff}, Near: {0x00, 0x72, 0xb2, 0xff}, Failed: {0xb3, 0x26, 0x1e, 0xff},
}

// Measures of panels, in points.
const (
	stripHeight = 15 * vg.Length(1)
	panelHead   = 46 * vg.Length(1) // title and axis
	panelGap    = 12 * vg.Length(1)
	noteWidth   = 112 * vg.Length(1)
	panelWidth  = 624 * vg.Length(1)
)

// reach is the multiple of the quickest sample up to which a panel shows times: one
// candidate that is ten times slower would squeeze all others into a corner. Rows
// beyond end at the right edge.
const reach = 1.6

// strip is a row of a panel.
type strip struct {
	row
	Emphasis
	note string
}

// Plot draws the samples, the box around them and the note.
func (s *strip) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	middle := y(s.at)
	if s.Emphasis == Picked {
		half := stripHeight * 0.5
		shade := s.colour
		shade.A = 0x1c
		c.FillPolygon(shade, []vg.Point{{X: c.Min.X, Y: middle - half}, {X: c.Max.X, Y: middle - half}, {X: c.Max.X, Y: middle + half}, {X: c.Min.X, Y: middle + half}})
	}
	dot := s.colour
	dot.A = 0x70
	for i, t := range s.samples {
		at := vg.Point{X: x(t), Y: middle + stripHeight*vg.Length(0.1*float64(i%5-2))}
		if at.X <= c.Max.X {
			c.DrawGlyph(draw.GlyphStyle{Color: dot, Radius: 1.1, Shape: draw.CircleGlyph{}}, at)
		}
	}
	if len(s.samples) > 0 {
		s.row.Plot(c, p)
	}
	style := p.Y.Tick.Label
	style.Color, style.XAlign, style.YAlign = s.colour, text.XLeft, text.YCenter
	c.FillText(style, vg.Point{X: c.Max.X + 6, Y: middle}, s.note)
}

// panels are plots below one another, their areas of data aligned.
type panels struct {
	plots  []*plot.Plot
	heads  []vg.Length
	height vg.Length
	title  string
}

// Panels draws panels below one another, as a picture and, in its plain form, the
// given text.
func Panels(title, plain string, list []Panel) (display.Bundle, error) {
	all := &panels{title: title, height: 2 * margin}
	for _, p := range list {
		all.add(p)
	}
	image := vgimg.NewWith(vgimg.UseWH(panelWidth, all.height), vgimg.UseDPI(192))
	all.draw(image)
	var raw bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: image}).WriteTo(&raw); err != nil {
		return display.Bundle{}, err
	}
	vector := newSVG(panelWidth, all.height, title)
	all.draw(vector)
	return display.Bundle{
		Data:     map[string]any{"image/svg+xml": vector.document(), "image/png": raw.Bytes(), "text/plain": plain},
		Metadata: map[string]any{"image/png": map[string]any{"width": int(panelWidth / pixel), "height": int(all.height / pixel)}},
	}, nil
}

// add makes the plot of a panel.
func (all *panels) add(panel Panel) {
	low, high := 0.0, 0.0
	for _, r := range panel.Rows {
		if len(r.Samples) > 0 {
			sorted := slices.Sorted(slices.Values(r.Samples))
			if low == 0 || sorted[0] < low {
				low = sorted[0]
			}
			high = max(high, quantile(sorted, 0.95))
		}
	}
	high = min(high, low*reach)
	u := unitFor(low)
	p := newPlot()
	p.Title.Text = panel.Title
	names := make([]plot.Tick, len(panel.Rows))
	for i, r := range panel.Rows {
		s := &strip{row: row{name: r.Name, colour: emphases[r.Emphasis], samples: r.Samples}, Emphasis: r.Emphasis, note: r.Note}
		if len(r.Samples) > 0 {
			s.quantiles = (&Series{Wall: r.Samples}).quantiles()
		}
		s.scale(u.seconds, float64(len(panel.Rows)-1-i))
		names[i] = plot.Tick{Value: s.at, Label: r.Name}
		p.Add(s)
	}
	p.Y.Tick.Marker = plot.ConstantTicks(names)
	p.Y.Min, p.Y.Max = -0.6, float64(len(panel.Rows))-0.4
	p.X.Label.Text = "time per run (" + u.name + ")"
	setTime(p, low/u.seconds, high/u.seconds)
	if high == 0 {
		p.HideX()
	}
	height := stripHeight*vg.Length(len(panel.Rows)) + panelHead
	all.plots, all.heads = append(all.plots, p), append(all.heads, height)
	all.height += height
	if len(all.plots) > 1 {
		all.height += panelGap
	}
}

func (all *panels) draw(c vg.Canvas) {
	canvas := draw.NewCanvas(c, panelWidth, all.height)
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	inner := draw.Crop(canvas, margin, -margin-noteWidth, margin, -margin)
	areas := make([]draw.Canvas, len(all.plots))
	top, left := inner.Max.Y, inner.Min.X
	for i, p := range all.plots {
		areas[i] = inner
		areas[i].Max.Y, areas[i].Min.Y = top, top-all.heads[i]
		top -= all.heads[i] + panelGap
		left = max(left, p.DataCanvas(areas[i]).Min.X)
	}
	for i, p := range all.plots {
		data := p.DataCanvas(areas[i])
		areas[i].Min.X += left - data.Min.X
		areas[i].Max.X += inner.Max.X - data.Max.X
		p.Draw(areas[i])
	}
}

package capture

import (
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// quantiles are those of 5, 25, 50, 75 and 95 %.
func (s *Series) quantiles() (q [5]float64) {
	sorted := slices.Sorted(slices.Values(s.Wall))
	for i, p := range []float64{0.05, 0.25, 0.5, 0.75, 0.95} {
		q[i] = quantile(sorted, p)
	}
	return q
}

// span is the least and the largest time shown, which is the largest quantile of
// 95 %: the few samples beyond, when something else had the machine, would
// squeeze all others into a corner.
func (w *Workload) span() (low, high float64) {
	low = math.Inf(1)
	for _, s := range w.Series {
		if s.Summary != nil {
			sorted := slices.Sorted(slices.Values(s.Wall))
			low, high = min(low, sorted[0]), max(high, quantile(sorted, 0.95))
		}
	}
	return low, high
}

// Measures of a plot, in points; a CSS pixel is three quarters of one.
const (
	pixel      = vg.Length(0.75)
	plotWidth  = 520 * vg.Length(1)
	rowHeight  = 22 * vg.Length(1)
	ecdfHeight = 190 * vg.Length(1)
	margin     = 12 * vg.Length(1)
)

// colours are those of Okabe and Ito, which the colour-blind tell apart.
var colours = []color.NRGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
	{0x56, 0xb4, 0xe9, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x50, 0x50, 0x50, 0xff},
}

var ink, faint = color.NRGBA{0x1f, 0x23, 0x28, 0xff}, color.NRGBA{0xd8, 0xde, 0xe4, 0xff}

// distributionPlot is a row of boxes, which name the series, over their
// empirical distribution functions, on one axis of time.
type distributionPlot struct {
	boxes, ecdf   *plot.Plot
	width, height vg.Length
	head          vg.Length // of the boxes
	name          string
}

// distribution plots at least one series with samples.
func (w *Workload) distribution() *distributionPlot {
	low, high := w.span()
	u := unitFor(high)
	d := &distributionPlot{boxes: newPlot(), ecdf: newPlot(), width: plotWidth, name: w.Name}
	d.boxes.Title.Text = w.Name
	d.ecdf.X.Label.Text = "time per run (" + u.name + "), up to the 95 % quantile"
	d.ecdf.Y.Label.Text = "share of samples"
	var rows []*row
	for i, s := range w.Series {
		if s.Summary != nil {
			rows = append(rows, &row{quantiles: s.quantiles(), samples: s.Wall, name: s.Label.String(), colour: colours[i%len(colours)]})
		}
	}
	names := make([]plot.Tick, len(rows))
	for i, r := range rows {
		r.scale(u.seconds, float64(len(rows)-1-i))
		names[i] = plot.Tick{Value: r.at, Label: r.name}
		d.boxes.Add(r)
		d.ecdf.Add(r.steps())
	}
	d.boxes.Y.Tick.Marker = plot.ConstantTicks(names)
	d.boxes.Y.Min, d.boxes.Y.Max = -0.6, float64(len(rows))-0.4
	d.ecdf.Y.Min, d.ecdf.Y.Max = 0, 1
	for _, p := range []*plot.Plot{d.boxes, d.ecdf} {
		setTime(p, low/u.seconds, high/u.seconds)
	}
	d.boxes.X.Tick.Marker = plot.ConstantTicks(nil)
	d.boxes.X.LineStyle.Width = 0
	d.head = rowHeight*vg.Length(len(rows)) + 34
	d.height = d.head + ecdfHeight + 2*margin
	return d
}

// setTime sets the axis of time of a plot.
func setTime(p *plot.Plot, low, high float64) {
	if high > wide*low {
		p.X.Scale = plot.LogScale{}
		p.X.Tick.Marker = plot.TickerFunc(decades)
		p.X.Min, p.X.Max = low/1.1, high*1.1
		return
	}
	pad := max((high-low)*0.04, high*1e-3)
	p.X.Min, p.X.Max = max(low-pad, 0), high+pad
}

// decades marks the multiples of powers of ten and labels 1, 2 and 5 of each:
// the library labels the powers alone, of which an axis may hold only one.
func decades(low, high float64) (ticks []plot.Tick) {
	for e := math.Floor(math.Log10(low)); e <= math.Log10(high); e++ {
		for _, m := range []float64{1, 2, 3, 4, 5, 6, 7, 8, 9} {
			tick := plot.Tick{Value: m * math.Pow(10, e)}
			if m == 1 || m == 2 || m == 5 {
				tick.Label = strconv.FormatFloat(tick.Value, 'g', 4, 64)
			}
			if low <= tick.Value && tick.Value <= high {
				ticks = append(ticks, tick)
			}
		}
	}
	return ticks
}

// newPlot is an empty plot in the project's style.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.White
	style := func(s *text.Style, size vg.Length) {
		s.Font = font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
		s.Color = ink
	}
	style(&p.Title.TextStyle, 11)
	p.Title.Padding = 6
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		style(&axis.Label.TextStyle, 9)
		style(&axis.Tick.Label, 8)
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = ink, ink
		axis.LineStyle.Width, axis.Tick.LineStyle.Width = 0.6, 0.6
		axis.Tick.Length = 3
		axis.Label.Padding = 4
	}
	p.X.Padding, p.Y.Padding = 2, 4
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint, faint
	grid.Vertical.Width, grid.Horizontal.Width = 0.5, 0.5
	p.Add(grid)
	return p
}

// row is one series: a box in the upper plot, steps in the lower.
type row struct {
	name      string
	colour    color.NRGBA
	quantiles [5]float64
	samples   []float64
	at        float64 // on the axis of boxes
}

// scale converts seconds to a unit and gives the row its place.
func (r *row) scale(unit, at float64) {
	r.at = at
	for i := range r.quantiles {
		r.quantiles[i] /= unit
	}
	r.samples = slices.Sorted(slices.Values(r.samples))
	for i := range r.samples {
		r.samples[i] /= unit
	}
}

// Plot draws the box. It implements [plot.Plotter].
func (r *row) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	middle, half := y(r.at), rowHeight*0.3
	line := draw.LineStyle{Color: r.colour, Width: 1.1}
	var q [5]vg.Length
	for i := range q {
		q[i] = min(max(x(r.quantiles[i]), c.Min.X), c.Max.X)
	}
	fill := r.colour
	fill.A = 0x38
	c.FillPolygon(fill, []vg.Point{{X: q[1], Y: middle - half}, {X: q[3], Y: middle - half}, {X: q[3], Y: middle + half}, {X: q[1], Y: middle + half}})
	c.StrokeLines(line, []vg.Point{{X: q[1], Y: middle - half}, {X: q[3], Y: middle - half}, {X: q[3], Y: middle + half}, {X: q[1], Y: middle + half}, {X: q[1], Y: middle - half}})
	for _, end := range [][2]vg.Length{{q[0], q[1]}, {q[4], q[3]}} {
		c.StrokeLine2(line, end[0], middle, end[1], middle)
		c.StrokeLine2(line, end[0], middle-half/2, end[0], middle+half/2)
	}
	line.Width = 2.2
	c.StrokeLine2(line, q[2], middle-half, q[2], middle+half)
}

// steps is the empirical distribution function.
func (r *row) steps() *plotter.Line {
	points := plotter.XYs{{X: r.samples[0], Y: 0}}
	for i, x := range r.samples {
		points = append(points, plotter.XY{X: x, Y: float64(i+1) / float64(len(r.samples))})
	}
	return &plotter.Line{XYs: points, StepStyle: plotter.PostStep, LineStyle: draw.LineStyle{Color: r.colour, Width: 1.4}}
}

// paint draws both plots, their areas of data one above the other.
func (d *distributionPlot) paint(all draw.Canvas) {
	inner := draw.Crop(all, margin, -margin, margin, -margin)
	share := inner.Max.Y - d.head
	upper, lower := inner, inner
	upper.Min.Y, lower.Max.Y = share, share
	// The widths of the labels at the left differ: shift the narrower ones.
	shift := d.boxes.DataCanvas(upper).Min.X - d.ecdf.DataCanvas(lower).Min.X
	if shift > 0 {
		lower.Min.X += shift
	} else {
		upper.Min.X -= shift
	}
	end := min(d.boxes.DataCanvas(upper).Max.X, d.ecdf.DataCanvas(lower).Max.X)
	upper.Max.X -= d.boxes.DataCanvas(upper).Max.X - end
	lower.Max.X -= d.ecdf.DataCanvas(lower).Max.X - end
	d.boxes.Draw(upper)
	d.ecdf.Draw(lower)
}

func (d *distributionPlot) size() (w, h vg.Length) { return d.width, d.height }

func (d *distributionPlot) title() string { return "Distribution of samples of " + d.name }

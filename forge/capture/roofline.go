package capture

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// rooflinePlot shows every candidate by the work that its program does for each byte
// it has to move, and the work that it does each second. The roof over them is what
// one core of the machine does at most: it rises with the rate of memory up to the
// rate of arithmetic. Small programs whose data stays in the caches may pierce its
// slope, never its top, unless they have several threads: a dashed line is the top
// of as many cores.
type rooflinePlot struct {
	plot   *plot.Plot
	legend plot.Legend
}

// Measures of a roofline, in points.
const (
	rooflineHeight = 300 * vg.Length(1)
	legendWidth    = 165 * vg.Length(1)
)

// roofline plots all workloads; nil if the limits were not measured or nothing ran.
func (r *Report) roofline() *rooflinePlot {
	limits := r.capture.Environment.Limits
	if limits == nil || limits.FLOPs == 0 {
		return nil
	}
	p := &rooflinePlot{plot: newPlot(), legend: plot.NewLegend()}
	p.legend.TextStyle.Font, p.legend.TextStyle.Color = p.plot.X.Tick.Label.Font, ink
	p.legend.Top, p.legend.Left = true, true
	p.legend.Padding, p.legend.ThumbnailWidth = 3, 14
	// The library places the name of a logarithmic axis of y wrongly.
	p.plot.Title.Text = "GFLOP/s of the median run, under the roof of one core"
	p.plot.X.Label.Text = "FLOP per byte moved at least"
	points := r.rates()
	if len(points) == 0 {
		return nil
	}
	p.frame(limits, points)
	p.roof(limits)
	p.severalCores(limits, points)
	p.add(labels(r.capture.Workloads), points)
	p.number(r.capture.Workloads)
	return p
}

// rate is where a candidate stands on a workload.
type rate struct {
	label    Label
	workload int
	plotter.XY
}

// rates are those of all candidates that were timed.
func (r *Report) rates() (list []rate) {
	for i, w := range r.capture.Workloads {
		for _, s := range w.Series {
			if s.Summary != nil && w.FLOPs > 0 && w.Bytes > 0 {
				list = append(list, rate{s.Label, i, plotter.XY{X: w.intensity(), Y: float64(w.FLOPs) / s.Summary.Median / 1e9}})
			}
		}
	}
	return list
}

// intensity is the work for each byte that the program has to move.
func (w *Workload) intensity() float64 { return float64(w.FLOPs) / float64(w.Bytes) }

// frame sets logarithmic axes that hold all points and the top of the roof.
func (p *rooflinePlot) frame(limits *Limits, points []rate) {
	x, y := &p.plot.X, &p.plot.Y
	x.Min, x.Max, y.Min, y.Max = math.Inf(1), 0, math.Inf(1), limits.FLOPs/1e9
	for _, q := range points {
		x.Min, x.Max = min(x.Min, q.X), max(x.Max, q.X)
		y.Min, y.Max = min(y.Min, q.Y), max(y.Max, q.Y)
	}
	if limits.Bytes > 0 {
		ridge := limits.FLOPs / limits.Bytes
		x.Min, x.Max = min(x.Min, ridge/4), max(x.Max, ridge*4)
	}
	x.Min, x.Max, y.Min, y.Max = x.Min/2, x.Max*2, y.Min/3, y.Max*1.6
	for _, axis := range []*plot.Axis{x, y} {
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.TickerFunc(decades)
	}
}

// roof draws what the machine does at most.
func (p *rooflinePlot) roof(limits *Limits) {
	top := limits.FLOPs / 1e9
	from := p.plot.X.Min
	line := plotter.XYs{{X: p.plot.X.Max, Y: top}, {X: from, Y: top}}
	if limits.Bytes > 0 {
		slope := limits.Bytes / 1e9
		from = min(max(top/slope, p.plot.X.Min), p.plot.X.Max)
		start := max(p.plot.X.Min, p.plot.Y.Min/slope)
		line[1] = plotter.XY{X: from, Y: min(top, from*slope)}
		line = append(line, plotter.XY{X: start, Y: start * slope})
	}
	roof := &plotter.Line{XYs: line, LineStyle: draw.LineStyle{Color: ink, Width: 1.2}}
	p.plot.Add(roof)
	text := significant(top) + " GFLOP/s"
	if limits.Bytes > 0 {
		text += ", " + significant(limits.Bytes/1e9) + " GB/s"
	}
	p.legend.Add(text, roof)
}

// severalCores draws the top for the most threads that anything has.
func (p *rooflinePlot) severalCores(limits *Limits, points []rate) {
	threads := 1
	for _, q := range points {
		threads = max(threads, q.label.Threads)
	}
	if threads == 1 {
		return
	}
	top := limits.FLOPs / 1e9 * float64(threads)
	line := &plotter.Line{XYs: plotter.XYs{{X: p.plot.X.Min, Y: top}, {X: p.plot.X.Max, Y: top}}}
	line.LineStyle = draw.LineStyle{Color: ink, Width: 0.8, Dashes: []vg.Length{4, 3}}
	p.plot.Add(line)
	p.legend.Add(fmt.Sprintf("%d times as much", threads), line)
	p.plot.Y.Max = max(p.plot.Y.Max, top*1.3)
}

// add draws the points of all candidates, the first ones on top of the others.
func (p *rooflinePlot) add(list []Label, points []rate) {
	var layers []plot.Plotter
	for i, l := range list {
		dots := &plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: colours[i%len(colours)], Radius: 3, Shape: draw.CircleGlyph{}}}
		switch l.Variant {
		case Written:
			dots.Shape = draw.RingGlyph{}
		case Peer:
			dots.Shape, dots.Radius = draw.BoxGlyph{}, 2.2
		}
		for _, q := range points {
			if q.label == l {
				dots.XYs = append(dots.XYs, q.XY)
			}
		}
		if len(dots.XYs) > 0 {
			layers = append(layers, dots)
			p.legend.Add(shortName(l, list), dots)
		}
	}
	slices.Reverse(layers)
	p.plot.Add(layers...)
}

// shortName is a label, without the number of threads where all have one.
func shortName(l Label, list []Label) string {
	if slices.ContainsFunc(list, func(l Label) bool { return l.Threads != 1 }) {
		return l.String()
	}
	return strings.TrimSuffix(l.String(), ", 1 thread")
}

// number marks each workload on a line at the bottom, those of nearly the same
// intensity one above the other, and lists them.
func (p *rooflinePlot) number(workloads []Workload) {
	const near, step = 1.12, 1.45 // ratios on the axes
	marks := &plotter.Labels{}
	style := p.plot.X.Tick.Label
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	var placed []plotter.XY
	for i, w := range workloads {
		if w.FLOPs == 0 || w.Bytes == 0 || !w.timed() {
			continue
		}
		at := plotter.XY{X: w.intensity(), Y: p.plot.Y.Min * 1.25}
		for slices.ContainsFunc(placed, func(q plotter.XY) bool {
			return math.Abs(math.Log(q.X/at.X)) < math.Log(near) && math.Abs(math.Log(q.Y/at.Y)) < math.Log(step)/2
		}) {
			at.Y *= step
		}
		placed = append(placed, at)
		marks.XYs, marks.Labels = append(marks.XYs, at), append(marks.Labels, fmt.Sprint(i+1))
		marks.TextStyle = append(marks.TextStyle, style)
		p.legend.Add(fmt.Sprintf("%d  %s", i+1, w.Name))
	}
	p.plot.Add(marks)
}

func (p *rooflinePlot) size() (w, h vg.Length) {
	return plotWidth + legendWidth, rooflineHeight
}

func (p *rooflinePlot) title() string { return "Roofline of one core" }

// paint draws the plot with the legend at its right.
func (p *rooflinePlot) paint(all draw.Canvas) {
	inner := draw.Crop(all, margin, -margin, margin, -margin)
	p.plot.Draw(draw.Crop(inner, 0, -legendWidth, 0, 0))
	p.legend.Draw(draw.Crop(inner, plotWidth-2*margin+6, 0, 0, -20))
}

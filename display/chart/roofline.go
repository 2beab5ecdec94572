package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"forgekernel/display"
)

// Roof is what a machine, or a part of it, does at most. A roof without FLOPs is not
// drawn; one without Bytes has no slope.
type Roof struct {
	Name  string  // "one core"
	FLOPs float64 // per second
	Bytes float64 // per second, from memory
}

// Work is something that ran: the work of one run, the bytes that it has to move at
// least, and the time of the run.
type Work struct {
	Name    string
	Series  string // works of one series have one colour and stand in the legend
	FLOPs   float64
	Bytes   float64
	Seconds float64
}

// Intensity is the work for each byte.
func (w Work) Intensity() float64 { return w.FLOPs / w.Bytes }

// Rate is the work for each second.
func (w Work) Rate() float64 { return w.FLOPs / w.Seconds }

// Limit is the rate under the roof at an intensity.
func (r Roof) Limit(intensity float64) float64 {
	if r.Bytes > 0 {
		return min(r.FLOPs, r.Bytes*intensity)
	}
	return r.FLOPs
}

// Roofline shows works by their intensity and their rate. The roof over them is what
// the machine does at most: it rises with the rate of memory up to the rate of
// arithmetic. What fits into the caches may pierce the slope, never the top. The first
// roof is drawn solid, others dashed. Works without arithmetic or traffic have no place.
func Roofline(title string, roofs []Roof, works []Work) Figure {
	c := Chart{X: Axis{Title: "FLOP for each byte that has to move", Log: true}, Y: Axis{Title: "FLOP/s", Log: true}, Width: 560, Height: 300}
	var placed []Work
	for _, w := range works {
		if positive(w.Intensity()) && positive(w.Rate()) {
			placed = append(placed, w)
		}
	}
	roofs = slices.DeleteFunc(slices.Clone(roofs), func(r Roof) bool { return !positive(r.FLOPs) || r.Bytes != 0 && !positive(r.Bytes) })
	c.frame(roofs, placed)
	labels := Layer{Kind: Text, Colour: Ink, Anchor: End, DX: -4, DY: -8}
	for i, r := range roofs {
		c.roof(r, i > 0)
		labels.Data = c.label(labels.Data, r)
	}
	c.Layers = append(c.Layers, labels)
	note := c.works(roofs, placed)
	return Figure{Title: title, Note: note, Panels: []Chart{c}, Text: rooflineText(title, roofs, placed)}
}

// positive reports whether x has a place on a logarithmic axis.
func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// frame sets axes that hold all works and the bends of the roofs.
func (c *Chart) frame(roofs []Roof, works []Work) {
	x, y := &c.X, &c.Y
	x.Min, x.Max, y.Min, y.Max = math.Inf(1), 0, math.Inf(1), 0
	for _, w := range works {
		x.Min, x.Max = min(x.Min, w.Intensity()), max(x.Max, w.Intensity())
		y.Min, y.Max = min(y.Min, w.Rate()), max(y.Max, w.Rate())
	}
	for _, r := range roofs {
		y.Min, y.Max = min(y.Min, r.FLOPs), max(y.Max, r.FLOPs)
		if r.Bytes > 0 {
			bend := r.FLOPs / r.Bytes
			x.Min, x.Max = min(x.Min, bend/4), max(x.Max, bend*4)
		}
	}
	if x.Max == 0 {
		x.Min, x.Max = 1, 10
	}
	if y.Max == 0 {
		y.Min, y.Max = 1, 10
	}
	x.Min, x.Max, y.Min, y.Max = x.Min/2, x.Max*2, y.Min/3, y.Max*2
}

// roof draws the slope and the top.
func (c *Chart) roof(r Roof, dashed bool) {
	line := []Datum{{X: c.X.Min, Y: r.Limit(c.X.Min)}, {X: c.X.Max, Y: r.FLOPs}}
	if r.Bytes > 0 {
		bend := min(max(r.FLOPs/r.Bytes, c.X.Min), c.X.Max)
		line = []Datum{line[0], {X: bend, Y: r.Limit(bend)}, line[1]}
	}
	c.Layers = append(c.Layers, Layer{Kind: Line, Colour: Ink, Width: 1.4, Dashed: dashed, Data: line})
}

// label adds the name and the rates of a roof at the right end of its top, beside those
// of another one that is as high.
func (c *Chart) label(labels []Datum, r Roof) []Datum {
	text := Number.Format(r.FLOPs) + "FLOP/s"
	if r.Bytes > 0 {
		text += ", " + Number.Format(r.Bytes) + "B/s"
	}
	if r.Name != "" {
		text = r.Name + ": " + text
	}
	ys := c.Y.scale(c.Height, nil)
	for i, other := range labels {
		if math.Abs(ys.at(other.Y)-ys.at(r.FLOPs)) < tickSize {
			labels[i].Text = text + "; " + other.Text
			return labels
		}
	}
	return append(labels, Datum{X: math.Inf(1), Y: r.FLOPs, Text: text})
}

// namedWorks is how many works have their names beside them; of more, each name has a
// number at the foot of the chart.
const namedWorks = 12

// works draws the points, and returns what the numbers at the foot mean.
func (c *Chart) works(roofs []Roof, works []Work) (note string) {
	layer := make(map[string]int)
	for _, w := range works {
		i, known := layer[w.Series]
		if !known {
			i = len(c.Layers)
			layer[w.Series] = i
			c.Layers = append(c.Layers, Layer{Kind: Point, Name: w.Series, Colour: Series(len(layer) - 1), Width: 8})
		}
		tip := fmt.Sprintf("%s\n%sFLOP/s at %s FLOP per byte\n%s per run", w.Name, Number.Format(w.Rate()), Number.Format(w.Intensity()), Seconds.Format(w.Seconds))
		if share := shareOf(roofs, w); share != "" {
			tip += "\n" + share + " of the roof"
		}
		c.Layers[i].Data = append(c.Layers[i].Data, Datum{X: w.Intensity(), Y: w.Rate(), Tip: tip})
	}
	if len(works) > namedWorks {
		labels, note := c.numbers(works)
		c.Layers = append(c.Layers, labels)
		return note
	}
	c.Layers = append(c.Layers, c.names(roofs, works)...)
	return ""
}

// numbers stand at the foot, below the points of a name.
func (c *Chart) numbers(works []Work) (l Layer, note string) {
	l = Layer{Kind: Text, Colour: Plain, Anchor: Middle}
	number := make(map[string]int)
	foot := c.Y.Min * math.Pow(c.Y.Max/c.Y.Min, 0.3) // moved down to its place
	var list []string
	p := c.placer(nil)
	for _, w := range works {
		if number[w.Name] != 0 {
			continue
		}
		list = append(list, fmt.Sprintf("%d\u00a0%s", len(list)+1, w.Name))
		number[w.Name] = len(list)
		d := Datum{X: w.Intensity(), Y: foot, Text: fmt.Sprint(len(list)), Tip: w.Name}
		l.Data = append(l.Data, p.lower(d, Middle))
	}
	return l, strings.Join(list, ", ")
}

// shareOf is how much of the first roof a work reaches.
func shareOf(roofs []Roof, w Work) string {
	if len(roofs) == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*w.Rate()/roofs[0].Limit(w.Intensity()))
}

func rooflineText(title string, roofs []Roof, works []Work) string {
	t := display.Table{Title: title, Columns: []display.Column{
		{Name: "kernel"}, {Name: "FLOP per byte"}, {Name: "", Unit: "GFLOP/s"}, {Name: "", Unit: "GB/s"}, {Name: "of the roof", Align: display.AlignRight},
	}}
	for _, r := range roofs {
		row := []any{"roof " + r.Name, nil, r.FLOPs / 1e9, nil, ""}
		if r.Bytes > 0 {
			row[1], row[3] = r.FLOPs/r.Bytes, r.Bytes/1e9
		}
		t.Rows = append(t.Rows, row)
	}
	for _, w := range works {
		name := w.Name
		if w.Series != "" {
			name += ", " + w.Series
		}
		t.Rows = append(t.Rows, []any{name, w.Intensity(), w.Rate() / 1e9, w.Bytes / w.Seconds / 1e9, shareOf(roofs, w)})
	}
	return t.Text()
}

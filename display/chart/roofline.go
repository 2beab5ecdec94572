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
	Name   string  // "one core"
	FLOPs  float64 // per second
	Bytes  float64 // per second, from memory
	Caches []Cache // the nearest first
}

// Cache is a memory that is nearer and quicker than that of the roof.
type Cache struct {
	Name  string  // "L2"
	Size  float64 // in bytes
	Bytes float64 // per second; 0 if that is not known
}

// Work is something that ran: the work of one run, the bytes that it has to move at
// least, and the time of the run.
type Work struct {
	Name    string
	Series  string // works of one series have one colour and stand in the legend
	FLOPs   float64
	Bytes   float64
	Seconds float64
	Roof    int // the number of the roof that is over it
}

// Intensity is the work for each byte.
func (w Work) Intensity() float64 { return w.FLOPs / w.Bytes }

// Rate is the work for each second.
func (w Work) Rate() float64 { return w.FLOPs / w.Seconds }

// Limit is the rate under the roof at an intensity, for data in memory.
func (r Roof) Limit(intensity float64) float64 {
	if r.Bytes > 0 {
		return min(r.FLOPs, r.Bytes*intensity)
	}
	return r.FLOPs
}

// Level is the rate at which data of a size come at most, and from where: the nearest
// cache that holds them all, or "memory". Where the rate of that cache is not known it is
// the rate of memory, which the cache may exceed.
func (r Roof) Level(bytes float64) (rate float64, name string) {
	for _, c := range r.Caches {
		if bytes > c.Size {
			continue
		}
		if c.Bytes > 0 {
			return c.Bytes, c.Name
		}
		return r.Bytes, "memory (" + c.Name + " holds it)"
	}
	return r.Bytes, "memory"
}

// Over is the rate of a work under the roof, and what it is that limits it: "arithmetic",
// or the level that holds its data. No work is above it by more than noise, but for data
// that are a little larger than a cache, or in one whose rate is not known.
func (r Roof) Over(w Work) (limit float64, by string) {
	rate, level := r.Level(w.Bytes)
	if limit = rate * w.Intensity(); rate > 0 && limit < r.FLOPs {
		return limit, level
	}
	return r.FLOPs, "arithmetic"
}

// Times is the roof of n of the same, which do at most n times as much.
func (r Roof) Times(n int, name string) Roof {
	x := float64(n)
	r.Name, r.FLOPs, r.Bytes, r.Caches = name, x*r.FLOPs, x*r.Bytes, slices.Clone(r.Caches)
	for i := range r.Caches {
		r.Caches[i].Size *= x
		r.Caches[i].Bytes *= x
	}
	return r
}

// Roofline shows works by their intensity and their rate. The roof over them is what
// the machine does at most: it rises with the rate of memory up to the rate of
// arithmetic, and with the rates of caches, which are thin lines, for what fits into them.
// The first roof is drawn solid, others dashed. Works without arithmetic or traffic have
// no place.
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
	room := c.room(placed)
	labels := Layer{Kind: Text, Colour: Ink, Anchor: End, DX: -4, DY: -8}
	for i, r := range roofs {
		c.roof(r, i > 0, room)
		labels.Data = c.label(labels.Data, r)
	}
	c.Layers = append(c.Layers, labels)
	for _, d := range labels.Data {
		room.taken(room.xs.length-4-small(d.Text), room.ys.at(d.Y)-8, small(d.Text))
	}
	notes := []string{cacheNote(roofs), c.works(roofs, placed, room)}
	note := strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), "; ")
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

// roof draws the slope and the top, and the slopes of caches.
func (c *Chart) roof(r Roof, dashed bool, room *room) {
	if !dashed {
		c.slopes(r, room)
	}
	line := []Datum{{X: c.X.Min, Y: r.Limit(c.X.Min)}, {X: c.X.Max, Y: r.FLOPs}}
	if r.Bytes > 0 {
		bend := min(max(r.FLOPs/r.Bytes, c.X.Min), c.X.Max)
		line = []Datum{line[0], {X: bend, Y: r.Limit(bend)}, line[1]}
	}
	c.Layers = append(c.Layers, Layer{Kind: Line, Colour: Ink, Width: 1.4, Dashed: dashed, Data: line})
	room.line(line, onLine)
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
			labels[i].Text = other.Text + "; " + text
			return labels
		}
	}
	return append(labels, Datum{X: math.Inf(1), Y: r.FLOPs, Text: text})
}

// slopes draws the rates of caches up to the top of their roof, as far as they are to be
// seen, with their names.
func (c *Chart) slopes(r Roof, room *room) {
	names := Layer{Kind: Text, Colour: Plain}
	for _, cache := range r.Caches {
		if !positive(cache.Bytes) {
			continue
		}
		from, to := max(c.X.Min, c.Y.Min/cache.Bytes), min(c.X.Max, r.FLOPs/cache.Bytes)
		if from >= to {
			continue
		}
		line := []Datum{{X: from, Y: from * cache.Bytes}, {X: to, Y: to * cache.Bytes}}
		c.Layers = append(c.Layers, Layer{Kind: Line, Colour: Plain, Width: 0.9, Data: line})
		room.line(line, onThinLine)
		name := room.above(line[1], cache.Name)
		name.Tip = cache.text()
		names.Data = append(names.Data, name)
	}
	c.Layers = append(c.Layers, names)
}

// text is "L2 of 1 MiB: 70 GB/s".
func (c Cache) text() string {
	return fmt.Sprintf("%s of %s: %sB/s", c.Name, Bytes.Format(c.Size), Number.Format(c.Bytes))
}

// cacheNote says what the thin lines are.
func cacheNote(roofs []Roof) string {
	if len(roofs) == 0 {
		return ""
	}
	var list []string
	for _, c := range roofs[0].Caches {
		if positive(c.Bytes) {
			list = append(list, c.text())
		}
	}
	return strings.Join(list, ", ")
}

// namedWorks is how many works have their names beside them; of more, each name has a
// number at the foot of the chart.
const namedWorks = 12

// works draws the points, and returns what the numbers at the foot mean.
func (c *Chart) works(roofs []Roof, works []Work, room *room) (note string) {
	layer := make(map[string]int)
	labels := Layer{Kind: Text, Colour: Ink}
	for _, w := range works {
		i, known := layer[w.Series]
		if !known {
			i = len(c.Layers)
			layer[w.Series] = i
			c.Layers = append(c.Layers, Layer{Kind: Point, Name: w.Series, Colour: Series(len(layer) - 1), Width: 8})
		}
		tip := fmt.Sprintf("%s\n%sFLOP/s at %s FLOP per byte\n%s per run", w.Name, Number.Format(w.Rate()), Number.Format(w.Intensity()), Seconds.Format(w.Seconds))
		if share, by := shareOf(roofs, w); share != "" {
			tip += "\n" + share + " of the roof, " + by
		}
		c.Layers[i].Data = append(c.Layers[i].Data, Datum{X: w.Intensity(), Y: w.Rate(), Tip: tip})
	}
	if len(works) > namedWorks {
		labels, note = c.numbers(works, room)
	} else {
		for _, w := range works {
			labels.Data = append(labels.Data, room.beside(w.Intensity(), w.Rate(), short(w.Name)))
		}
	}
	c.Layers = append(c.Layers, labels)
	return note
}

// numbers stand at the foot, below the points of a name.
func (c *Chart) numbers(works []Work, room *room) (l Layer, note string) {
	l = Layer{Kind: Text, Colour: Plain, Anchor: Middle}
	number := make(map[string]int)
	foot := c.Y.Min * math.Pow(c.Y.Max/c.Y.Min, 0.3) // moved down to its place
	var names []string
	for _, w := range works {
		if number[w.Name] != 0 {
			continue
		}
		names = append(names, w.Name)
		number[w.Name] = len(names)
		l.Data = append(l.Data, room.under(Datum{X: w.Intensity(), Y: foot, Text: fmt.Sprint(len(names)), Tip: w.Name}))
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%d\u00a0%s", i+1, name)
	}
	return l, strings.Join(names, ", ")
}

// shareOf is how much of the roof over it a work reaches, and what that roof is.
func shareOf(roofs []Roof, w Work) (share, by string) {
	if w.Roof < 0 || w.Roof >= len(roofs) {
		return "", ""
	}
	limit, by := roofs[w.Roof].Over(w)
	return fmt.Sprintf("%.0f %%", 100*w.Rate()/limit), by
}

func rooflineText(title string, roofs []Roof, works []Work) string {
	t := display.Table{Title: title, Columns: []display.Column{
		{Name: "kernel"}, {Name: "FLOP per byte"}, {Name: "", Unit: "GFLOP/s"}, {Name: "", Unit: "GB/s"}, {Name: "of the roof", Align: display.AlignRight}, {Name: "which is"},
	}}
	for _, r := range roofs {
		row := []any{"roof " + r.Name, nil, r.FLOPs / 1e9, nil, ""}
		if r.Bytes > 0 {
			row[1], row[3] = r.FLOPs/r.Bytes, r.Bytes/1e9
		}
		t.Rows = append(t.Rows, row)
		for _, c := range r.Caches {
			if c.Bytes > 0 {
				t.Rows = append(t.Rows, []any{"  in " + c.Name + ", " + Bytes.Format(c.Size), r.FLOPs / c.Bytes, nil, c.Bytes / 1e9})
			}
		}
	}
	for _, w := range works {
		name := w.Name
		if w.Series != "" {
			name += ", " + w.Series
		}
		share, by := shareOf(roofs, w)
		t.Rows = append(t.Rows, []any{name, w.Intensity(), w.Rate() / 1e9, w.Bytes / w.Seconds / 1e9, share, by})
	}
	return t.Text()
}

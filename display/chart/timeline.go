package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/display/internal/cells"
)

// Span is what a lane does from Start to End, in seconds on one clock. A lane may
// have several rows, counted from the top.
type Span struct {
	Lane, Row  int
	Start, End float64
	Name       string // in the legend
	Class      display.Class
	Label      string // in the bar, where it fits
	Tip        string
	// Wait is time in which the lane does nothing of its own, also within another
	// span. Time in which all lanes wait, or do nothing, is shortened.
	Wait bool
}

// Measures of a timeline.
const (
	timelineWidth = 760.0
	timelineRow   = 20.0
	laneGap       = 0.35 // of a row
	// A break is time without work that is longer than this share of the work; it
	// is drawn as short as the other share.
	longBreak, shortBreak = 0.15, 0.04
)

// Timeline is a lane for each name, one below the other, over time from the first
// span on. What happens at once stands at one place. Long times in which no lane
// works, such as the wait for the first request, are cut short, which a dashed line
// with their length shows.
func Timeline(title string, lanes []string, spans []Span) Figure {
	spans = within(lanes, spans)
	c := Chart{X: Axis{Title: "time", Unit: Seconds}, Width: timelineWidth}
	tops, height := lanePlaces(lanes, spans)
	c.Y = Axis{Reverse: true, Max: max(height, 1), Ticks: []Tick{}}
	c.Height = max(height, 1) * timelineRow
	for i, name := range lanes {
		end := height
		if i+1 < len(lanes) {
			end = tops[i+1]
		}
		c.Y.Ticks = append(c.Y.Ticks, Tick{(tops[i] + end - laneGap) / 2, name})
	}
	clock := newClock(spans)
	c.X.Max = max(clock.at(clock.to), 1e-12)
	if len(clock.breaks) > 0 {
		c.X.Ticks = clock.ticks(c.X.Max)
		c.cuts(clock)
	}
	for _, s := range spans {
		c.bar(clock, tops[s.Lane]+float64(s.Row), s)
	}
	f := Figure{Title: title, Panels: []Chart{c}}
	f.Text = laneText(title, lanes, spans, clock)
	return f
}

// within drops spans that are not on any lane, and those without an extent in time.
func within(lanes []string, spans []Span) []Span {
	return slices.DeleteFunc(slices.Clone(spans), func(s Span) bool {
		return s.Lane < 0 || s.Lane >= len(lanes) || s.Row < 0 || !(s.Start <= s.End) || math.IsInf(s.End-s.Start, 0)
	})
}

// lanePlaces are the tops of lanes and the height of all, in rows.
func lanePlaces(lanes []string, spans []Span) (tops []float64, height float64) {
	rows := make([]int, len(lanes))
	for i := range rows {
		rows[i] = 1
	}
	for _, s := range spans {
		rows[s.Lane] = max(rows[s.Lane], s.Row+1)
	}
	for _, n := range rows {
		tops = append(tops, height)
		height += float64(n) + laneGap
	}
	return tops, height
}

// bar adds a span to the layer of its name.
func (c *Chart) bar(clock *clock, top float64, s Span) {
	name := cmp.Or(s.Name, string(s.Class))
	i := slices.IndexFunc(c.Layers, func(l Layer) bool { return l.Kind == Rect && l.Name == name })
	if i < 0 {
		i = len(c.Layers)
		c.Layers = append(c.Layers, Layer{Kind: Rect, Name: name, Colour: Of(s.Class)})
	}
	tip := cmp.Or(s.Tip, name+" "+s.Label) + "\n" + Seconds.Format(s.End-s.Start) + " from " + Seconds.Format(s.Start-clock.from)
	c.Layers[i].Data = append(c.Layers[i].Data, Datum{X: clock.at(s.Start), X2: clock.at(s.End), Y: top, Y2: top + 1, Text: s.Label, Tip: tip})
}

// cuts marks the breaks.
func (c *Chart) cuts(clock *clock) {
	rules := Layer{Kind: Rule, Colour: Plain, Dashed: true}
	for _, b := range clock.breaks {
		middle := (clock.at(b[0]) + clock.at(b[1])) / 2
		rules.Data = append(rules.Data, Datum{X: middle, X2: middle, Y: math.Inf(-1), Y2: math.Inf(1), Tip: Seconds.Format(b[1]-b[0]) + " without work, cut short"})
	}
	c.Layers = append(c.Layers, rules)
}

// clock maps times to the axis, on which breaks are short.
type clock struct {
	from, to float64
	breaks   [][2]float64
	short    float64 // length of a break on the axis
}

// newClock finds the breaks between the times in which any lane works.
func newClock(spans []Span) *clock {
	c := &clock{}
	if len(spans) == 0 {
		return c
	}
	c.from, c.to = math.Inf(1), math.Inf(-1)
	lanes := 0
	for _, s := range spans {
		c.from, c.to = min(c.from, s.Start), max(c.to, s.End)
		lanes = max(lanes, s.Lane+1)
	}
	var busy [][2]float64
	for lane := range lanes {
		busy = append(busy, working(spans, lane)...)
	}
	slices.SortFunc(busy, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	work, end := 0.0, c.from
	var idle [][2]float64
	for _, b := range busy {
		if b[0] > end {
			idle = append(idle, [2]float64{end, b[0]})
		}
		work += max(b[1]-max(end, b[0]), 0)
		end = max(end, b[1])
	}
	if work == 0 {
		return c
	}
	idle = append(idle, [2]float64{end, c.to})
	for _, g := range idle {
		if g[1]-g[0] > longBreak*work {
			c.breaks = append(c.breaks, g)
		}
	}
	c.short = shortBreak * work
	return c
}

// working is the time in which a lane does something and waits for nothing, in order.
func working(spans []Span, lane int) (list [][2]float64) {
	type change struct {
		at          float64
		work, waits int
	}
	var changes []change
	for _, s := range spans {
		if s.Lane != lane {
			continue
		}
		d := change{s.Start, 1, 0}
		if s.Wait {
			d.work, d.waits = 0, 1
		}
		changes = append(changes, d, change{s.End, -d.work, -d.waits})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	work, waits, since := 0, 0, math.NaN()
	for i, d := range changes {
		work, waits = work+d.work, waits+d.waits
		if i+1 < len(changes) && changes[i+1].at == d.at {
			continue
		}
		switch works := work > 0 && waits == 0; {
		case works && math.IsNaN(since):
			since = d.at
		case !works && !math.IsNaN(since):
			list = append(list, [2]float64{since, d.at})
			since = math.NaN()
		}
	}
	return list
}

// worked is the time outside of breaks.
func (c *clock) worked() float64 {
	t := c.to - c.from
	for _, b := range c.breaks {
		t -= b[1] - b[0]
	}
	return t
}

// at is where a time stands on the axis.
func (c *clock) at(t float64) float64 {
	at := t - c.from
	for _, b := range c.breaks {
		length := b[1] - b[0]
		switch {
		case t >= b[1]:
			at -= length - c.short
		case t > b[0]:
			at -= (t - b[0]) * (1 - c.short/length)
		}
	}
	return at
}

// ticks are round times outside of breaks, and the lengths of the breaks.
func (c *clock) ticks(length float64) []Tick {
	const room = 9
	var list []Tick
	axis := Axis{Unit: Seconds}
	step := axis.step(length / room)
	for _, b := range c.breaks {
		list = append(list, Tick{(c.at(b[0]) + c.at(b[1])) / 2, "… " + Seconds.Format(b[1]-b[0])})
	}
	for n := 0.0; n < wholeNumbers; n++ {
		if end, inside := c.breakAt(c.from + n*step); inside {
			n = max(n, math.Floor((end-c.from)/step))
			continue
		}
		at := c.at(c.from + n*step)
		if at > length {
			break
		}
		if !slices.ContainsFunc(list, func(k Tick) bool { return math.Abs(k.At-at) < length*0.06 }) {
			list = append(list, Tick{at, Seconds.Format(n * step)})
		}
	}
	slices.SortFunc(list, func(a, b Tick) int { return cmp.Compare(a.At, b.At) })
	return list
}

// breakAt is the end of the break that t is in.
func (c *clock) breakAt(t float64) (end float64, inside bool) {
	for _, b := range c.breaks {
		if t > b[0] && t < b[1] {
			return b[1], true
		}
	}
	return 0, false
}

// laneText is a row of characters for each lane, the darker the more it works, and
// the share of the time in which it works.
func laneText(title string, lanes []string, spans []Span, c *clock) string {
	t := display.Table{Title: title, Columns: []display.Column{{Name: "lane"}, {Name: "works", Align: display.AlignRight}, {Name: "over time"}}}
	length := c.at(c.to)
	if length <= 0 {
		return t.Text()
	}
	for i, name := range lanes {
		cover := make([]float64, textWidth)
		work := 0.0
		for _, w := range working(spans, i) {
			from, to := c.at(w[0])/length*textWidth, c.at(w[1])/length*textWidth
			for k := int(from); k < textWidth && float64(k) < to; k++ {
				cover[k] += min(to, float64(k+1)) - max(from, float64(k))
			}
			work += w[1] - w[0]
		}
		t.Rows = append(t.Rows, []any{name, fmt.Sprintf("%.0f %%", 100*work/c.worked()), shades(cover, 1)})
	}
	text := t.Text() + fmt.Sprintf("%s in all\n", Seconds.Format(c.to-c.from))
	for _, b := range c.breaks {
		text += fmt.Sprintf("%s without work from %s on are drawn short\n", Seconds.Format(b[1]-b[0]), Seconds.Format(b[0]-c.from))
	}
	return text
}

// shades draws a row of fillings between nothing and full.
func shades(row []float64, full float64) string {
	levels := []rune(cells.Shades)
	var b strings.Builder
	for _, x := range row {
		i := 0
		if x > 0 && full > 0 {
			i = min(max(1, int(math.Round(x/full*4))), 4)
		}
		b.WriteRune(levels[i])
	}
	return b.String()
}

package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"forgekernel/display"
)

// Plan is what stands in memory over the steps of a program.
type Plan struct {
	Title   string
	Steps   []string // names of the steps
	Slots   []Slot
	Tenants []Tenant
	Live    []int64 // bytes that are needed at each step; may be empty
	Bounds  []Bound
}

// Slot is a piece of memory that values use in turn.
type Slot struct {
	Name  string
	Bytes int64
}

// Tenant is a value in a slot, from Offset on, and from the step Start up to End:
// step t is the time from t to t+1.
type Tenant struct {
	Slot          int
	Offset, Bytes int64
	Start, End    float64
	Label         string
	Class         display.Class
	Tip           string
}

// Bound is a number of bytes to compare with: what is planned, and what any plan needs.
type Bound struct {
	Label string
	Bytes int64
}

// Measures of a memory plan, in CSS pixels.
const (
	slotsHeight = 220.0 // of all slots, shared in proportion to their bytes
	slotLeast   = 16.0
	slotGap     = 4.0
	liveHeight  = 90.0
	planLeast   = 360.0
	planMost    = 880.0
	columnLeast = 14.0
	columnMost  = 96.0
)

// MemoryPlan draws the slots over the steps, a bar for each tenant, and below them
// how many bytes are live at each step, with their peak and the bounds.
func MemoryPlan(p Plan) Figure {
	f := Figure{Title: p.Title, Text: p.text()}
	if err := p.check(); err != nil {
		f.Text += fmt.Sprintf("(no picture: %v)\n", err)
		f.Panels = nil
		return f
	}
	steps, width := p.axis()
	slots := Chart{X: steps, Width: width}
	slots.slots(p)
	if len(p.Live) == 0 {
		f.Panels = []Chart{slots}
		return f
	}
	live := Chart{X: steps, Width: width, Height: liveHeight, Y: Axis{Title: "live bytes", Unit: Bytes, Max: p.top()}}
	live.live(p)
	slots.X.Ticks, slots.X.Title = []Tick{}, ""
	f.Panels = []Chart{slots, live}
	return f
}

// check reports a tenant that is outside of its slot or of the time.
func (p Plan) check() error {
	for _, t := range p.Tenants {
		if !p.holds(t) {
			return fmt.Errorf("%s is outside its slot or time", t.Label)
		}
	}
	return nil
}

func (p Plan) holds(t Tenant) bool {
	return t.Slot >= 0 && t.Slot < len(p.Slots) && t.Offset >= 0 && t.Bytes >= 0 && t.Bytes <= p.Slots[t.Slot].Bytes-t.Offset &&
		t.Start >= 0 && t.Start <= t.End && t.End <= float64(len(p.Steps))
}

// axis names the steps where their names have room, and numbers them where not.
func (p Plan) axis() (a Axis, width float64) {
	steps := float64(max(1, len(p.Steps)))
	widest := 0.0
	for _, s := range p.Steps {
		widest = max(widest, small(short(s))+8)
	}
	column := min(max(planLeast/steps, columnLeast), columnMost)
	named := widest*steps <= planMost && widest <= columnMost
	if named {
		column = max(column, widest)
	}
	width = min(column*steps, planMost)
	a = Axis{Title: "step", Max: steps, Ticks: []Tick{}}
	every := 1
	for !named && steps/float64(every)*tickRoomY > width {
		every = nextRound(every)
	}
	for i, s := range p.Steps {
		if !named {
			s = strconv.Itoa(i)
		}
		if i%every == 0 {
			a.Ticks = append(a.Ticks, Tick{float64(i) + 0.5, s})
		}
	}
	return a, width
}

// nextRound is the number after n in 1, 2, 5, 10, 20 and so on.
func nextRound(n int) int {
	for n%10 == 0 {
		return 10 * nextRound(n/10)
	}
	return map[int]int{1: 2, 2: 5, 5: 10}[n]
}

// slots gives slots heights in proportion to their sizes, but each enough to be seen.
func (c *Chart) slots(p Plan) {
	total := 0.0
	for _, s := range p.Slots {
		total += float64(s.Bytes)
	}
	tops := make([]float64, len(p.Slots))
	heights := make([]float64, len(p.Slots))
	ground := Layer{Kind: Rect, Colour: "slot"}
	y := 0.0
	c.Y = Axis{Reverse: true, Ticks: []Tick{}}
	for i, s := range p.Slots {
		tops[i], heights[i] = y, slotLeast
		if total > 0 {
			heights[i] = max(slotLeast, slotsHeight*float64(s.Bytes)/total)
		}
		ground.Data = append(ground.Data, Datum{X: 0, X2: math.Inf(1), Y: y, Y2: y + heights[i], Tip: s.Name})
		c.Y.Ticks = append(c.Y.Ticks, Tick{y + heights[i]/2, s.Name + "  " + Bytes.Format(float64(s.Bytes))})
		y += heights[i] + slotGap
	}
	c.Y.Max = max(y, slotLeast)
	c.Height = c.Y.Max
	if len(p.Slots) == 0 {
		c.Layers = []Layer{{Kind: Text, Colour: Plain, Data: []Datum{{Y: slotLeast / 2, Text: "no value needs a slot"}}}}
		return
	}
	c.Layers = append(c.Layers, ground)
	for _, t := range p.Tenants {
		i := slices.IndexFunc(c.Layers, func(l Layer) bool { return l.Name == string(t.Class) && l.Colour != "slot" })
		if i < 0 {
			i = len(c.Layers)
			c.Layers = append(c.Layers, Layer{Kind: Rect, Name: string(t.Class), Colour: Of(t.Class)})
		}
		size := max(float64(p.Slots[t.Slot].Bytes), 1)
		top := tops[t.Slot] + heights[t.Slot]*float64(t.Offset)/size
		c.Layers[i].Data = append(c.Layers[i].Data, Datum{
			X: t.Start, X2: t.End, Y: top, Y2: top + heights[t.Slot]*float64(t.Bytes)/size, Text: short(t.Label), Tip: t.Tip,
		})
	}
}

// top is the number of bytes at the upper end of the axis.
func (p Plan) top() float64 {
	top := int64(1)
	for _, x := range p.Live {
		top = max(top, x)
	}
	for _, b := range p.Bounds {
		top = max(top, b.Bytes)
	}
	return float64(top) * 1.08
}

// live draws the bytes in use, their peak and the bounds.
func (c *Chart) live(p Plan) {
	area := Layer{Kind: Area, Colour: Level, Width: 1}
	peak := 0
	for t, n := range p.Live {
		area.Data = append(area.Data, Datum{X: float64(t), Y: float64(n)}, Datum{X: float64(t + 1), Y: float64(n)})
		if n > p.Live[peak] {
			peak = t
		}
	}
	rules := Layer{Kind: Rule, Colour: Limit, Dashed: true}
	texts := Layer{Kind: Text, Colour: Limit, DX: 8}
	bounds := slices.SortedFunc(slices.Values(p.Bounds), func(a, b Bound) int { return int(min(max(b.Bytes-a.Bytes, -1), 1)) })
	line := c.Y.Max / c.Height * (tickSize + 3)
	labelled := math.Inf(1)
	for _, b := range bounds {
		text := b.Label + " " + Bytes.Format(float64(b.Bytes))
		rules.Data = append(rules.Data, Datum{X: math.Inf(-1), X2: math.Inf(1), Y: float64(b.Bytes), Y2: float64(b.Bytes), Tip: text})
		labelled = min(float64(b.Bytes), labelled-line) // lines may be close, their names not
		texts.Data = append(texts.Data, Datum{X: math.Inf(1), Y: labelled, Text: text})
	}
	at := p.Live[peak]
	tip := fmt.Sprintf("peak: %s at step %d", Bytes.Format(float64(at)), peak)
	if peak < len(p.Steps) {
		tip += ", " + p.Steps[peak]
	}
	point := Layer{Kind: Point, Colour: Limit, Data: []Datum{{X: float64(peak) + 0.5, Y: float64(at), Tip: tip}}}
	c.Layers = append(c.Layers, area, rules, texts, point)
}

// planSteps is how many steps one row of text shows.
const planSteps = 100

// text shows each slot as a row of characters, one for each step or, in a long
// program, for several: the fuller the slot, the darker.
func (p Plan) text() string {
	per := max(1, (len(p.Steps)+planSteps-1)/planSteps)
	t := display.Table{Title: p.Title, Columns: []display.Column{{Name: "memory"}, {Name: "size", Align: display.AlignRight}, {Name: "steps"}}}
	if per > 1 {
		t.Columns[2].Unit = fmt.Sprintf("%d per character", per)
	}
	for i, s := range p.Slots {
		t.Rows = append(t.Rows, []any{s.Name, display.FormatBytes(s.Bytes), shades(grouped(p.occupied(i), per), float64(s.Bytes))})
	}
	if len(p.Live) > 0 {
		live := make([]float64, len(p.Live))
		for i, n := range p.Live {
			live[i] = float64(n)
		}
		peak := slices.Max(live)
		t.Rows = append(t.Rows, []any{"in use, at most", display.FormatBytes(int64(peak)), shades(grouped(live, per), peak)})
	}
	text := t.Text()
	for _, b := range p.Bounds {
		text += fmt.Sprintf("%s: %s\n", b.Label, display.FormatBytes(b.Bytes))
	}
	return text
}

// occupied is the bytes of a slot that tenants cover, at each step.
func (p Plan) occupied(slot int) []float64 {
	steps := make([]float64, len(p.Steps))
	for _, t := range p.Tenants {
		if t.Slot != slot || !p.holds(t) {
			continue
		}
		for s := int(t.Start); float64(s) < t.End; s++ {
			steps[s] += (min(t.End, float64(s+1)) - max(t.Start, float64(s))) * float64(t.Bytes)
		}
	}
	return steps
}

// grouped is the most of each group of steps.
func grouped(steps []float64, per int) (list []float64) {
	for group := range slices.Chunk(steps, per) {
		list = append(list, slices.Max(group))
	}
	return list
}

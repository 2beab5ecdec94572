package nebula

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"forgekernel/display"
	"forgekernel/display/chart"
	"forgekernel/nebula/sched"
)

// Display shows a lane for each request, with its part of each step, and as text the
// table.
func (s *Steps) Display() display.Bundle {
	b := s.Chart().Display()
	b.Data["text/plain"] = s.Table().Text()
	return b
}

// Measures of the chart of steps, in CSS pixels.
const (
	stepWidth  = 30.0
	widestLog  = 880.0
	laneHeight = 24.0
	usedHeight = 70.0
)

// The kinds of what a request does in a step, in the order of the legend.
var stepKinds = []chart.Layer{
	{Kind: chart.Rect, Name: "tokens of the prompt", Colour: chart.Of(display.ClassContraction)},
	{Kind: chart.Rect, Name: "the next token", Colour: chart.Of(display.ClassInput)},
	{Kind: chart.Rect, Name: "waiting", Colour: chart.Of(display.ClassConstant)},
}

const (
	kindPrompt = iota
	kindNext
	kindWaiting
)

// Chart draws steps from left to right and a lane for each request. The number in a box
// is that of the tokens that are computed. Below is how many blocks of the cache requests
// hold. Steps of several replicas that have one number are not at one time.
func (s *Steps) Chart() chart.Figure {
	f := chart.Figure{Title: "What each step computed"}
	if len(s.List) == 0 {
		f.Text = "no steps\n"
		return f
	}
	first, last := s.span()
	lanes := s.lanes()
	x := chart.Axis{Min: float64(first) - 0.5, Max: float64(last) + 0.5, Ticks: stepTicks(first, last)}
	width := min(max(stepWidth*float64(last-first+1), 8*stepWidth), widestLog)
	names := make([]string, len(lanes))
	for i, l := range lanes {
		names[i] = l.name(s.replicas() > 1)
	}
	requests := chart.Chart{X: x, Y: chart.Rows(names...), Layers: s.boxes(lanes), Width: width, Height: laneHeight * float64(len(lanes))}
	requests.X.Ticks = []chart.Tick{}
	x.Title = "step"
	f.Panels = []chart.Chart{requests, {X: x, Y: s.usedAxis(), Layers: s.used(first, last), Width: width, Height: usedHeight}}
	return f
}

func (s *Steps) span() (first, last uint64) {
	first, last = s.List[0].Number, s.List[0].Number
	for _, x := range s.List {
		first, last = min(first, x.Number), max(last, x.Number)
	}
	return first, last
}

// stepTicks numbers the steps, and only some of many.
func stepTicks(first, last uint64) (list []chart.Tick) {
	every := uint64(1)
	for float64(last-first)/float64(every) > widestLog/stepWidth {
		every *= 5
	}
	for n := first; n <= last; n++ {
		if n == first || n%every == 0 {
			list = append(list, chart.Tick{At: float64(n), Label: fmt.Sprint(n)})
		}
	}
	return list
}

// lane is a request of a replica.
type lane struct {
	replica int
	request uint64
}

func (l lane) name(replicas bool) string {
	if replicas {
		return fmt.Sprintf("replica %d, request %d", l.replica, l.request)
	}
	return fmt.Sprintf("request %d", l.request)
}

// lanes are the requests of the steps.
func (s *Steps) lanes() []lane {
	seen := make(map[lane]bool)
	var list []lane
	note := func(l lane) {
		if !seen[l] {
			seen[l] = true
			list = append(list, l)
		}
	}
	for _, x := range s.List {
		for _, p := range x.Parts {
			note(lane{x.Replica, p.Request})
		}
		for _, id := range x.Waiting {
			note(lane{x.Replica, id})
		}
	}
	slices.SortFunc(list, func(a, b lane) int { return cmp.Or(a.replica-b.replica, cmp.Compare(a.request, b.request)) })
	return list
}

// boxes are the parts of the steps, and who waited.
func (s *Steps) boxes(lanes []lane) []chart.Layer {
	layers := slices.Clone(stepKinds)
	add := func(kind int, x Step, request uint64, text, tip string) {
		y := float64(slices.Index(lanes, lane{x.Replica, request}))
		layers[kind].Data = append(layers[kind].Data, chart.Datum{
			X: float64(x.Number) - 0.46, X2: float64(x.Number) + 0.46, Y: y - 0.4, Y2: y + 0.4, Text: text, Tip: tip})
	}
	for _, x := range s.List {
		for _, id := range x.Waiting {
			add(kindWaiting, x, id, "", fmt.Sprintf("step %d: request %d waits", x.Number, id))
		}
		for _, p := range x.Parts {
			add(kindOf(p), x, p.Request, fmt.Sprint(p.Tokens), fmt.Sprintf("step %d: request %d, %s from position %d", x.Number, p.Request, display.Count(p.Tokens, "token"), p.Pos))
		}
	}
	return slices.DeleteFunc(layers, func(l chart.Layer) bool { return len(l.Data) == 0 })
}

func kindOf(p sched.Part) int {
	if p.Prompt {
		return kindPrompt
	}
	return kindNext
}

func (s *Steps) usedAxis() chart.Axis {
	return chart.Axis{Title: "blocks held", Max: 1.1 * float64(s.Blocks*s.replicas())}
}

// used are the blocks of all replicas that requests hold, and those that there are.
func (s *Steps) used(first, last uint64) []chart.Layer {
	blocks := make([]int, last-first+1)
	for _, x := range s.List {
		blocks[x.Number-first] += x.Used
	}
	area := chart.Layer{Kind: chart.Area, Colour: chart.Level, Width: 1}
	for i, n := range blocks {
		at := float64(first) + float64(i)
		area.Data = append(area.Data, chart.Datum{X: at - 0.5, Y: float64(n)}, chart.Datum{X: at + 0.5, Y: float64(n)})
	}
	all := float64(s.Blocks * s.replicas())
	text := display.Count(int(all), "block")
	return []chart.Layer{
		area,
		{Kind: chart.Rule, Colour: chart.Limit, Dashed: true, Data: []chart.Datum{{X: math.Inf(-1), X2: math.Inf(1), Y: all, Y2: all, Tip: text}}},
		{Kind: chart.Text, Colour: chart.Limit, DX: 8, Data: []chart.Datum{{X: math.Inf(1), Y: all, Text: text}}},
	}
}

package chart

import (
	"math"
)

// Match is candidates for one job.
type Match struct {
	Title      string
	Candidates []Candidate
}

// Candidate is one way to do a job and its times in seconds; none if it was not
// measured. Its colour says what came of it: [Good] if it was picked, [Close], [Plain]
// or [Bad].
type Candidate struct {
	Name   string
	Note   string // at the right of its row
	Times  []float64
	Colour Colour
}

// Measures of a contest.
const (
	candidateRow  = 20.0 // CSS pixels
	shownSamples  = 60   // of a candidate, as dots
	contestReach  = 1.6  // one candidate ten times slower would squeeze all others into a corner
	contestWidth  = 440.0
	contestJitter = 0.09
)

// Contest is a panel for each match: a row for each candidate with its samples as
// dots, a box over them and a note. Panels show times up to 1.6 times the quickest;
// what is beyond ends at the edge. Text is the form for terminals, such as a table.
func Contest(title, text string, matches ...Match) Figure {
	f := Figure{Title: title, Text: text}
	for _, m := range matches {
		f.Panels = append(f.Panels, m.chart())
	}
	return f
}

func (m Match) chart() Chart {
	labels := make([]string, len(m.Candidates))
	var samples []Sample
	for i, c := range m.Candidates {
		labels[i] = c.Name
		samples = append(samples, Sample{c.Name, c.Times})
	}
	c := Chart{Title: m.Title, Y: Rows(labels...), Width: contestWidth, Height: candidateRow * float64(max(len(labels), 1))}
	samples = sorted(samples)
	if c.X = span("time per run", Seconds, samples); len(samples) > 0 {
		low := math.Inf(1)
		for _, s := range samples {
			low = min(low, s.Values[0])
		}
		c.X.Log, c.X.Min = false, low*0.985
		c.X.Max = max(min(c.X.Max, low*contestReach), low*1.02)
	} else {
		c.X.Ticks, c.X.Title = []Tick{}, ""
	}
	for i, candidate := range m.Candidates {
		c.candidate(float64(i), candidate)
	}
	return c
}

// candidate draws a row.
func (c *Chart) candidate(row float64, k Candidate) {
	if k.Colour == Good {
		c.Layers = append(c.Layers, Layer{Kind: Rect, Colour: "picked row", Data: []Datum{{X: math.Inf(-1), X2: math.Inf(1), Y: row - 0.5, Y2: row + 0.5}}})
	}
	for _, s := range sorted([]Sample{{k.Name, k.Times}}) {
		values := s.Values
		dots := Layer{Kind: Point, Colour: k.Colour, Width: 2.4}
		every := (len(values) + shownSamples - 1) / shownSamples
		for i := 0; i < len(values); i += every {
			dots.Data = append(dots.Data, Datum{X: values[i], Y: row + contestJitter*float64(i/every%5-2)})
		}
		c.Layers = append(c.Layers, box(s, row, k.Colour, Seconds)...)
		c.Layers = append(c.Layers, dots)
	}
	c.Layers = append(c.Layers, Layer{Kind: Text, Colour: k.Colour, DX: 8, Data: []Datum{{X: math.Inf(1), Y: row, Text: k.Note}}})
}

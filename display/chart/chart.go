// Package chart draws numbers: one description becomes a Vega-Lite chart, an SVG
// and a PNG image and text, and every front end takes the best form that it can show.
//
// A [Figure] is one or several [Chart]s below one another, their areas of data
// aligned. A chart is two axes and layers of marks, drawn in order:
//
//	chart.Chart{
//		Title: "Time by batch size",
//		X:     chart.Axis{Title: "batch size"},
//		Y:     chart.Axis{Title: "time per step", Unit: chart.Seconds},
//		Layers: []chart.Layer{{
//			Kind: chart.Line, Name: "compiled", Colour: chart.Series(0),
//			Data: []chart.Datum{{X: 1, Y: 2e-3}, {X: 2, Y: 2.1e-3}, {X: 4, Y: 2.6e-3}},
//		}},
//	}
//
// Axes are numbers throughout; an axis of names has ticks with the names at 0, 1, 2
// and so on ([Names]). Numbers carry their unit, seconds or bytes, and the axis
// writes "20 µs" or "1.5 MiB".
//
// Most charts need no description of their own, only a constructor and data:
//
//	ECDF, Box, Violin, Distribution   how samples are distributed
//	Roofline                          kernels under the limits of a machine
//	Scaling                           what more of something brings
//	Bars                              one number for each of some names
//	Timeline                          what lanes do over time
//	MemoryPlan                        what stands in memory over the steps of a program
//	Contest                           candidates, the picked and the rejected ones
//
// Every picture stands on an opaque card of its own, so that it reads well on light
// and dark pages, in a sans-serif font with substitutes. Nothing needs a script, a
// style sheet or the network.
package chart

import "forgekernel/display"

// Figure is charts below one another.
type Figure struct {
	Title  string
	Note   string // a line under the title: where, how and of what
	Theme  display.Theme
	Panels []Chart
	// Text is the figure for terminals; if it is empty, characters draw it.
	Text string
}

// Chart is marks over two axes.
type Chart struct {
	Title         string
	X, Y          Axis
	Layers        []Layer
	Width, Height float64 // of the area of data, in CSS pixels; 0 is 520 by 240
}

// Axis is what positions mean.
type Axis struct {
	Title string
	Unit  Unit
	Log   bool
	// Reverse makes positions grow from right to left or from top to bottom.
	Reverse bool
	// Min and Max are the ends; where both are 0, the data decide.
	Min, Max float64
	// Ticks are the labelled positions. Without any (nil) the axis chooses round
	// numbers; an empty list is an axis without labels.
	Ticks []Tick
}

// Tick is a labelled position of an axis.
type Tick struct {
	At    float64
	Label string
}

// Names is an axis of names, which stand at 0, 1, 2 and so on.
func Names(names ...string) Axis {
	a := Axis{Min: -0.5, Max: float64(max(len(names), 1)) - 0.5, Ticks: []Tick{}}
	for i, name := range names {
		a.Ticks = append(a.Ticks, Tick{float64(i), name})
	}
	return a
}

// Rows is an axis of names from top to bottom.
func Rows(names ...string) Axis {
	a := Names(names...)
	a.Reverse = true
	return a
}

// Layer is marks of one kind and colour.
type Layer struct {
	Kind   Kind
	Name   string // in the legend; layers of one name share an entry; "" has none
	Colour Colour
	Data   []Datum
	Dashed bool    // lines and rules
	Width  float64 // of lines and rules, or across points, in CSS pixels; 0 is the kind's own
	Shape  Shape   // of points
	Anchor Anchor  // of texts
	DX, DY float64 // by which texts stand off their position, in CSS pixels
	Strong bool    // rectangles, bars and areas in the full colour, not in its light tint
}

// Datum is one mark, or a point of a line or an area. An infinite position is the
// end of the axis; a text beyond the right end stands beside the area of data.
type Datum struct {
	X, Y   float64
	X2, Y2 float64 // of rectangles, rules and areas
	Text   string  // of texts, and in rectangles where it fits
	Tip    string  // shown on hovering
}

// Kind is the kind of a mark.
type Kind uint8

// Kinds of marks.
const (
	Bar   Kind = iota // a column around X from 0 to Y
	Rect              // from X to X2 and from Y to Y2
	Line              // through the data in their order
	Area              // between Y and Y2, along X
	Point             // at X, Y
	Rule              // from X, Y to X2, Y2
	Text              // the text of the datum at X, Y
)

// Shape is the shape of points.
type Shape uint8

// Shapes.
const (
	Disc Shape = iota
	Ring
	Square
)

// Anchor is which end of a text stands at its position.
type Anchor uint8

// Anchors.
const (
	Start Anchor = iota
	Middle
	End
)

// Colour names a colour of the themes: a class of package display, a [Series], or
// one of those below. An unknown one is grey.
type Colour string

// Colours of marks by what they mean.
const (
	Plain Colour = "plain" // nothing in particular
	Good  Colour = "good"  // picked, passed
	Close Colour = "close" // as good within the tie
	Bad   Colour = "bad"   // rejected, failed
	Ink   Colour = "ink"   // the colour of text
	Limit Colour = "limit" // a bound
	Level Colour = "level" // how full something is
)

// seriesColours is how many series have colours of their own.
const seriesColours = 7

// Series is the colour of the series number i, from 0; they repeat after seven.
func Series(i int) Colour { return Colour("series " + string(rune('0'+i%seriesColours))) }

// Of is the colour of a class of nodes.
func Of(c display.Class) Colour { return Colour(c) }

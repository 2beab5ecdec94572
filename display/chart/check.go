package chart

import (
	"fmt"
	"math"
)

// drawnMarks is how many marks a figure may have: more would be a blot, and cost
// megabytes.
const drawnMarks = 20_000

// drawnSide bounds the area of data, in CSS pixels: characters draw all of it.
const drawnSide = 20_000

// check reports the first thing of a figure that cannot be drawn.
func (f Figure) check() error {
	if len(f.Panels) == 0 {
		return fmt.Errorf("the figure has no charts")
	}
	marks := 0
	for i, c := range f.Panels {
		for _, side := range []float64{c.Width, c.Height} {
			if !(side <= drawnSide) { // nor is NaN
				return fmt.Errorf("chart %d: its area is %g by %g; a side has at most %d", i, c.Width, c.Height, drawnSide)
			}
		}
		for j, l := range c.Layers {
			marks += len(l.Data)
			if err := l.check(c); err != nil {
				return fmt.Errorf("chart %d, layer %d: %w", i, j, err)
			}
		}
		for _, a := range []struct {
			name string
			Axis
		}{{"x", c.X}, {"y", c.Y}} {
			if err := a.check(); err != nil {
				return fmt.Errorf("chart %d, axis %s: %w", i, a.name, err)
			}
		}
	}
	if marks > drawnMarks {
		return fmt.Errorf("%d marks are too many to draw; at most %d", marks, drawnMarks)
	}
	return nil
}

func (a Axis) check() error {
	if math.IsNaN(a.Min) || math.IsNaN(a.Max) || math.IsInf(a.Min, 0) || math.IsInf(a.Max, 0) || a.Min > a.Max || a.Min == a.Max && a.Min != 0 {
		return fmt.Errorf("it goes from %g to %g", a.Min, a.Max)
	}
	if a.Log && (a.Min < 0 || a.Min == 0 && a.Max != 0) {
		return fmt.Errorf("it is logarithmic and begins at %g", a.Min)
	}
	for _, t := range a.Ticks {
		if math.IsNaN(t.At) || math.IsInf(t.At, 0) || a.Log && t.At <= 0 {
			return fmt.Errorf("tick %q is at %g", t.Label, t.At)
		}
	}
	return nil
}

// check reports positions that are no numbers or have no place on the axes.
func (l Layer) check(c Chart) error {
	if l.Kind > Text {
		return fmt.Errorf("there is no kind of mark %d", l.Kind)
	}
	l = l.columns(c.Y)
	for i, d := range l.Data {
		for _, p := range l.positions(d) {
			log := c.X.Log
			if p.vertical {
				log = c.Y.Log
			}
			if math.IsNaN(p.at) || log && p.at <= 0 && !math.IsInf(p.at, -1) {
				return fmt.Errorf("datum %d stands at %g", i, p.at)
			}
			if math.IsInf(p.at, 0) && (l.Kind == Line || l.Kind == Area || l.Kind == Point) {
				return fmt.Errorf("datum %d of a line, an area or points is infinite", i)
			}
		}
	}
	return nil
}

// position is one coordinate of a mark.
type position struct {
	at       float64
	vertical bool
}

// positions are those of a datum that its kind of mark uses.
func (l Layer) positions(d Datum) []position {
	list := []position{{d.X, false}, {d.Y, true}}
	switch l.Kind {
	case Rect, Rule:
		list = append(list, position{d.X2, false}, position{d.Y2, true})
	case Area:
		list = append(list, position{d.Y2, true})
	}
	return list
}

// columns are bars as rectangles: from 0, or from the end of a logarithmic axis.
func (l Layer) columns(y Axis) Layer {
	if l.Kind != Bar {
		return l
	}
	const half = 0.38
	data := make([]Datum, len(l.Data))
	for i, d := range l.Data {
		d.X, d.X2, d.Y2 = d.X-half, d.X+half, 0
		if y.Log {
			d.Y2 = math.Inf(-1)
		}
		data[i] = d
	}
	l.Kind, l.Data = Rect, data
	return l
}

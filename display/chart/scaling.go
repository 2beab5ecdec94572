package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"forgekernel/display"
)

// Measured is a value at a number of something: threads, ranks, requests.
type Measured struct {
	N     int
	Value float64
}

// Curve is a value by number.
type Curve struct {
	Name   string
	Points []Measured
}

// Scaling shows how rates grow with the number of what the axis names, on logarithmic
// axes, where as much more for as much more is a straight line: the dashed one is
// that from the first point of the first curve on. Zeros have no place on such axes, and
// stand in the text alone.
func Scaling(title, axis, rate string, unit Unit, curves ...Curve) Figure {
	c := Chart{X: Axis{Title: axis, Log: true, Ticks: []Tick{}}, Y: Axis{Title: rate, Unit: unit, Log: true}}
	t := display.Table{Title: title, Columns: []display.Column{{Name: axis}}}
	var numbers []int
	for i, curve := range curves {
		l := Layer{Kind: Line, Name: curve.Name, Colour: Series(i)}
		for _, p := range curve.Points {
			if positive(float64(p.N)) && positive(p.Value) {
				l.Data = append(l.Data, Datum{X: float64(p.N), Y: p.Value, Tip: fmt.Sprintf("%s\n%d: %s", curve.Name, p.N, unit.Format(p.Value))})
			}
			numbers = append(numbers, p.N)
		}
		dots := l
		dots.Kind, dots.Width = Point, 7
		c.Layers = append(c.Layers, l, dots)
		t.Columns = append(t.Columns, display.Column{Name: curve.Name, Align: display.AlignRight}, display.Column{Name: "speed-up", Align: display.AlignRight})
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	for _, n := range numbers {
		if n > 0 {
			c.X.Ticks = append(c.X.Ticks, Tick{float64(n), strconv.Itoa(n)})
		}
		row := []any{n}
		for _, curve := range curves {
			row = append(row, curve.cells(n, unit)...)
		}
		t.Rows = append(t.Rows, row)
	}
	c.ideal(curves, numbers)
	return Figure{Title: title, Panels: []Chart{c}, Text: t.Text()}
}

// cells are the value at n and how many times that of the first point it is.
func (c Curve) cells(n int, unit Unit) []any {
	i := slices.IndexFunc(c.Points, func(p Measured) bool { return p.N == n })
	if i < 0 {
		return []any{nil, nil}
	}
	value := unit.Format(c.Points[i].Value)
	if !positive(c.Points[0].Value) {
		return []any{value, nil}
	}
	return []any{value, fmt.Sprintf("%.2fx", c.Points[i].Value/c.Points[0].Value)}
}

// ideal draws proportional growth below the curves.
func (c *Chart) ideal(curves []Curve, numbers []int) {
	if len(curves) == 0 || len(curves[0].Points) == 0 || len(numbers) < 2 {
		return
	}
	first, last := curves[0].Points[0], float64(numbers[len(numbers)-1])
	if !positive(float64(first.N)) || !positive(first.Value) {
		return
	}
	line := []Datum{{X: float64(first.N), Y: first.Value}, {X: last, Y: first.Value * last / float64(first.N)}}
	c.Layers = slices.Insert(c.Layers, 0, Layer{Kind: Line, Name: "proportional", Colour: Plain, Width: 1.2, Dashed: true, Data: line})
}

// Named is a value of a name.
type Named struct {
	Name  string
	Value float64
	Text  string // at the end of the bar; the value if empty
	Class display.Class
}

// Bars is a horizontal bar for each of some names, from the top.
func Bars(title, axis string, unit Unit, list ...Named) Chart {
	labels := make([]string, len(list))
	c := Chart{Title: title, X: Axis{Title: axis, Unit: unit}, Height: 24 * float64(max(len(list), 1))}
	texts := Layer{Kind: Text, Colour: Ink, DX: 6}
	least, most := 0.0, 0.0
	for i, n := range list {
		labels[i] = n.Name
		text := n.Text
		if text == "" {
			text = unit.Format(n.Value)
		}
		colour := Series(0)
		if n.Class != "" {
			colour = Of(n.Class)
		}
		row := float64(i)
		c.Layers = append(c.Layers, Layer{Kind: Rect, Colour: colour, Data: []Datum{{X: 0, X2: n.Value, Y: row - 0.36, Y2: row + 0.36, Tip: n.Name + "\n" + text}}})
		texts.Data = append(texts.Data, Datum{X: max(n.Value, 0), Y: row, Text: text})
		least, most = min(least, n.Value), max(most, n.Value)
	}
	c.Y = Rows(labels...)
	c.Layers = append(c.Layers, texts)
	if most > least && !math.IsInf(most-least, 0) {
		c.X.Min, c.X.Max = least, most
	}
	return c
}

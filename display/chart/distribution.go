package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"forgekernel/display"
)

// Sample is measurements of one thing, in any order. Those that are no finite numbers
// have no place on an axis and are left out.
type Sample struct {
	Name   string
	Values []float64
}

// wide is the ratio of values from which an axis is logarithmic.
const wide = 10

// shownQuantile is up to where the axis of a distribution reaches: the few samples
// beyond, when something else had the machine, would squeeze all others into a corner.
const shownQuantile = 0.95

// Rows of distributions, in CSS pixels.
const (
	boxRow    = 30.0
	violinRow = 54.0
)

// sorted are the samples in order, those without values left out.
func sorted(samples []Sample) []Sample {
	var list []Sample
	for _, s := range samples {
		if values := s.sorted(); len(values) > 0 {
			list = append(list, Sample{s.Name, values})
		}
	}
	return list
}

func (s Sample) sorted() []float64 {
	return slices.DeleteFunc(slices.Sorted(slices.Values(s.Values)), func(x float64) bool { return x-x != 0 })
}

// without says which samples have no values.
func without(samples []Sample) string {
	var list []string
	for _, s := range samples {
		if len(s.sorted()) == 0 {
			list = append(list, s.Name)
		}
	}
	if list == nil {
		return ""
	}
	return "no values of " + strings.Join(list, ", ")
}

// Quantile interpolates between the values of a sorted list, of which the first is
// the 0-quantile and the last the 1-quantile (type 7 of Hyndman and Fan). The
// library's linear interpolation is type 4, which places the values elsewhere.
func Quantile(sorted []float64, q float64) float64 {
	n := float64(len(sorted))
	return stat.Quantile(min((q*(n-1)+1)/n, 1), stat.LinInterp, sorted, nil)
}

// fewValues are so few that none of them is beyond the quantile of 95 %.
const fewValues = 20

// span is the axis of the values: up to the largest quantile of 95 %, and of few values
// up to the largest.
func span(title string, unit Unit, samples []Sample) Axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range samples {
		low, high = min(low, s.Values[0]), max(high, Quantile(s.Values, shownQuantile))
		if n := len(s.Values); n < fewValues {
			high = max(high, s.Values[n-1])
		}
	}
	a := Axis{Title: title, Unit: unit}
	switch {
	case len(samples) == 0:
	case low > 0 && high > wide*low:
		a.Log, a.Min, a.Max = true, low/1.1, high*1.1
	default:
		pad := max((high-low)*0.04, math.Abs(high)*1e-3)
		if pad == 0 {
			pad = 1
		}
		a.Min, a.Max = low-pad, high+pad
		if low >= 0 {
			a.Min = max(a.Min, 0)
		}
	}
	return a
}

// ECDF is the share of values that are at most x, for each sample: no bins and no
// smoothing. A curve at the left is the quicker one, a steep one the steadier.
func ECDF(title, axis string, unit Unit, samples ...Sample) Chart {
	samples = sorted(samples)
	c := Chart{Title: title, X: span(axis, unit, samples), Y: Axis{Title: "share of samples", Unit: Share, Min: 0, Max: 1}}
	for i, s := range samples {
		c.Layers = append(c.Layers, Layer{Kind: Line, Name: s.Name, Colour: Series(i), Data: steps(s.Values)})
	}
	return c
}

// curvePoints is how many steps of a curve are drawn: its width in pixels.
const curvePoints = 400

// steps are the corners of an empirical distribution function.
func steps(sorted []float64) []Datum {
	n := len(sorted)
	every := (n + curvePoints - 1) / curvePoints
	list := []Datum{{X: sorted[0], Y: 0}}
	for i := 0; i < n; i += every {
		last := list[len(list)-1].Y
		list = append(list, Datum{X: sorted[i], Y: last}, Datum{X: sorted[i], Y: float64(min(i+every, n)) / float64(n)})
	}
	return append(list, Datum{X: sorted[n-1], Y: 1})
}

// Box is a row for each sample: a box from the quantile of 25 % to that of 75 % with
// the median, and whiskers from 5 % to 95 %.
func Box(title, axis string, unit Unit, samples ...Sample) Chart {
	samples = sorted(samples)
	c := Chart{Title: title, X: span(axis, unit, samples), Y: Rows(names(samples)...), Height: boxRow * float64(max(len(samples), 1))}
	for i, s := range samples {
		c.Layers = append(c.Layers, box(s, float64(i), Series(i), unit)...)
	}
	return c
}

func names(samples []Sample) []string {
	list := make([]string, len(samples))
	for i, s := range samples {
		list[i] = s.Name
	}
	return list
}

// box is the layers of one box.
func box(s Sample, row float64, colour Colour, unit Unit) []Layer {
	var q [5]float64
	for i, p := range []float64{0.05, 0.25, 0.5, 0.75, 0.95} {
		q[i] = Quantile(s.Values, p)
	}
	const half, end = 0.3, 0.15
	tip := fmt.Sprintf("%s\nmedian %s, middle half %s to %s\n5 to 95 %%: %s to %s\nn = %d",
		s.Name, unit.Format(q[2]), unit.Format(q[1]), unit.Format(q[3]), unit.Format(q[0]), unit.Format(q[4]), len(s.Values))
	return []Layer{
		{Kind: Rule, Colour: colour, Data: []Datum{
			{X: q[0], X2: q[1], Y: row, Y2: row}, {X: q[3], X2: q[4], Y: row, Y2: row},
			{X: q[0], X2: q[0], Y: row - end, Y2: row + end}, {X: q[4], X2: q[4], Y: row - end, Y2: row + end},
		}},
		{Kind: Rect, Colour: colour, Data: []Datum{{X: q[1], X2: q[3], Y: row - half, Y2: row + half, Tip: tip}}},
		{Kind: Rule, Colour: colour, Width: 2.4, Data: []Datum{{X: q[2], X2: q[2], Y: row - half, Y2: row + half, Tip: tip}}},
	}
}

// Violin is a row for each sample: its density, as wide as there are many values,
// around a box from 25 % to 75 % with the median. The density is a sum of normal
// distributions around the values, of Silverman's width.
func Violin(title, axis string, unit Unit, samples ...Sample) Chart {
	samples = sorted(samples)
	c := Chart{Title: title, X: span(axis, unit, samples), Y: Rows(names(samples)...), Height: violinRow * float64(max(len(samples), 1))}
	for i, s := range samples {
		row, median := float64(i), Quantile(s.Values, 0.5)
		const thin = 0.07
		c.Layers = append(c.Layers,
			Layer{Kind: Area, Colour: Series(i), Width: 1, Data: density(s.Values, row, c.X)},
			Layer{Kind: Rect, Colour: Series(i), Strong: true, Data: []Datum{{
				X: Quantile(s.Values, 0.25), X2: Quantile(s.Values, 0.75), Y: row - thin, Y2: row + thin,
				Tip: fmt.Sprintf("%s\nmedian %s, n = %d", s.Name, unit.Format(median), len(s.Values)),
			}}},
			Layer{Kind: Rule, Colour: Ink, Width: 2.4, Data: []Datum{{X: median, X2: median, Y: row - 2*thin, Y2: row + 2*thin}}})
	}
	return c
}

// densityPoints is how many places of a density are drawn.
const densityPoints = 96

// density is the outline of a violin on the scale of the axis.
func density(sorted []float64, row float64, axis Axis) []Datum {
	position, value := func(x float64) float64 { return x }, func(p float64) float64 { return p }
	if axis.Log {
		position, value = math.Log, math.Exp
	}
	at := make([]float64, 0, len(sorted))
	for _, x := range sorted {
		if x <= axis.Max {
			at = append(at, position(x))
		}
	}
	width := bandwidth(at)
	from, to := max(at[0]-2*width, position(max(axis.Min, math.SmallestNonzeroFloat64))), min(at[len(at)-1]+2*width, position(axis.Max))
	list := make([]Datum, densityPoints)
	most := 0.0
	for i := range list {
		p := from + (to-from)*float64(i)/(densityPoints-1)
		d := 0.0
		for _, q := range at {
			d += math.Exp(-(p - q) * (p - q) / (2 * width * width))
		}
		list[i] = Datum{X: value(p), Y: d}
		most = max(most, d)
	}
	const half = 0.42
	for i := range list {
		d := list[i].Y / most * half
		list[i].Y, list[i].Y2 = row-d, row+d
	}
	return list
}

// bandwidth is the width of the kernel by Silverman's rule; equal values get one
// that shows them as a line.
func bandwidth(sorted []float64) float64 {
	spread := (Quantile(sorted, 0.75) - Quantile(sorted, 0.25)) / 1.34
	if len(sorted) > 1 {
		if deviation := stat.StdDev(sorted, nil); spread == 0 || deviation < spread {
			spread = deviation
		}
	}
	if width := 0.9 * spread * math.Pow(float64(len(sorted)), -0.2); width > 0 {
		return width
	}
	return max(math.Abs(sorted[0])*1e-3, 1e-9)
}

// Distribution is boxes, which name the samples, over their distribution functions
// on the same axis; in terminals, a table of the quantiles.
func Distribution(title, axis string, unit Unit, samples ...Sample) Figure {
	boxes, curves := Box("", "", unit, samples...), ECDF("", axis, unit, samples...)
	boxes.X.Ticks = []Tick{}
	curves.Height = 200
	t := display.Table{Columns: []display.Column{{Name: "sample"}}}
	quantiles := []float64{0, 0.05, 0.25, 0.5, 0.75, 0.95}
	for _, q := range quantiles {
		t.Columns = append(t.Columns, display.Column{Name: Share.Format(q), Align: display.AlignRight})
	}
	t.Columns[1].Name, t.Columns[4].Name = "least", "median"
	t.Columns = append(t.Columns, display.Column{Name: "n"})
	for _, s := range sorted(samples) {
		row := []any{s.Name}
		for _, q := range quantiles {
			row = append(row, unit.Format(Quantile(s.Values, q)))
		}
		t.Rows = append(t.Rows, append(row, len(s.Values)))
	}
	f := Figure{Title: title, Note: without(samples), Panels: []Chart{boxes, curves}}
	boxes.Title, boxes.X = "", curves.X
	text, _ := Figure{Title: title, Note: f.Note, Panels: []Chart{boxes}}.Plain() // boxes of finite samples can be drawn
	f.Text = text + "boxes from 25 to 75 % with the median, whiskers from 5 to 95 %\n\n" + t.Text()
	return f
}

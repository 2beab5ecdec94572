package capture

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// unit is a unit of time.
type unit struct {
	name    string
	seconds float64
}

var units = []unit{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"ns", 1e-9}}

// unitFor is the largest unit of which t is at least one.
func unitFor(t float64) unit {
	for _, u := range units {
		if t >= u.seconds {
			return u
		}
	}
	return units[len(units)-1]
}

// formatTime writes seconds with four significant digits: "12.34 µs".
func formatTime(t float64) string {
	u := unitFor(t)
	return significant(t/u.seconds) + " " + u.name
}

// formatInterval writes both ends in the unit of the higher: "12.1 – 12.9 µs".
func formatInterval(i Interval) string {
	u := unitFor(i.High)
	return significant(i.Low/u.seconds) + " – " + significant(i.High/u.seconds) + " " + u.name
}

// significant writes a number with four significant digits, and with an exponent
// only where it would have many zeros.
func significant(x float64) string {
	if x == 0 {
		return "0"
	}
	digits := 3 - int(math.Floor(math.Log10(math.Abs(x))))
	if digits > 7 || digits < -5 {
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	return strconv.FormatFloat(x, 'f', max(digits, 0), 64)
}

// boxWidth is the number of characters of a box plot as text.
const boxWidth = 60

// boxes draws the quantiles of each series on one axis, logarithmic where they
// are more than ten times apart:
//
//	interp written, 1 thread    |    ├──[  ┃  ]────┤        |
//
// The whiskers end at the quantiles of 5 and 95 %, the box at those of 25 and
// 75 %, and the bar is the median.
func (w *Workload) boxes() string {
	if !w.timed() {
		return ""
	}
	low, high := w.span()
	at := func(x float64) int {
		where := 0.0
		switch {
		case high > wide*low:
			where = math.Log(x/low) / math.Log(high/low)
		case high > low:
			where = (x - low) / (high - low)
		}
		return min(max(int(where*(boxWidth-1)), 0), boxWidth-1)
	}
	width := 0
	for _, s := range w.Series {
		width = max(width, len(s.Label.String()))
	}
	var b strings.Builder
	for _, s := range w.Series {
		if s.Summary != nil {
			fmt.Fprintf(&b, "%-*s  |%s|\n", width, s.Label, box(s.quantiles(), at))
		}
	}
	scale := ""
	if high > wide*low {
		scale = ", logarithmic"
	}
	fmt.Fprintf(&b, "%*s  %s to %s%s; whiskers: 5 and 95 %%, box: 25 and 75 %%, bar: median\n", width, "", formatTime(low), formatTime(high), scale)
	return b.String()
}

// wide is the ratio of times from which an axis is logarithmic.
const wide = 10

// box is one line of a plot of boxes.
func box(q [5]float64, at func(float64) int) string {
	line := []rune(strings.Repeat(" ", boxWidth))
	for i := at(q[0]); i <= at(q[4]); i++ {
		line[i] = '─'
	}
	for i := at(q[1]); i <= at(q[3]); i++ {
		line[i] = '═'
	}
	line[at(q[0])], line[at(q[4])] = '├', '┤'
	line[at(q[1])], line[at(q[3])] = '[', ']'
	line[at(q[2])] = '┃'
	return string(line)
}

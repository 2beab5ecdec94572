package capture

import (
	"math"
	"strconv"
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

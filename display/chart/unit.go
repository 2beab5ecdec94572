package chart

import (
	"math"
	"strconv"

	"forgekernel/display"
)

// Unit is what the numbers of an axis count.
type Unit uint8

// Units.
const (
	Number  Unit = iota // of anything: the title of the axis says what
	Seconds             // written in s, ms, µs or ns
	Bytes               // written in B, KiB, MiB and so on
	Share               // of one, written in per cent
)

// prefixes of large numbers.
var prefixes = []struct {
	letter string
	factor float64
}{{" T", 1e12}, {" G", 1e9}, {" M", 1e6}, {" k", 1e3}}

// times are the units of seconds.
var times = []struct {
	name   string
	factor float64
}{{" s", 1}, {" ms", 1e-3}, {" µs", 1e-6}, {" ns", 1e-9}}

// Format writes a number with four significant digits at most: "12.5 µs", "1.5 MiB",
// "40 %", "2.5 M".
func (u Unit) Format(x float64) string {
	switch u {
	case Bytes:
		if math.Abs(x) < 1<<62 {
			return display.FormatBytes(int64(math.Round(x)))
		}
	case Share:
		return significant(x*100) + " %"
	case Seconds:
		for _, t := range times {
			if math.Abs(x) >= t.factor*(1-1e-9) {
				return significant(x/t.factor) + t.name
			}
		}
		if x == 0 {
			return "0"
		}
		return significant(x/1e-9) + " ns"
	}
	if math.Abs(x) >= 1e4*(1-1e-9) {
		for _, p := range prefixes {
			if math.Abs(x) >= p.factor*(1-1e-9) {
				return significant(x/p.factor) + p.letter
			}
		}
	}
	return significant(x)
}

// significant writes x with four digits at most and no zeros at the end.
func significant(x float64) string {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	digits := 3 - int(math.Floor(math.Log10(math.Abs(x))))
	if digits > 7 || digits < -3 {
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	scale := math.Pow(10, float64(digits))
	return strconv.FormatFloat(math.Round(x*scale)/scale, 'f', -1, 64)
}

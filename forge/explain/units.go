package explain

import (
	"fmt"
	"strconv"
	"strings"
)

// flopText writes a number of operations for people: "640", "3.07 K", "1.2 G".
func flopText(n int64) string {
	return scaled(float64(n), 1000, []string{"", " K", " M", " G", " T", " P"})
}

// scaled writes x with three significant digits in the largest unit below it.
func scaled(x, base float64, units []string) string {
	i := 0
	for ; i < len(units)-1 && (x >= base || x <= -base); i++ {
		x /= base
	}
	if i == 0 {
		return fmt.Sprintf("%.0f%s", x, units[0])
	}
	digits := 2
	switch {
	case x >= 100:
		digits = 0
	case x >= 10:
		digits = 1
	}
	text := strconv.FormatFloat(x, 'f', digits, 64)
	if digits > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + units[i]
}

// shapeText writes "[8,16]".
func shapeText(shape []int) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = strconv.Itoa(d)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// change writes a relative change: "-25 %", "+3.1 %", "=".
func change(ratio float64) string {
	switch {
	case ratio == 0:
		return "="
	case ratio > -0.095 && ratio < 0.095:
		return fmt.Sprintf("%+.1f %%", ratio*100)
	}
	return fmt.Sprintf("%+.0f %%", ratio*100)
}

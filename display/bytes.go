package display

import (
	"math"
	"strconv"
)

// FormatBytes writes a number of bytes in the largest binary unit that keeps at
// least one digit before the point: "6 KiB", "1.5 MiB".
func FormatBytes(n int64) string {
	const units = "KMGTPE"
	x, unit := float64(n), -1
	for math.Abs(x) >= 1024 && unit+1 < len(units) {
		x, unit = x/1024, unit+1
	}
	if unit < 0 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64) + " " + units[unit:unit+1] + "iB"
}

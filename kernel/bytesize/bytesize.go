// Package bytesize reads and writes the sizes that people give to settings: 16MiB.
package bytesize

import (
	"fmt"
	"strconv"
	"strings"
)

// units begin with those that Format writes.
var units = []struct {
	name string
	size int64
}{
	{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3},
	{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"B", 1},
}

// Parse reads a size: a whole number, alone or with a unit behind it. KiB, MiB and GiB
// are powers of 1024, and so are K, M and G, as they are for shells; kB, MB and GB are
// powers of 1000.
func Parse(text string) (int64, error) {
	number, unit := text, int64(1)
	for _, u := range units {
		if rest, found := strings.CutSuffix(text, u.name); found {
			number, unit = strings.TrimSpace(rest), u.size
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return 0, fmt.Errorf("%q is not a number of bytes such as 1048576, 64KiB or 16MiB", text)
	}
	return n * unit, nil
}

// Format writes a size exactly, in the largest unit that divides it.
func Format(n int64) string {
	for _, u := range units[:3] {
		if n != 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

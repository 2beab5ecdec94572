package tensor

import (
	"fmt"
	"strconv"
	"strings"
)

// Limits of one tensor. They bound what any input, program or file can ask
// for; they are checked before memory is allocated.
const (
	// MaxRank is the largest number of dimensions.
	MaxRank = 8
	// MaxElements is the largest number of elements.
	MaxElements = 1 << 31
)

// Elements returns the number of elements of a shape, or an error when the
// shape has a negative dimension or exceeds [MaxRank] or, in one dimension or
// all together, [MaxElements].
func Elements(shape []int) (int, error) {
	if len(shape) > MaxRank {
		return 0, fmt.Errorf("shape %s has rank %d; the limit is %d", FormatShape(shape), len(shape), MaxRank)
	}
	n, empty := 1, false
	for i, d := range shape {
		switch {
		case d < 0:
			return 0, fmt.Errorf("shape %s has the negative dimension %d at index %d", FormatShape(shape), d, i)
		case d > MaxElements:
			return 0, fmt.Errorf("shape %s has the dimension %d; the limit is %d", FormatShape(shape), d, MaxElements)
		}
		empty = empty || d == 0
		// Two factors of at most MaxElements cannot overflow.
		n = min(n*max(d, 1), MaxElements+1)
	}
	switch {
	case empty:
		return 0, nil
	case n > MaxElements:
		return 0, fmt.Errorf("shape %s has more than %d elements, the limit for one tensor", FormatShape(shape), MaxElements)
	}
	return n, nil
}

// Strides returns the row-major strides of a shape, in elements.
func Strides(shape []int) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// FormatShape writes a shape as "[8,16]"; a scalar is "[]".
func FormatShape(shape []int) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, d := range shape {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(d))
	}
	b.WriteByte(']')
	return b.String()
}

// ShapeEqual reports whether two shapes are the same.
func ShapeEqual(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

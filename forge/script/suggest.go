package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// side is an operand that does not fit another: its text and its shape.
type side struct {
	text  string
	shape []int
}

// suggest says what would make two operands fit, when there is an obvious way.
func suggest(name string, sides []side) string {
	if len(sides) != 2 {
		return ""
	}
	a, b := sides[0], sides[1]
	if name == "matmul" {
		return suggestMatmul(a, b)
	}
	if o, err := op.Registry.Lookup(name); err != nil || o.Class != ir.Elementwise {
		return ""
	}
	for _, pair := range [][2]side{{a, b}, {b, a}} {
		if r := alignedLeft(pair[0].shape, pair[1].shape); r != nil {
			return fmt.Sprintf("shapes align at the right; to align %s at the left, write %s", pair[1].text, pair[1].reshaped(r))
		}
	}
	return "shapes align at the right, and each pair of dimensions must be equal or have a 1"
}

// suggestMatmul looks for a transposition after which the inner dimensions
// agree.
func suggestMatmul(a, b side) string {
	if len(a.shape) < 2 || len(b.shape) < 2 {
		return suggestMatrix(a, b)
	}
	rows, inner := a.shape[len(a.shape)-2], a.shape[len(a.shape)-1]
	inner2, columns := b.shape[len(b.shape)-2], b.shape[len(b.shape)-1]
	switch {
	case inner == inner2: // the leading dimensions differ
	case inner == columns && len(b.shape) == 2:
		return fmt.Sprintf("write transpose(%s) for the second operand", b.text)
	case rows == inner2 && len(a.shape) == 2:
		return fmt.Sprintf("write transpose(%s) for the first operand", a.text)
	}
	return "[..., M, K] @ [..., K, N] needs equal inner dimensions K and broadcastable leading ones"
}

// suggestMatrix says how to make a matrix of the operand that is none.
func suggestMatrix(a, b side) string {
	v := a
	if len(a.shape) >= 2 {
		v = b
	}
	if len(v.shape) == 0 {
		return "@ needs rank 2 or more; write * to scale by a number"
	}
	n := v.shape[0]
	return fmt.Sprintf("@ needs rank 2 or more; write %s or %s", v.reshaped([]int{1, n}), v.reshaped([]int{n, 1}))
}

// alignedLeft returns the shape, with ones added at the right, under which
// small would broadcast against large, or nil when that does not help.
func alignedLeft(large, small []int) []int {
	if len(small) == 0 || len(small) >= len(large) || !slices.Equal(large[:len(small)], small) {
		return nil
	}
	r := slices.Clone(small)
	for len(r) < len(large) {
		r = append(r, 1)
	}
	return r
}

// reshaped is the text of a call that gives v another shape.
func (v side) reshaped(shape []int) string {
	dims := make([]string, len(shape))
	for i, d := range shape {
		dims[i] = strconv.Itoa(d)
	}
	return fmt.Sprintf("reshape(%s, %s)", v.text, strings.Join(dims, ", "))
}

package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"forgekernel/forge/ir"
)

// suggest says what would make operands of these shapes fit, when there is an
// obvious way.
func suggest(op string, in []*ir.Value) string {
	if len(in) != 2 {
		return ""
	}
	a, b := in[0], in[1]
	if op == "matmul" {
		return suggestMatmul(a, b)
	}
	if r := alignedLeft(a.Spec.Shape, b.Spec.Shape); r != nil {
		return fmt.Sprintf("shapes align at the right; to align %s at the left, write %s", plainName(b), reshapeCall(b, r))
	}
	if r := alignedLeft(b.Spec.Shape, a.Spec.Shape); r != nil {
		return fmt.Sprintf("shapes align at the right; to align %s at the left, write %s", plainName(a), reshapeCall(a, r))
	}
	return "shapes align at the right, and each pair of dimensions must be equal or have a 1"
}

// suggestMatmul looks for a transposition after which the inner dimensions
// agree.
func suggestMatmul(a, b *ir.Value) string {
	m, n := a.Spec.Shape, b.Spec.Shape
	switch {
	case len(m) < 2 || len(n) < 2:
		v := a
		if len(m) >= 2 {
			v = b
		}
		if d := v.Spec.Shape; len(d) == 1 {
			return fmt.Sprintf("@ needs rank 2 or more; write %s or %s", reshapeCall(v, []int{1, d[0]}), reshapeCall(v, []int{d[0], 1}))
		}
		return "@ needs rank 2 or more; write * to scale by a number"
	case m[len(m)-1] != n[len(n)-2] && m[len(m)-1] == n[len(n)-1] && len(n) == 2:
		return fmt.Sprintf("write transpose(%s) for the second operand", plainName(b))
	case m[len(m)-1] != n[len(n)-2] && m[len(m)-2] == n[len(n)-2] && len(m) == 2:
		return fmt.Sprintf("write transpose(%s) for the first operand", plainName(a))
	}
	return "[..., M, K] @ [..., K, N] needs equal inner dimensions K and broadcastable leading ones"
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

func reshapeCall(v *ir.Value, shape []int) string {
	dims := make([]string, len(shape))
	for i, d := range shape {
		dims[i] = strconv.Itoa(d)
	}
	return fmt.Sprintf("reshape(%s, %s)", plainName(v), strings.Join(dims, ", "))
}

// plainName is the variable that holds v, or an ellipsis for a value that has
// no name in the source.
func plainName(v *ir.Value) string {
	if isDigit(v.Name[0]) {
		return "…"
	}
	return v.Name
}

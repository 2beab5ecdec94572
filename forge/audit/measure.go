package audit

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Error is the distance of a value from the float64 result.
type Error struct {
	// Relative is the largest difference over the largest magnitude of the
	// float64 result; infinite when elements are lost.
	Relative tensor.Number `json:"relative"`
	// ULP is the largest difference in units in the last place, of the value's
	// type, at the element itself.
	ULP tensor.Number `json:"ulp"`
	// Lost counts elements that are a NaN or an infinity where the float64 result
	// is a number or the other, or the other way round.
	Lost int `json:"lost"`
	// Differ counts the elements of integers and bools that differ.
	Differ int `json:"differ"`
}

// measure compares the two runs of a value.
func measure(p pair) Error {
	var e Error
	var difference, magnitude float64
	for i := range p.narrow.Len() {
		x, y := p.narrow.Elem(i), p.wide.Elem(i)
		if lost(x, y) {
			e.Lost++
			continue
		}
		if !finite(x) || !finite(y) {
			continue
		}
		d := math.Abs(x - y)
		difference, magnitude = math.Max(difference, d), math.Max(magnitude, math.Abs(y))
		e.ULP = tensor.Number(math.Max(float64(e.ULP), d/tensor.ULP(p.narrow.DType(), y)))
		if d > 0 && !p.narrow.DType().IsFloat() {
			e.Differ++
		}
	}
	switch {
	case e.Lost > 0:
		e.Relative = tensor.Number(math.Inf(1))
	case difference > 0 && magnitude > 0:
		e.Relative = tensor.Number(difference / magnitude)
	case difference > 0: // the reference is zero everywhere
		e.Relative = tensor.Number(math.Inf(1))
	}
	return e
}

// lost reports whether x is not what y is: a NaN or infinity in place of a
// finite number, another infinity, or a number in place of either.
func lost(x, y float64) bool {
	if finite(x) && finite(y) {
		return false
	}
	return x != y && (x == x || y == y)
}

func finite(v float64) bool { return v-v == 0 }

// anyElement reports whether an element of a floating-point tensor satisfies
// the condition.
func anyElement(t *tensor.Tensor, is func(float64) bool) bool {
	if !t.DType().IsFloat() {
		return false
	}
	for i := range t.Len() {
		if is(t.Elem(i)) {
			return true
		}
	}
	return false
}

// Origin is the first node that makes a NaN of operands without NaN, or an
// infinity of finite ones.
type Origin struct {
	Value   string        `json:"value"`
	Op      string        `json:"op"`
	Source  string        `json:"source,omitempty"` // "softmax.fs:7:9"
	Element int           `json:"element"`          // the first such element, in row-major order
	Index   []int         `json:"index"`
	Result  tensor.Number `json:"result"`
	// Reference is what float64 gives there. Finite, it says that the program
	// overflows the range of its type; otherwise its own arithmetic has no
	// finite result.
	Reference tensor.Number `json:"reference"`
}

// findOrigin notes the origin if n is one and none is known.
func (r *Report) findOrigin(n *ir.Node, in, out []pair) {
	if r.Origin != nil {
		return
	}
	nan, infinite := false, false
	for _, p := range in {
		nan = nan || anyElement(p.narrow, math.IsNaN)
		infinite = infinite || anyElement(p.narrow, func(v float64) bool { return !finite(v) })
	}
	for k, p := range out {
		if !p.narrow.DType().IsFloat() {
			continue
		}
		for i := range p.narrow.Len() {
			x := p.narrow.Elem(i)
			if math.IsNaN(x) && !nan || math.IsInf(x, 0) && !infinite {
				r.Origin = &Origin{
					Value: n.Out[k].String(), Op: n.Op.Name, Source: n.Out[k].Pos().String(), Element: i,
					Index: unravel(i, p.narrow.Shape()), Result: tensor.Number(x), Reference: tensor.Number(p.wide.Elem(i)),
				}
				return
			}
		}
	}
}

// unravel turns an element number into an index.
func unravel(i int, shape []int) []int {
	index := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		index[d] = i % shape[d]
		i /= shape[d]
	}
	return index
}

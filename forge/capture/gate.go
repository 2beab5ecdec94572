package capture

import (
	"fmt"
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// NewGate compares results with those of the reference. The outputs of the program
// say which tolerances hold: a reference is computed in float64 whatever they are.
func NewGate(outputs []*ir.Value, got, want []*tensor.Tensor) (*Gate, error) {
	if len(got) != len(outputs) {
		return nil, fmt.Errorf("there are %d results, not %d", len(got), len(outputs))
	}
	g := &Gate{}
	for i, v := range outputs {
		if !tensor.ShapeEqual(got[i].Shape(), v.Spec.Shape) {
			return nil, fmt.Errorf("result %d has the shape %s, not %s", i, tensor.FormatShape(got[i].Shape()), tensor.FormatShape(v.Spec.Shape))
		}
		t := tolerances[v.Spec.DType]
		g.Relative, g.Absolute = max(g.Relative, t.relative), max(g.Absolute, t.absolute)
		absolute := t.absolute
		if v.Spec.DType == tensor.F32 || v.Spec.DType == tensor.F64 {
			absolute *= max(1, rms(want[i]))
		}
		g.add(t.relative, absolute, got[i], want[i])
	}
	return g, nil
}

// rms is the root mean square of the finite elements. An element near zero of a long sum
// errs as its terms do, which are as large as those of its neighbours: of 4096 terms the
// partial sums reach 64 times the size of one. Halves have no need of it, since their
// tolerance is that of the rounding of a result.
func rms(t *tensor.Tensor) float64 {
	sum, n := 0.0, 0
	for i := range t.Len() {
		if y := t.Elem(i); y-y == 0 {
			sum += y * y
			n++
		}
	}
	return finite(math.Sqrt(sum / float64(max(n, 1))))
}

// add compares one result.
func (g *Gate) add(relative, absolute float64, got, want *tensor.Tensor) {
	for i := range got.Len() {
		x, y := got.Elem(i), want.Elem(i)
		if x-x != 0 {
			g.NonFinite++
			continue
		}
		off := finite(math.Abs(x - y))
		if off == 0 {
			continue
		}
		g.MaxAbs = max(g.MaxAbs, off)
		if y != 0 {
			g.MaxRel = max(g.MaxRel, finite(off/math.Abs(y)))
		}
		g.Worst = max(g.Worst, finite(off/(absolute+relative*math.Abs(y))))
	}
}

// finite is x, or the largest number where x is infinite or no number: JSON has
// neither, and the error of a finite result that should be neither is as large.
func finite(x float64) float64 {
	if x-x != 0 {
		return math.MaxFloat64
	}
	return x
}

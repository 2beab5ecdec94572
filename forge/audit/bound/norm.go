package bound

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// ofNorm follows the errors through a normalised line: of the mean, of each
// difference, of the mean square, of the inverse root (over the interval that
// the mean square may lie in) and of the scaling by weight and bias.
func ofNorm(n *ir.Node, in []*tensor.Tensor, want *tensor.Tensor) limits {
	axis := n.Int("axis")
	if axis < 0 {
		axis += in[0].Rank()
	}
	length := 1
	for _, d := range in[0].Shape()[axis:] {
		length *= d
	}
	var l normLine
	start := -1
	return func(i int) float64 {
		if i/length*length != start {
			start = i / length * length
			l = newNormLine(in[0], start, length, n.Float("eps"), n.Op.Name == "layer_norm")
		}
		d, err := l.difference(in[0].Elem(i))
		total := err*(l.scale+l.scaleErr) + math.Abs(d)*(l.scaleErr+unit*l.scale) + tiny
		if len(in) > 1 {
			w := math.Abs(in[1].Elem(i - start))
			if l.open || math.IsInf(w, 1) { // a difference may be 0, and 0*inf is NaN
				return math.Inf(1)
			}
			total = total*w + unit*math.Abs(d)*l.scale*w
		}
		if l.open {
			return math.Inf(1)
		}
		return (total+2*unit*math.Abs(want.Elem(i)))*1.01 + 4*tiny
	}
}

// normLine holds what all elements of a normalised line share.
type normLine struct {
	mean, meanErr   float64 // zero for rms_norm
	scale, scaleErr float64 // the inverse root
	open            bool    // float32 may overflow, or divide by zero
}

// difference is x - mean and its error.
func (l *normLine) difference(x float64) (d, err float64) {
	d = x - l.mean
	if l.meanErr > 0 {
		err = l.meanErr + unit*math.Abs(d)
	}
	return d, err
}

func newNormLine(x *tensor.Tensor, start, n int, eps float64, centred bool) normLine {
	var l normLine
	k := float64(n+3) * unit
	sum := 0.0
	for j := range n {
		sum += math.Abs(x.Elem(start + j))
		if centred {
			l.mean += x.Elem(start+j) / float64(n)
			l.meanErr += (k*math.Abs(x.Elem(start+j)) + tiny) / float64(n)
		}
	}
	var square, squareErr float64
	for j := range n {
		d, err := l.difference(x.Elem(start + j))
		square += d * d / float64(n)
		squareErr += (2*math.Abs(d)*err+err*err+k*d*d)/float64(n) + tiny
	}
	least := max(square-squareErr, 0) + eps
	l.open = overflows(sum) || overflows((square+squareErr)*float64(n)) || !(least > 0)
	l.scale = 1 / math.Sqrt(square+eps)
	l.scaleErr = 1/math.Sqrt(least) - l.scale + 4*unit*l.scale
	return l
}

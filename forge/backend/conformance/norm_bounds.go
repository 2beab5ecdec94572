package conformance

import (
	"math"

	"forgekernel/forge/tensor"
)

// logSoftmaxBound adds up absolute errors: rounding x-max, the logarithm of a
// sum with the relative error of softmax's, its own unit, and the last
// subtraction.
func logSoftmaxBound(x, want *tensor.Tensor, axis int) func(i int) float64 {
	if axis < 0 {
		axis += x.Rank()
	}
	n, step := x.Dim(axis), x.Strides()[axis]
	return func(i int) float64 {
		start := i - i/step%n*step
		top, mean := math.Inf(-1), 0.0
		for j := range n {
			top = math.Max(top, x.Elem(start+j*step))
		}
		for j := range n {
			if d := top - x.Elem(start+j*step); !math.IsInf(d, 0) {
				mean += math.Exp(want.Elem(start+j*step)) * d
			}
		}
		d := top - x.Elem(i)
		units := d + mean + float64(n) + 6 + 2*math.Abs(d+want.Elem(i)) + math.Abs(want.Elem(i))
		return units*unit*1.01 + 2*tiny
	}
}

// normBound follows the errors through a normalised line: of the mean, of each
// difference, of the mean square, of the inverse root (over the interval that
// the mean square may lie in) and of the scaling by weight and bias.
func (c *opCase) normBound(inputs []*tensor.Tensor, want *tensor.Tensor) func(i int) float64 {
	axis := c.attrs["axis"].(int)
	if axis < 0 {
		axis += inputs[0].Rank()
	}
	n := 1
	for _, d := range inputs[0].Shape()[axis:] {
		n *= d
	}
	eps, ok := c.attrs["eps"].(float64)
	if !ok {
		eps = 1e-5
	}
	var line normLine
	start := -1
	return func(i int) float64 {
		if i/n*n != start { // elements are asked for in order
			start = i / n * n
			line = newNormLine(inputs[0], start, n, eps, c.op.Name == "layer_norm")
		}
		d, err := line.difference(inputs[0].Elem(i))
		total := err*(line.scale+line.scaleErr) + math.Abs(d)*(line.scaleErr+unit*line.scale) + tiny
		if len(inputs) > 1 {
			w := math.Abs(inputs[1].Elem(i - start))
			total = total*w + unit*math.Abs(d)*line.scale*w
		}
		return (total+2*unit*math.Abs(want.Elem(i)))*1.01 + 4*tiny
	}
}

// normLine holds what all elements of a normalised line share.
type normLine struct {
	mean, meanErr   float64 // zero for rms_norm
	scale, scaleErr float64 // the inverse root
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
	if centred {
		for j := range n {
			l.mean += x.Elem(start+j) / float64(n)
			l.meanErr += k * math.Abs(x.Elem(start+j)) / float64(n)
		}
	}
	var square, squareErr float64
	for j := range n {
		d, err := l.difference(x.Elem(start + j))
		square += d * d / float64(n)
		squareErr += (2*math.Abs(d)*err + err*err + k*d*d) / float64(n)
	}
	l.scale = 1 / math.Sqrt(square+eps)
	l.scaleErr = 1/math.Sqrt(max(square-squareErr, 0)+eps) - l.scale + 4*unit*l.scale
	return l
}

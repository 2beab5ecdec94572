package loop

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Bounds of what is computed as a product of few pixels and many channels: with
// fewer channels, or more pixels, lanes run along the pixels as well.
const (
	fewPixels    = 8
	manyChannels = 16
)

// turned is the convolution with rows and columns exchanged where an image of
// results is one column under a kernel of one, so that its pixels are neighbours
// in a row.
func (c *Convolution) turned() *Convolution {
	if c.H.Out > 1 || c.H.Taps > 1 || c.V.Out == 1 {
		return c
	}
	t := *c
	t.V, t.H = c.H, c.V
	for _, a := range []*Access{&t.X, &t.W, &t.Out} {
		s := a.Strides
		a.Strides = []int{s[0], s[1], s[3], s[2]}
	}
	t.Out.Strides[3] = 1
	return &t
}

// channelwise makes the convolution a product of pixels and weights, whose columns
// are the channels. It is worth it where an image of results has few pixels, and
// needs weights that can be packed. Windows that no steps reach are gathered by a
// kernel of their own first. It reports whether it did.
func (l *lowering) channelwise(c *Convolution, w *ir.Value) bool {
	pixels, taps := c.V.Out*c.H.Out, c.V.Taps*c.H.Taps
	steps := c.W.Strides
	dense := steps[2] == c.H.Taps*steps[3] && steps[1] == taps*steps[3] || taps == 1
	if pixels > fewPixels || c.Outputs < manyChannels || w.Def == nil || w.Def.Op.Class != ir.Constant || !dense {
		return false
	}
	padded := c.V.Padded() || c.H.Padded()
	if padded && !finite(w.Def.Tensor("value")) {
		return false
	}
	step := steps[3]
	if taps == 1 {
		step = steps[1]
	}
	p := &Contraction{
		Batch: []int{c.Images, c.Groups}, M: pixels, N: c.Outputs, K: c.Inputs * taps, Elem: c.Elem, Weight: c.Elem, Epilogue: c.Epilogue,
		B:   Access{Param: c.W.Param, Strides: []int{0, c.Outputs * steps[0], step, steps[0]}},
		Out: Access{Param: c.Out.Param, Strides: []int{c.Out.Strides[0], c.Outputs * c.Out.Strides[1], 1, c.Out.Strides[1]}},
	}
	if c.Bias != nil {
		step := c.Bias.Strides[1]
		p.Bias = &Access{Param: c.Bias.Param, Strides: []int{0, 0, 0, step}}
		if c.Groups > 1 {
			p.Bias.Strides[1] = c.Outputs * step
		}
	}
	if a := c.windows(); a != nil && !padded {
		p.A = *a
	} else {
		p.A = l.gatherWindows(c)
	}
	if c.Groups == 1 && pixels == 1 { // images are rows
		p.Batch, p.M = []int{1, 1}, c.Images
		p.A.Strides[2], p.Out.Strides[2] = p.A.Strides[0], p.Out.Strides[0]
	}
	l.kernel.Contraction = p
	return true
}

// windows walks over the taps of each pixel where a step for pixels and one for taps
// reach all, else it is nil.
func (c *Convolution) windows() *Access {
	x := c.X.Strides
	a := &Access{Param: c.X.Param, Strides: []int{x[0], c.Inputs * x[1], 0, 0}}
	down, along := x[2]*c.V.Stride, x[3]*c.H.Stride
	switch {
	case c.V.Out == 1:
		a.Strides[2] = along
	case c.H.Out == 1 || down == c.H.Out*along:
		a.Strides[2] = along
		if c.H.Out == 1 {
			a.Strides[2] = down
		}
	default:
		return nil
	}
	walks := []int{x[1], x[2] * c.V.Dilation, x[3] * c.H.Dilation}
	dims := merge([]int{c.Inputs, c.V.Taps, c.H.Taps}, []*[]int{&walks})
	a.Strides[3] = walks[0]
	if len(dims) > 1 {
		return nil
	}
	return a
}

// gatherWindows copies the taps of each pixel, and zeros for those in the padding,
// into memory of the node, and begins the kernel that reads them.
func (l *lowering) gatherWindows(c *Convolution) Access {
	taps := c.V.Taps * c.H.Taps
	length, pixels := c.Inputs*taps, c.V.Out*c.H.Out
	rows := &Local{Name: "windows", DType: c.Elem, Elements: c.Images * c.Groups * pixels * length}
	last := l.kernel
	l.kernel = &Kernel{Op: last.Op}
	l.kernels[len(l.kernels)-1] = l.kernel
	x := l.move(&Access{Param: l.addParam(last.Params[c.X.Param]), Offset: -c.V.Before*c.X.Strides[2] - c.H.Before*c.X.Strides[3]})
	out := &Access{Param: l.addParam(Param{Local: rows, Written: true}), Bits: x.Access.Bits}
	shape := []int{c.Images, c.Groups, c.V.Out, c.H.Out, c.V.Taps, c.H.Taps, c.Inputs}
	s := c.X.Strides
	x.Access.Strides = []int{s[0], c.Inputs * s[1], c.V.Stride * s[2], c.H.Stride * s[3], c.V.Dilation * s[2], c.H.Dilation * s[3], s[1]}
	out.Strides = []int{c.Groups * pixels * length, pixels * length, c.H.Out * length, length, c.H.Taps, 1, taps}
	for i, w := range []Window{c.V, c.H} {
		if w.Padded() {
			g := Guard{Affine{Offset: -w.Before, Strides: make([]int, len(shape))}, w.In}
			g.Strides[2+i], g.Strides[4+i] = w.Stride, w.Dilation
			x.Access.Guards = append(x.Access.Guards, g)
		}
	}
	if len(x.Access.Guards) > 0 {
		x.Args = []*Expr{number(x.Type, 0)}
	}
	l.pointwise(shape, out, x)
	l.kernels = append(l.kernels, last)
	l.kernel = last
	// The windows stand where the images stood.
	last.Params[c.X.Param] = Param{Local: rows}
	return Access{Param: c.X.Param, Strides: []int{c.Groups * pixels * length, pixels * length, length, 1}}
}

// finite reports whether no element is NaN or infinite.
func finite(t *tensor.Tensor) bool {
	for i := range t.Len() {
		if v := t.Elem(i); math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

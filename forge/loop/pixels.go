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
	if padded && !Finite(w.Def.Tensor("value")) {
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
// into memory of the node.
func (l *lowering) gatherWindows(c *Convolution) Access {
	taps := c.V.Taps * c.H.Taps
	length, pixels := c.Inputs*taps, c.V.Out*c.H.Out
	s := c.X.Strides
	x := &Access{
		Offset:  -c.V.Before*s[2] - c.H.Before*s[3],
		Strides: []int{s[0], c.Inputs * s[1], c.V.Stride * s[2], c.H.Stride * s[3], c.V.Dilation * s[2], c.H.Dilation * s[3], s[1]},
	}
	for i, w := range []Window{c.V, c.H} {
		if w.Padded() {
			g := Guard{Affine{Offset: -w.Before, Strides: make([]int, len(x.Strides))}, w.In}
			g.Strides[2+i], g.Strides[4+i] = w.Stride, w.Dilation
			x.Guards = append(x.Guards, g)
		}
	}
	l.gatherImages(c, "windows", []int{c.Images, c.Groups, c.V.Out, c.H.Out, c.V.Taps, c.H.Taps, c.Inputs}, x,
		[]int{c.Groups * pixels * length, pixels * length, c.H.Out * length, length, c.H.Taps, 1, taps})
	return Access{Param: c.X.Param, Strides: []int{c.Groups * pixels * length, pixels * length, length, 1}}
}

// thinned is a convolution whose kernels are single numbers that move in larger
// steps: it copies the pixels that they see into memory of the node first, so that
// the steps are of one. That is worth it where many channels read each pixel.
func (l *lowering) thinned(c *Convolution) *Convolution {
	if c.V.Taps*c.H.Taps > 1 || c.V.Stride*c.H.Stride == 1 || c.V.Padded() || c.H.Padded() || c.Outputs < manyChannels {
		return c
	}
	channels, pixels := c.Groups*c.Inputs, c.V.Out*c.H.Out
	s, dense := c.X.Strides, []int{channels * pixels, pixels, c.H.Out, 1}
	l.gatherImages(c, "pixels", []int{c.Images, channels, c.V.Out, c.H.Out}, &Access{Strides: []int{s[0], s[1], c.V.Stride * s[2], c.H.Stride * s[3]}}, dense)
	t := *c
	t.V, t.H = Window{c.V.Out, c.V.Out, 1, 1, 1, 0}, Window{c.H.Out, c.H.Out, 1, 1, 1, 0}
	t.X.Strides = dense
	return &t
}

// gatherImages copies what x reads of the images into memory of the node, where the steps
// are to, and begins the kernel that reads it in place of the images.
func (l *lowering) gatherImages(c *Convolution, name string, shape []int, x *Access, to []int) {
	rows := &Local{Name: name, DType: c.Elem, Elements: product(shape)}
	last := l.kernel
	l.kernel = &Kernel{Op: last.Op}
	l.kernels[len(l.kernels)-1] = l.kernel
	x.Param = l.addParam(last.Params[c.X.Param])
	from := l.move(x)
	if len(x.Guards) > 0 {
		from.Args = []*Expr{number(from.Type, 0)}
	}
	l.pointwise(shape, &Access{Param: l.addParam(Param{Local: rows, Written: true}), Bits: from.Access.Bits, Strides: to}, from)
	l.kernels = append(l.kernels, last)
	l.kernel = last
	last.Params[c.X.Param] = Param{Local: rows}
}

// Finite reports whether no element is NaN or infinite.
func Finite(t *tensor.Tensor) bool {
	for i := range t.Len() {
		if v := t.Elem(i); math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

package loop

import "forgekernel/forge/tensor"

// Convolution is Out = Epilogue(Bias + X * W): the correlation of images with
// kernels. Each group of output channels reads its own group of input channels.
// Taps outside an image take no part. Sums run in order of input channel, kernel
// row and kernel column.
type Convolution struct {
	Images, Groups  int
	Inputs, Outputs int    // channels of one group
	V, H            Window // down the rows, and along them
	Elem            tensor.DType
	X               Access  // over image, channel, row and column
	W               Access  // over output channel, input channel of the group, row and column
	Out             Access  // over image, channel, row and column; neighbouring columns are adjacent
	Bias            *Access // over image, channel, row and column; nil for none
	Epilogue        *Expr   // of each sum, which it names [Acc]; nil for none
}

// Window is how a kernel moves along one dimension: output o reads input
// o*Stride - Before + k*Dilation for each of the taps k.
type Window struct{ In, Out, Taps, Stride, Dilation, Before int }

// Span is the number of inputs from the first tap of one output to the last tap of
// the one that is n-1 further.
func (w Window) Span(n int) int { return (n-1)*w.Stride + (w.Taps-1)*w.Dilation + 1 }

// Padded reports whether some tap lies outside.
func (w Window) Padded() bool { return w.Before > 0 || w.Span(w.Out)-w.Before > w.In }

// FLOPs counts two operations for each multiply-add, also in the padding.
func (c *Convolution) FLOPs() int64 {
	return 2 * int64(c.Images) * int64(c.Groups) * int64(c.Outputs) * int64(c.V.Out) * int64(c.H.Out) *
		int64(c.Inputs) * int64(c.V.Taps) * int64(c.H.Taps)
}

// convolution lowers conv2d. One whose kernels are single numbers that move in steps
// of one, or that many channels read after a copy, is a product of the matrix of
// weights and the images; one of few pixels and many channels is a product of the pixels and the weights.
func (l *lowering) convolution() error {
	n := l.node
	x, w, y := n.In[0].Spec.Shape, n.In[1].Spec.Shape, n.Out[0].Spec.Shape
	groups := n.Int("groups")
	pair := func(name string, i int) int {
		if list := n.Ints(name); list != nil {
			return int(list[i])
		}
		return 1
	}
	window := func(i int) Window {
		before := 0
		if p := n.Ints("padding"); p != nil {
			before = int(p[i]) // [h, w] and [top, left, bottom, right] begin alike
		}
		return Window{x[2+i], y[2+i], w[2+i], pair("stride", i), pair("dilation", i), before}
	}
	c := &Convolution{
		Images: x[0], Groups: groups, Inputs: x[1] / groups, Outputs: y[1] / groups, V: window(0), H: window(1),
		Elem: n.Out[0].Spec.DType, Out: *l.out(),
		X: Access{Param: l.param(n.In[0], false), Strides: l.layout(n.In[0])},
		W: Access{Param: l.param(n.In[1], false), Strides: l.layout(n.In[1])},
	}
	c.Out.Strides[3] = 1
	if len(n.In) > 2 {
		c.Bias = &Access{Param: l.param(n.In[2], false), Strides: []int{0, l.layout(n.In[2])[0], 0, 0}}
	}
	var err error
	if c.Epilogue, err = l.activation(); err != nil {
		return err
	}
	c = c.turned()
	if l.channelwise(c, n.In[1]) {
		return nil
	}
	c = l.thinned(c)
	if p := c.product(); p != nil {
		l.kernel.Contraction = p
	} else {
		l.kernel.Convolution = c
	}
	return nil
}

// product is the convolution as a contraction for each image and group, or nil.
func (c *Convolution) product() *Contraction {
	x, w := c.X.Strides, c.W.Strides
	if c.V.Taps*c.H.Taps > 1 || c.V.Stride*c.H.Stride > 1 || c.V.Padded() || c.H.Padded() || c.V.Out > 1 && x[2] != c.H.In*x[3] {
		return nil
	}
	pixels := c.V.Out * c.H.Out
	p := &Contraction{
		M: c.Outputs, N: pixels, K: c.Inputs, Elem: c.Elem, Weight: c.Elem, Epilogue: c.Epilogue,
		Batch: []int{c.Images, c.Groups},
		A:     Access{Param: c.W.Param, Strides: []int{0, c.Outputs * w[0], w[0], w[1]}},
		B:     Access{Param: c.X.Param, Strides: []int{x[0], c.Inputs * x[1], x[1], x[3]}},
		Out:   Access{Param: c.Out.Param, Strides: []int{c.Out.Strides[0], c.Outputs * c.Out.Strides[1], c.Out.Strides[1], 1}},
	}
	if c.Bias != nil {
		step := c.Bias.Strides[1]
		p.Bias = &Access{Param: c.Bias.Param, Strides: []int{0, c.Outputs * step, step, 0}}
	}
	return p
}

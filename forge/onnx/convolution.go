package onnx

import (
	"slices"
	"strings"

	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]operator{
	"Conv": {1, conv}, "ConvTranspose": {1, convTranspose},
	"com.microsoft.FusedConv": {1, fusedConv},
})

func conv(c *call) { c.set(0, c.conv()) }

func (c *call) conv() *ir.Value {
	rank := len(c.ranked(0, 3, tensor.MaxRank))
	c.ranked(1, rank, rank)
	x, w := c.arg(0), c.arg(1)
	return c.Convolve(x, w, c.optional(2), c.convWindow(w.Spec.Shape), c.small("group", 1, 1))
}

// convWindow is the window of a kernel.
func (c *call) convWindow(kernel []int) *formula.Window {
	win := c.window(slices.Clone(kernel[2:]))
	if k := c.ints("kernel_shape"); k != nil && !slices.Equal(c.Lengths(k), win.Kernel) {
		c.Fail("kernel_shape is %v; the kernel is %v", k, kernel)
	}
	return win
}

// fusedConv adds operand 3 and applies an activation.
func fusedConv(c *call) {
	v := c.conv()
	if c.has(3) {
		v = c.Add(v, c.arg(3))
	}
	params := c.floats("activation_params")
	param := func(i int) float64 {
		if i >= len(params) {
			c.Fail("there are %d activation_params", len(params))
		}
		return float64(params[i])
	}
	switch act := c.str("activation", ""); act {
	case "":
	case "Relu", "Tanh", "Sigmoid":
		v = c.Op(strings.ToLower(act), nil, v)
	case "LeakyRelu":
		v = c.Negative(v, c.Scale(v, param(0)))
	case "HardSigmoid":
		v = c.HardSigmoid(v, param(0), param(1))
	case "Clip":
		v = c.Op("minimum", nil, c.Op("maximum", nil, v, c.Number(v, param(0))), c.Number(v, param(1)))
	default:
		c.unsupportedf("activation %q", act)
		return
	}
	c.set(0, v)
}

func convTranspose(c *call) {
	x, w := c.arg(0), c.arg(1)
	xs, ws := x.Spec.Shape, w.Spec.Shape
	groups := c.small("group", 1, 1)
	if len(ws) != len(xs) || len(xs) < 3 || ws[0] != xs[1] || ws[0]%groups != 0 {
		c.Fail("the kernel %v with %d groups does not fit %v", w.Spec, groups, x.Spec)
	}
	n := len(xs) - 2
	win := &formula.Window{In: xs[2:], Kernel: ws[2:], Stride: c.perDim("strides", n), Dilation: c.perDim("dilations", n), Extra: make([]int, n)}
	if k := c.ints("kernel_shape"); k != nil && !slices.Equal(c.Lengths(k), win.Kernel) {
		c.Fail("kernel_shape is %v; the kernel is %v", k, w.Spec)
	}
	more := make([]int, n)
	if list := c.ints("output_padding"); list != nil {
		if more = c.Lengths(list); len(more) != n {
			c.Fail("output_padding is %v", list)
		}
	}
	c.padTransposed(win, more)
	c.set(0, c.ConvolveTransposed(x, w, c.optional(2), win, more, groups))
}

// padTransposed reads the padding, which cuts the result, or works it out from the
// shape that the result is to have.
func (c *call) padTransposed(w *formula.Window, more []int) {
	n := len(w.In)
	auto, shape := c.str("auto_pad", "NOTSET"), c.ints("output_shape")
	if shape == nil && (auto == "NOTSET" || auto == "VALID") {
		c.padWindow(w)
		return
	}
	w.Low, w.High = make([]int, n), make([]int, n)
	for i := range n {
		out := w.In[i] * w.Stride[i]
		if shape != nil {
			if len(shape) < n {
				c.Fail("output_shape is %v", shape)
			}
			out = c.Lengths(shape[len(shape)-n+i:][:1])[0]
		}
		total := w.Stride[i]*(w.In[i]-1) + more[i] + w.Span(i) - out
		if total < 0 {
			more[i] -= total
			total = 0
		}
		w.Low[i], w.High[i] = total-total/2, total/2
		if auto == "SAME_UPPER" {
			w.Low[i], w.High[i] = total/2, total-total/2
		}
	}
}

package onnx

import (
	"slices"
	"strings"

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
	return c.convolve(x, w, c.optional(2), c.convWindow(w.Spec.Shape), c.small("group", 1, 1))
}

// convWindow is the window of a kernel.
func (c *call) convWindow(kernel []int) *window {
	win := c.window(slices.Clone(kernel[2:]))
	if k := c.ints("kernel_shape"); k != nil && !slices.Equal(c.lengths(k), win.kernel) {
		c.fail("kernel_shape is %v; the kernel is %v", k, kernel)
	}
	return win
}

// fusedConv adds operand 3 and applies an activation.
func fusedConv(c *call) {
	v := c.conv()
	if c.has(3) {
		v = c.add(v, c.arg(3))
	}
	params := c.floats("activation_params")
	param := func(i int) float64 {
		if i >= len(params) {
			c.fail("there are %d activation_params", len(params))
		}
		return float64(params[i])
	}
	switch act := c.str("activation", ""); act {
	case "":
	case "Relu", "Tanh", "Sigmoid":
		v = c.op(strings.ToLower(act), nil, v)
	case "LeakyRelu":
		v = c.negative(v, c.scale(v, param(0)))
	case "HardSigmoid":
		v = c.hardSigmoid(v, param(0), param(1))
	case "Clip":
		v = c.op("minimum", nil, c.op("maximum", nil, v, c.number(v, param(0))), c.number(v, param(1)))
	default:
		c.unsupportedf("activation %q", act)
		return
	}
	c.set(0, v)
}

// convolve works in any number of dimensions: one and two by conv2d, more by adding
// up convolutions over the slices of the first.
func (c *call) convolve(x, w, bias *ir.Value, win *window, groups int) *ir.Value {
	if len(win.in) > 2 {
		return c.convolveSlices(x, w, bias, win, groups)
	}
	xs, ws := x.Spec.Shape, w.Spec.Shape
	f := win.flat()
	if win.thin() {
		f = win.part(0, 1).flat()
	}
	attrs := f.attrs()
	attrs["groups"] = groups
	in := []*ir.Value{c.reshape(x, xs[0], xs[1], f.in[0], f.in[1]), c.reshape(w, ws[0], ws[1], f.kernel[0], f.kernel[1])}
	if bias != nil {
		in = append(in, bias)
	}
	v := c.op("conv2d", attrs, in...)
	out := []int{xs[0], ws[0]}
	for i := range win.in {
		out = append(out, win.count(i))
	}
	return c.reshape(v, out...)
}

// convolveSlices makes the windows of the first spatial dimension images of their
// own: tap k of it sees every stride-th slice from k on.
func (c *call) convolveSlices(x, w, bias *ir.Value, win *window, groups int) *ir.Value {
	first, rest := win.part(0, 1), win.part(1, len(win.in))
	low, high := make([]int64, x.Spec.Rank()), make([]int64, x.Spec.Rank())
	low[2], high[2] = int64(first.low[0]), int64(first.high[0]+first.extra[0])
	x = c.padConstant(x, low, high, 0)
	n, count := x.Spec.Shape[0], first.count(0)
	var sum *ir.Value
	for k := range first.kernel[0] {
		taken := c.op("narrow", ir.Attrs{"axis": 2, "start": k * first.dilation[0], "length": count, "step": first.stride[0]}, x)
		s := taken.Spec.Shape
		perm := []int{0, 2, 1}
		for i := 3; i < len(s); i++ {
			perm = append(perm, i)
		}
		images := c.reshape(c.transpose(taken, perm...), append([]int{n * count, s[1]}, s[3:]...)...)
		kernel := c.op("narrow", ir.Attrs{"axis": 2, "start": k, "length": 1}, w)
		ws := kernel.Spec.Shape
		v := c.convolve(images, c.reshape(kernel, append([]int{ws[0], ws[1]}, ws[3:]...)...), bias, rest, groups)
		bias = nil
		if sum == nil {
			sum = v
			continue
		}
		sum = c.add(sum, v)
	}
	s := sum.Spec.Shape
	perm := []int{0, 2, 1}
	for i := 3; i <= len(s); i++ {
		perm = append(perm, i)
	}
	return c.transpose(c.reshape(sum, append([]int{n, count}, s[1:]...)...), perm...)
}

// convTranspose is the convolution of x, with zeros between its elements, with the
// kernel turned round.
func convTranspose(c *call) {
	x, w := c.arg(0), c.arg(1)
	xs, ws := x.Spec.Shape, w.Spec.Shape
	groups := c.small("group", 1, 1)
	if len(ws) != len(xs) || len(xs) < 3 || ws[0] != xs[1] || ws[0]%groups != 0 {
		c.fail("the kernel %v with %d groups does not fit %v", w.Spec, groups, x.Spec)
	}
	n := len(xs) - 2
	win := &window{in: xs[2:], kernel: ws[2:], stride: c.perDim("strides", n), dilation: c.perDim("dilations", n), extra: make([]int, n)}
	if k := c.ints("kernel_shape"); k != nil && !slices.Equal(c.lengths(k), win.kernel) {
		c.fail("kernel_shape is %v; the kernel is %v", k, w.Spec)
	}
	more := make([]int, n)
	if list := c.ints("output_padding"); list != nil {
		if more = c.lengths(list); len(more) != n {
			c.fail("output_padding is %v", list)
		}
	}
	c.padTransposed(win, more)
	if groups == 1 && win.tiles(more) {
		c.set(0, c.tiled(x, w, c.optional(2)))
		return
	}
	for i := range n {
		x = c.spread(x, 2+i, win.stride[i])
		w = c.op("narrow", ir.Attrs{"axis": 2 + i, "start": ws[2+i] - 1, "length": ws[2+i], "step": -1}, w)
	}
	low, high := make([]int64, n+2), make([]int64, n+2)
	for i := range n {
		low[2+i], high[2+i] = int64(win.span(i)-1-win.low[i]), int64(win.span(i)-1-win.high[i]+more[i])
	}
	x = c.padConstant(x, low, high, 0)
	split := c.reshape(w, append([]int{groups, ws[0] / groups, ws[1]}, ws[2:]...)...)
	perm := []int{0, 2, 1}
	for i := 3; i < n+3; i++ {
		perm = append(perm, i)
	}
	turned := c.reshape(c.transpose(split, perm...), append([]int{groups * ws[1], ws[0] / groups}, ws[2:]...)...)
	plain := &window{in: x.Spec.Shape[2:], kernel: win.kernel, stride: slices.Repeat([]int{1}, n), dilation: win.dilation,
		low: make([]int, n), high: make([]int, n), extra: make([]int, n)}
	c.set(0, c.convolve(x, turned, c.optional(2), plain, groups))
}

// tiles reports whether the results of neighbouring elements of a transposed
// convolution lie side by side.
func (w *window) tiles(more []int) bool {
	for i, k := range w.kernel {
		if w.stride[i] != k || k > 1 && w.dilation[i] > 1 || w.low[i] != 0 || w.high[i] != 0 || more[i] != 0 {
			return false
		}
	}
	return true
}

// tiled is a transposed convolution whose kernel moves by its own size: every
// element becomes a tile, so that it is a product with all of the kernel, of which
// the elements are put in their places.
func (c *call) tiled(x, w, bias *ir.Value) *ir.Value {
	xs, ws := x.Spec.Shape, w.Spec.Shape
	n, taps, pixels := len(xs)-2, 1, 1
	for i := range n {
		taps, pixels = taps*ws[2+i], pixels*xs[2+i]
	}
	rows := ws[1] * taps
	kernel := c.transpose(c.reshape(w, ws[0], rows), 1, 0)
	in := []*ir.Value{c.reshape(x, xs[0], xs[1], 1, pixels), c.reshape(kernel, rows, ws[0], 1, 1)}
	if bias != nil {
		wide := c.op("expand", ir.Attrs{"shape": []int{ws[1], taps}}, c.reshape(bias, ws[1], 1))
		in = append(in, c.reshape(wide, rows))
	}
	v := c.op("conv2d", nil, in...)
	split := append(append([]int{xs[0], ws[1]}, ws[2:]...), xs[2:]...)
	perm, out := []int{0, 1}, []int{xs[0], ws[1]}
	for i := range n {
		perm, out = append(perm, 2+n+i, 2+i), append(out, xs[2+i]*ws[2+i])
	}
	return c.reshape(c.transpose(c.reshape(v, split...), perm...), out...)
}

// padTransposed reads the padding, which cuts the result, or works it out from the
// shape that the result is to have.
func (c *call) padTransposed(w *window, more []int) {
	n := len(w.in)
	auto, shape := c.str("auto_pad", "NOTSET"), c.ints("output_shape")
	if shape == nil && (auto == "NOTSET" || auto == "VALID") {
		c.padWindow(w)
		return
	}
	w.low, w.high = make([]int, n), make([]int, n)
	for i := range n {
		out := w.in[i] * w.stride[i]
		if shape != nil {
			if len(shape) < n {
				c.fail("output_shape is %v", shape)
			}
			out = c.lengths(shape[len(shape)-n+i:][:1])[0]
		}
		total := w.stride[i]*(w.in[i]-1) + more[i] + w.span(i) - out
		if total < 0 {
			more[i] -= total
			total = 0
		}
		w.low[i], w.high[i] = total-total/2, total/2
		if auto == "SAME_UPPER" {
			w.low[i], w.high[i] = total/2, total-total/2
		}
	}
}

// spread puts step-1 zeros between the elements along an axis.
func (c *call) spread(v *ir.Value, axis, step int) *ir.Value {
	if step == 1 {
		return v
	}
	shape := v.Spec.Shape
	wide := slices.Insert(slices.Clone(shape), axis+1, 1)
	high := make([]int64, len(wide))
	high[axis+1] = int64(step - 1)
	v = c.op("pad", ir.Attrs{"low": make([]int64, len(wide)), "high": high}, c.reshape(v, wide...))
	merged := slices.Clone(shape)
	merged[axis] *= step
	v = c.reshape(v, merged...)
	return c.op("narrow", ir.Attrs{"axis": axis, "start": 0, "length": (shape[axis]-1)*step + 1}, v)
}

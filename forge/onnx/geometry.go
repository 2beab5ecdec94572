package onnx

import (
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]operator{
	"Det": {11, det}, "AffineGrid": {20, affineGrid}, "Col2Im": {18, col2Im}, "CenterCropPad": {18, centerCropPad},
	"MaxUnpool": {9, maxUnpool},
})

// det eliminates column by column, with the row of the largest element first: it is
// swapped with the first one, which changes the sign.
func det(c *call) {
	s := c.ranked(0, 2, tensor.MaxRank)
	n, batch := s[len(s)-1], product(s[:len(s)-2])
	if s[len(s)-2] != n {
		c.fail("matrices %v are not square", s)
	}
	a := c.reshape(c.arg(0), batch, n, n)
	result := c.op("expand", ir.Attrs{"shape": []int64{int64(batch), 1, 1}}, c.number(a, 1))
	for m := n; m > 0; m-- {
		narrow := func(v *ir.Value, axis, start, length int) *ir.Value {
			return c.op("narrow", ir.Attrs{"axis": axis, "start": start, "length": length}, v)
		}
		at := c.op("argmax", ir.Attrs{"axis": 1, "keepdims": true}, c.op("abs", nil, narrow(a, 2, 0, 1)))
		chosen := c.op("eq", nil, at, c.reshape(c.iota(m, tensor.I64), m, 1))
		row := c.op("sum", ir.Attrs{"axes": []int64{1}, "keepdims": true}, c.where(chosen, a, c.number(a, 0)))
		pivot := narrow(row, 2, 0, 1)
		result = c.mul(result, c.where(c.compare("eq", at, 0), pivot, c.op("neg", nil, pivot)))
		if m == 1 {
			break
		}
		rest := narrow(c.where(chosen, narrow(a, 1, 0, 1), a), 1, 1, m-1)
		divisor := c.where(c.compare("eq", pivot, 0), c.number(pivot, 1), pivot)
		factors := c.div(narrow(rest, 2, 0, 1), divisor)
		a = c.sub(narrow(rest, 2, 1, m-1), c.mul(factors, narrow(row, 2, 1, m-1)))
	}
	c.set(0, c.reshape(result, s[:len(s)-2]...))
}

// affineGrid applies matrices [N,d,d+1] to the coordinates of an image of d
// dimensions, from -1 to 1, the last dimension first.
func affineGrid(c *call) {
	size, theta := c.lengths(c.intsOf(1, "the size")), c.ranked(0, 3, 3)
	d := len(size) - 2
	if d < 2 || d > 3 || theta[1] != d || theta[2] != d+1 {
		c.fail("matrices %v for a size %v", theta, size)
	}
	space := size[2:]
	n := c.room(append([]int{d + 1}, space...)...) / (d + 1)
	points, err := tensor.Zeros(c.dtype(0), d+1, n)
	c.check(err)
	strides := tensor.Strides(space)
	for i := range n {
		for k, length := range space {
			points.SetElem((d-1-k)*n+i, gridPoint(i/strides[k]%length, length, c.flag("align_corners", false)))
		}
		points.SetElem(d*n+i, 1)
	}
	grid := c.op("matmul", nil, c.arg(0), c.constant(points, nil))
	c.set(0, c.reshape(c.transpose(grid, 0, 2, 1), append(append([]int{theta[0]}, space...), d)...))
}

// gridPoint is the coordinate of pixel i of n: of its middle, or with the outer
// middles at -1 and 1.
func gridPoint(i, n int, alignCorners bool) float64 {
	switch {
	case !alignCorners:
		return (2*float64(i)+1)/float64(n) - 1
	case n == 1:
		return -1
	}
	return 2*float64(i)/float64(n-1) - 1
}

// col2Im adds blocks [N,C*block,L] to the places of an image where they were taken.
func col2Im(c *call) {
	image, block, s := c.lengths(c.intsOf(1, "the image's shape")), c.lengths(c.intsOf(2, "the block's shape")), c.ranked(0, 3, 3)
	n := len(image)
	if n == 0 || len(block) != n || slices.Min(block) < 1 || s[1]%product(block) != 0 {
		c.fail("blocks %v of an image %v do not fit %v", block, image, s)
	}
	w := &window{in: image, kernel: block, extra: make([]int, n), stride: c.perDim("strides", n), dilation: c.perDim("dilations", n)}
	c.padWindow(w)
	counts := make([]int, n)
	for i := range n {
		if w.padded(i) < w.span(i) {
			c.fail("blocks %v do not fit an image %v", block, image)
		}
		counts[i] = w.count(i)
	}
	taps, pixels := product(block), c.room(image...)
	if product(counts) != s[2] {
		c.fail("there are %v blocks; the operand has %d", counts, s[2])
	}
	index := make([]int64, c.room(taps, s[2]))
	for i := range index {
		index[i] = int64(w.place(i/s[2], i%s[2], counts, pixels))
	}
	channels := s[0] * s[1] / taps
	at := c.op("expand", ir.Attrs{"shape": int64s([]int{channels, len(index)})}, c.constant(tensor.From([]int{1, len(index)}, index)))
	x := c.arg(0)
	zeros := c.op("expand", ir.Attrs{"shape": int64s([]int{channels, pixels + 1})}, c.number(x, 0))
	y := c.op("scatter", ir.Attrs{"axis": 1, "reduce": "add"}, zeros, at, c.reshape(x, channels, len(index)))
	y = c.op("narrow", ir.Attrs{"axis": 1, "start": 0, "length": pixels}, y)
	c.set(0, c.reshape(y, append([]int{s[0], s[1] / taps}, image...)...))
}

// place is the pixel of a tap of a window, or outside when it is in the padding.
func (w *window) place(tap, number int, counts []int, outside int) int {
	at, taps, numbers, step := 0, tap, number, 1
	for i := len(w.in) - 1; i >= 0; i-- {
		k := numbers%counts[i]*w.stride[i] - w.low[i] + taps%w.kernel[i]*w.dilation[i]
		if k < 0 || k >= w.in[i] {
			return outside
		}
		at += k * step
		step *= w.in[i]
		numbers /= counts[i]
		taps /= w.kernel[i]
	}
	return at
}

// centerCropPad cuts or pads both sides of axes, the end more where it is uneven.
func centerCropPad(c *call) {
	want, s := c.lengths(c.intsOf(1, "the shape")), c.shape(0)
	axes := c.ints("axes")
	if axes == nil {
		for i := range s {
			axes = append(axes, int64(i))
		}
	}
	if len(c.axes(axes, len(s))) != len(want) {
		c.fail("the shape %v has not one length for each of the axes %v", want, axes)
	}
	low, high := make([]int64, len(s)), make([]int64, len(s))
	for i, a := range axes {
		at := c.axis(a, len(s))
		more := int64(want[i] - s[at])
		low[at] = more / 2
		if more < 0 {
			low[at] = -(-more / 2)
		}
		high[at] = more - low[at]
	}
	v := c.padConstant(c.arg(0), low, high, 0)
	c.setOrPass(v)
}

// maxUnpool puts maxima back to where operand 1 says that they were.
func maxUnpool(c *call) {
	s, kernel := c.ranked(0, 3, tensor.MaxRank), c.lengths(c.ints("kernel_shape"))
	n := len(s) - 2
	if len(kernel) != n || !slices.Equal(c.shape(1), s) {
		c.fail("a window of %v and indices %v do not fit %v", kernel, c.shape(1), s)
	}
	w := &window{in: s[2:], kernel: kernel, extra: make([]int, n), stride: c.perDim("strides", n), dilation: slices.Repeat([]int{1}, n)}
	c.padWindow(w)
	out := slices.Clone(s)
	for i := range n {
		out[2+i] = (s[2+i]-1)*w.stride[i] - w.low[i] - w.high[i] + kernel[i]
	}
	_, err := tensor.Elements(out)
	c.check(err)
	x, count := c.arg(0), product(s)
	zeros := c.op("expand", ir.Attrs{"shape": []int64{int64(product(out))}}, c.number(x, 0))
	y := c.op("scatter", ir.Attrs{"axis": 0, "reduce": "none"}, zeros, c.reshape(c.cast(c.arg(1), tensor.I64), count), c.reshape(x, count))
	y = c.reshape(y, out...)
	if c.has(2) {
		shape := c.lengths(c.intsOf(2, "the output's shape"))
		if len(shape) != len(out) {
			c.fail("the output's shape is %v", shape)
		}
		high := make([]int64, len(out))
		for i := range out {
			high[i] = int64(shape[i] - out[i])
		}
		y = c.padConstant(y, make([]int64, len(out)), high, 0)
	}
	c.set(0, y)
}

package onnx

import (
	"slices"

	"forgekernel/forge/importer/formula"
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
	n, batch := s[len(s)-1], formula.Product(s[:len(s)-2])
	if s[len(s)-2] != n {
		c.Fail("matrices %v are not square", s)
	}
	a := c.Reshape(c.arg(0), batch, n, n)
	result := c.Op("expand", ir.Attrs{"shape": []int64{int64(batch), 1, 1}}, c.Number(a, 1))
	for m := n; m > 0; m-- {
		narrow := func(v *ir.Value, axis, start, length int) *ir.Value {
			return c.Op("narrow", ir.Attrs{"axis": axis, "start": start, "length": length}, v)
		}
		at := c.Op("argmax", ir.Attrs{"axis": 1, "keepdims": true}, c.Op("abs", nil, narrow(a, 2, 0, 1)))
		chosen := c.Op("eq", nil, at, c.Reshape(c.iota(m, tensor.I64), m, 1))
		row := c.Op("sum", ir.Attrs{"axes": []int64{1}, "keepdims": true}, c.Where(chosen, a, c.Number(a, 0)))
		pivot := narrow(row, 2, 0, 1)
		result = c.Mul(result, c.Where(c.Compare("eq", at, 0), pivot, c.Op("neg", nil, pivot)))
		if m == 1 {
			break
		}
		rest := narrow(c.Where(chosen, narrow(a, 1, 0, 1), a), 1, 1, m-1)
		divisor := c.Where(c.Compare("eq", pivot, 0), c.Number(pivot, 1), pivot)
		factors := c.Div(narrow(rest, 2, 0, 1), divisor)
		a = c.Sub(narrow(rest, 2, 1, m-1), c.Mul(factors, narrow(row, 2, 1, m-1)))
	}
	c.set(0, c.Reshape(result, s[:len(s)-2]...))
}

// affineGrid applies matrices [N,d,d+1] to the coordinates of an image of d
// dimensions, from -1 to 1, the last dimension first.
func affineGrid(c *call) {
	size, theta := c.Lengths(c.intsOf(1, "the size")), c.ranked(0, 3, 3)
	d := len(size) - 2
	if d < 2 || d > 3 || theta[1] != d || theta[2] != d+1 {
		c.Fail("matrices %v for a size %v", theta, size)
	}
	space := size[2:]
	n := c.room(append([]int{d + 1}, space...)...) / (d + 1)
	points, err := tensor.Zeros(c.dtype(0), d+1, n)
	c.Check(err)
	strides := tensor.Strides(space)
	for i := range n {
		for k, length := range space {
			points.SetElem((d-1-k)*n+i, gridPoint(i/strides[k]%length, length, c.flag("align_corners", false)))
		}
		points.SetElem(d*n+i, 1)
	}
	grid := c.Op("matmul", nil, c.arg(0), c.Constant(points, nil))
	c.set(0, c.Reshape(c.Transpose(grid, 0, 2, 1), append(append([]int{theta[0]}, space...), d)...))
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
	image, block, s := c.Lengths(c.intsOf(1, "the image's shape")), c.Lengths(c.intsOf(2, "the block's shape")), c.ranked(0, 3, 3)
	n := len(image)
	if n == 0 || len(block) != n || slices.Min(block) < 1 || s[1]%formula.Product(block) != 0 {
		c.Fail("blocks %v of an image %v do not fit %v", block, image, s)
	}
	w := &formula.Window{In: image, Kernel: block, Extra: make([]int, n), Stride: c.perDim("strides", n), Dilation: c.perDim("dilations", n)}
	c.padWindow(w)
	c.Fits(w)
	counts := make([]int, n)
	for i := range n {
		counts[i] = w.Count(i)
	}
	taps, pixels := formula.Product(block), c.room(image...)
	if formula.Product(counts) != s[2] {
		c.Fail("there are %v blocks; the operand has %d", counts, s[2])
	}
	index := make([]int64, c.room(taps, s[2]))
	for i := range index {
		index[i] = int64(place(w, i/s[2], i%s[2], counts, pixels))
	}
	channels := s[0] * s[1] / taps
	at := c.Op("expand", ir.Attrs{"shape": formula.Int64s([]int{channels, len(index)})}, c.Constant(tensor.From([]int{1, len(index)}, index)))
	x := c.arg(0)
	zeros := c.Op("expand", ir.Attrs{"shape": formula.Int64s([]int{channels, pixels + 1})}, c.Number(x, 0))
	y := c.Op("scatter", ir.Attrs{"axis": 1, "reduce": "add"}, zeros, at, c.Reshape(x, channels, len(index)))
	y = c.Op("narrow", ir.Attrs{"axis": 1, "start": 0, "length": pixels}, y)
	c.set(0, c.Reshape(y, append([]int{s[0], s[1] / taps}, image...)...))
}

// place is the pixel of a tap of a window, or outside when it is in the padding.
func place(w *formula.Window, tap, number int, counts []int, outside int) int {
	at, taps, numbers, step := 0, tap, number, 1
	for i := len(w.In) - 1; i >= 0; i-- {
		k := numbers%counts[i]*w.Stride[i] - w.Low[i] + taps%w.Kernel[i]*w.Dilation[i]
		if k < 0 || k >= w.In[i] {
			return outside
		}
		at += k * step
		step *= w.In[i]
		numbers /= counts[i]
		taps /= w.Kernel[i]
	}
	return at
}

// centerCropPad cuts or pads both sides of axes, the end more where it is uneven.
func centerCropPad(c *call) {
	want, s := c.Lengths(c.intsOf(1, "the shape")), c.shape(0)
	axes := c.ints("axes")
	if axes == nil {
		for i := range s {
			axes = append(axes, int64(i))
		}
	}
	if len(c.Axes(axes, len(s))) != len(want) {
		c.Fail("the shape %v has not one length for each of the axes %v", want, axes)
	}
	low, high := make([]int64, len(s)), make([]int64, len(s))
	for i, a := range axes {
		at := c.Axis(a, len(s))
		more := int64(want[i] - s[at])
		low[at] = more / 2
		if more < 0 {
			low[at] = -(-more / 2)
		}
		high[at] = more - low[at]
	}
	v := c.Pad(c.arg(0), low, high, 0)
	c.setOrPass(v)
}

// maxUnpool puts maxima back to where operand 1 says that they were.
func maxUnpool(c *call) {
	s, kernel := c.ranked(0, 3, tensor.MaxRank), c.Lengths(c.ints("kernel_shape"))
	n := len(s) - 2
	if len(kernel) != n || !slices.Equal(c.shape(1), s) {
		c.Fail("a window of %v and indices %v do not fit %v", kernel, c.shape(1), s)
	}
	w := &formula.Window{In: s[2:], Kernel: kernel, Extra: make([]int, n), Stride: c.perDim("strides", n), Dilation: slices.Repeat([]int{1}, n)}
	c.padWindow(w)
	out := slices.Clone(s)
	for i := range n {
		out[2+i] = (s[2+i]-1)*w.Stride[i] - w.Low[i] - w.High[i] + kernel[i]
	}
	_, err := tensor.Elements(out)
	c.Check(err)
	x, count := c.arg(0), formula.Product(s)
	zeros := c.Op("expand", ir.Attrs{"shape": []int64{int64(formula.Product(out))}}, c.Number(x, 0))
	y := c.Op("scatter", ir.Attrs{"axis": 0, "reduce": "none"}, zeros, c.Reshape(c.Cast(c.arg(1), tensor.I64), count), c.Reshape(x, count))
	y = c.Reshape(y, out...)
	if c.has(2) {
		shape := c.Lengths(c.intsOf(2, "the output's shape"))
		if len(shape) != len(out) {
			c.Fail("the output's shape is %v", shape)
		}
		high := make([]int64, len(out))
		for i := range out {
			high[i] = int64(shape[i] - out[i])
		}
		y = c.Pad(y, make([]int64, len(out)), high, 0)
	}
	c.set(0, y)
}

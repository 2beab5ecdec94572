package onnx

import (
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]operator{
	"MaxPool": {1, maxPool}, "AveragePool": {1, averagePool}, "LpPool": {1, lpPool},
	"GlobalMaxPool": {1, globalPool("max")}, "GlobalAveragePool": {1, globalPool("mean")}, "GlobalLpPool": {2, globalLpPool},
})

func (c *call) poolWindow() *window {
	kernel := c.ints("kernel_shape")
	if kernel == nil {
		c.fail("the attribute kernel_shape is missing")
	}
	return c.window(c.lengths(kernel))
}

// maxPool pools one pair of dimensions after another, which maxima allow.
func maxPool(c *call) {
	w, x := c.poolWindow(), c.arg(0)
	dtype := x.Spec.DType
	if !dtype.IsFloat() {
		x = c.cast(x, tensor.F64)
	}
	v := c.poolPairs(x, w, func(x *ir.Value, f *window) *ir.Value {
		attrs := f.attrs()
		attrs["kernel"] = int64s(f.kernel)
		return c.op("max_pool2d", attrs, x)
	})
	c.set(0, c.cast(v, dtype))
	if len(c.out) > 1 && c.node.Outputs[1] != "" {
		c.set(1, c.maxIndices(x, w))
	}
}

// maxIndices tells where the maxima are in the flat operand: the window's elements
// side by side, the place of the largest, and what place that is.
func (c *call) maxIndices(x *ir.Value, w *window) *ir.Value {
	if len(w.in) > 2 {
		c.fail("indices of the maxima are supported in up to two dimensions")
	}
	f, shape := w.flat(), x.Spec.Shape
	images := shape[0] * shape[1]
	v := c.reshape(x, images, f.in[0], f.in[1])
	low := []int64{0, int64(f.low[0]), int64(f.low[1])}
	high := []int64{0, int64(f.high[0] + f.extra[0]), int64(f.high[1] + f.extra[1])}
	v = c.padConstant(v, low, high, math.Inf(-1))
	rows, columns := f.count(0), f.count(1)
	var taps []*ir.Value
	offsets := make([]int64, 0, c.room(f.kernel...))
	for i := range f.kernel[0] {
		for j := range f.kernel[1] {
			t := c.op("narrow", ir.Attrs{"axis": 1, "start": i * f.dilation[0], "length": rows, "step": f.stride[0]}, v)
			t = c.op("narrow", ir.Attrs{"axis": 2, "start": j * f.dilation[1], "length": columns, "step": f.stride[1]}, t)
			taps = append(taps, c.reshape(t, 1, images, rows, columns))
			offsets = append(offsets, int64(i*f.dilation[0]*f.in[1]+j*f.dilation[1]))
		}
	}
	best := c.op("argmax", ir.Attrs{"axis": 0}, c.op("concat", ir.Attrs{"axis": 0}, taps...))
	place := c.op("gather", nil, c.constant(tensor.From([]int{len(offsets)}, offsets)), best)
	first := make([]int64, 0, c.room(images, rows, columns))
	for n := range images {
		for i := range rows {
			for j := range columns {
				first = append(first, int64((n*f.in[0]+i*f.stride[0]-f.low[0])*f.in[1]+j*f.stride[1]-f.low[1]))
			}
		}
	}
	place = c.add(place, c.constant(tensor.From([]int{images, rows, columns}, first)))
	if c.flag("storage_order", false) {
		place = c.columnMajor(place, f.in[0], f.in[1])
	}
	out := []int{shape[0], shape[1]}
	for i := range w.in {
		out = append(out, w.count(i))
	}
	return c.reshape(place, out...)
}

// columnMajor counts places in images the other way.
func (c *call) columnMajor(place *ir.Value, rows, columns int) *ir.Value {
	size := float64(rows * columns)
	image := c.scale(c.div(place, c.number(place, size)), size)
	rest := c.sub(place, image)
	row := c.div(rest, c.number(rest, float64(columns)))
	column := c.sub(rest, c.scale(row, float64(columns)))
	return c.add(image, c.add(c.scale(column, float64(rows)), row))
}

// poolPairs applies a two-dimensional pooling to the last two dimensions, then to
// the two before them, and so on.
func (c *call) poolPairs(x *ir.Value, w *window, pool func(x *ir.Value, f *window) *ir.Value) *ir.Value {
	if len(w.in) == 2 {
		return pool(x, w)
	}
	shape := slices.Clone(x.Spec.Shape)
	for to := len(w.in); to > 0; to -= 2 {
		from := max(0, to-2)
		f := w.part(from, to).flat()
		outer, inner := product(shape[:2+from]), product(shape[2+to:])
		v := c.reshape(x, outer, f.in[0], f.in[1], inner)
		v = c.transpose(v, 0, 3, 1, 2)
		v = pool(v, f)
		h, b := v.Spec.Shape[2], v.Spec.Shape[3]
		v = c.transpose(v, 0, 2, 3, 1)
		if to-from == 2 {
			shape[2+from] = h
		}
		shape[1+to] = b
		x = c.reshape(v, shape...)
	}
	return x
}

// averagePool divides sums by the number of elements that count, which is known
// for each window.
func averagePool(c *call) {
	w, x := c.poolWindow(), c.arg(0)
	include := c.flag("count_include_pad", false)
	if len(w.in) <= 2 && slices.Max(w.dilation) == 1 && slices.Max(w.extra) == 0 {
		c.set(0, c.poolPairs(x, w, func(x *ir.Value, f *window) *ir.Value {
			attrs := ir.Attrs{"kernel": int64s(f.kernel), "stride": int64s(f.stride), "padding": f.attrs()["padding"], "count_include_pad": include}
			return c.op("avg_pool2d", attrs, x)
		}))
		return
	}
	sums := c.sumPool(x, w)
	c.room(append(slices.Clone(sums.Spec.Shape[2:]), w.kernel...)...)
	counts, err := tensor.Zeros(x.Spec.DType, sums.Spec.Shape[2:]...)
	c.check(err)
	strides := counts.Strides()
	for i := range counts.Len() {
		n := 1
		for d, step := range strides {
			n *= w.elements(d, i/step%counts.Dim(d), include)
		}
		counts.SetElem(i, float64(n))
	}
	c.set(0, c.div(sums, c.constant(counts, nil)))
}

// elements is how many elements of window k along a dimension lie in the operand,
// or in it and its padding.
func (w *window) elements(dim, k int, padding bool) int {
	from, to := 0, w.in[dim]
	if padding {
		from, to = -w.low[dim], w.in[dim]+w.high[dim]
	}
	n := 0
	for t := range w.kernel[dim] {
		if at := k*w.stride[dim] - w.low[dim] + t*w.dilation[dim]; at >= from && at < to {
			n++
		}
	}
	return n
}

// sumPool adds up the elements of each window: a convolution of each channel with
// ones.
func (c *call) sumPool(x *ir.Value, w *window) *ir.Value {
	return c.poolPairs(x, w, func(x *ir.Value, f *window) *ir.Value {
		s := x.Spec.Shape
		ones := c.constant(tensor.Full(x.Spec.DType, 1, 1, 1, f.kernel[0], f.kernel[1]))
		v := c.op("conv2d", f.attrs(), c.reshape(x, s[0]*s[1], 1, s[2], s[3]), ones)
		return c.reshape(v, s[0], s[1], v.Spec.Shape[2], v.Spec.Shape[3])
	})
}

func lpPool(c *call) {
	w := c.poolWindow()
	c.set(0, c.norm(c.arg(0), c.int("p", 2), func(v *ir.Value) *ir.Value { return c.sumPool(v, w) }))
}

// norm is the p-th root of the sum of p-th powers.
func (c *call) norm(x *ir.Value, p int64, sum func(*ir.Value) *ir.Value) *ir.Value {
	a := c.op("abs", nil, x)
	switch p {
	case 1:
		return sum(a)
	case 2:
		return c.op("sqrt", nil, sum(c.mul(x, x)))
	}
	if p < 1 {
		c.fail("p is %d", p)
	}
	s := sum(c.op("pow", nil, a, c.number(a, float64(p))))
	return c.op("pow", nil, s, c.number(s, 1/float64(p)))
}

func (c *call) spatialAxes() ir.Attrs {
	var axes []int64
	for i := 2; i < c.rank(0); i++ {
		axes = append(axes, int64(i))
	}
	if axes == nil {
		c.fail("the operand %v has no spatial dimensions", c.shape(0))
	}
	return ir.Attrs{"axes": axes, "keepdims": true}
}

func globalPool(reduce string) func(*call) {
	return func(c *call) { c.set(0, c.op(reduce, c.spatialAxes(), c.arg(0))) }
}

func globalLpPool(c *call) {
	attrs := c.spatialAxes()
	c.set(0, c.norm(c.arg(0), c.int("p", 2), func(v *ir.Value) *ir.Value { return c.op("sum", attrs, v) }))
}

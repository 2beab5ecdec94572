package onnx

import (
	"math"

	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]operator{
	"MaxPool": {1, maxPool}, "AveragePool": {1, averagePool}, "LpPool": {1, lpPool},
	"GlobalMaxPool": {1, globalPool("max")}, "GlobalAveragePool": {1, globalPool("mean")}, "GlobalLpPool": {2, globalLpPool},
})

func (c *call) poolWindow() *formula.Window {
	kernel := c.ints("kernel_shape")
	if kernel == nil {
		c.Fail("the attribute kernel_shape is missing")
	}
	return c.window(c.Lengths(kernel))
}

func maxPool(c *call) {
	w, x := c.poolWindow(), c.arg(0)
	c.set(0, c.MaxPool(x, w))
	if len(c.out) > 1 && c.node.Outputs[1] != "" {
		if !x.Spec.DType.IsFloat() {
			x = c.Cast(x, tensor.F64)
		}
		c.set(1, c.maxIndices(x, w))
	}
}

// maxIndices tells where the maxima are in the flat operand: the window's elements
// side by side, the place of the largest, and what place that is.
func (c *call) maxIndices(x *ir.Value, w *formula.Window) *ir.Value {
	if len(w.In) > 2 {
		c.Fail("indices of the maxima are supported in up to two dimensions")
	}
	f, shape := w.Flat(), x.Spec.Shape
	images := shape[0] * shape[1]
	v := c.Reshape(x, images, f.In[0], f.In[1])
	low := []int64{0, int64(f.Low[0]), int64(f.Low[1])}
	high := []int64{0, int64(f.High[0] + f.Extra[0]), int64(f.High[1] + f.Extra[1])}
	v = c.Pad(v, low, high, math.Inf(-1))
	rows, columns := f.Count(0), f.Count(1)
	var taps []*ir.Value
	offsets := make([]int64, 0, c.room(f.Kernel...))
	for i := range f.Kernel[0] {
		for j := range f.Kernel[1] {
			t := c.Op("narrow", ir.Attrs{"axis": 1, "start": i * f.Dilation[0], "length": rows, "step": f.Stride[0]}, v)
			t = c.Op("narrow", ir.Attrs{"axis": 2, "start": j * f.Dilation[1], "length": columns, "step": f.Stride[1]}, t)
			taps = append(taps, c.Reshape(t, 1, images, rows, columns))
			offsets = append(offsets, int64(i*f.Dilation[0]*f.In[1]+j*f.Dilation[1]))
		}
	}
	best := c.Op("argmax", ir.Attrs{"axis": 0}, c.Op("concat", ir.Attrs{"axis": 0}, taps...))
	place := c.Op("gather", nil, c.Constant(tensor.From([]int{len(offsets)}, offsets)), best)
	first := make([]int64, 0, c.room(images, rows, columns))
	for n := range images {
		for i := range rows {
			for j := range columns {
				first = append(first, int64((n*f.In[0]+i*f.Stride[0]-f.Low[0])*f.In[1]+j*f.Stride[1]-f.Low[1]))
			}
		}
	}
	place = c.Add(place, c.Constant(tensor.From([]int{images, rows, columns}, first)))
	if c.flag("storage_order", false) {
		place = c.columnMajor(place, f.In[0], f.In[1])
	}
	out := []int{shape[0], shape[1]}
	for i := range w.In {
		out = append(out, w.Count(i))
	}
	return c.Reshape(place, out...)
}

// columnMajor counts places in images the other way.
func (c *call) columnMajor(place *ir.Value, rows, columns int) *ir.Value {
	size := float64(rows * columns)
	image := c.Scale(c.Div(place, c.Number(place, size)), size)
	rest := c.Sub(place, image)
	row := c.Div(rest, c.Number(rest, float64(columns)))
	column := c.Sub(rest, c.Scale(row, float64(columns)))
	return c.Add(image, c.Add(c.Scale(column, float64(rows)), row))
}

func averagePool(c *call) {
	w := c.poolWindow()
	c.set(0, c.AveragePool(c.arg(0), w, c.flag("count_include_pad", false), 0))
}

func lpPool(c *call) {
	w := c.poolWindow()
	c.set(0, c.norm(c.arg(0), c.int("p", 2), func(v *ir.Value) *ir.Value { return c.SumPool(v, w) }))
}

// norm is the p-th root of the sum of p-th powers.
func (c *call) norm(x *ir.Value, p int64, sum func(*ir.Value) *ir.Value) *ir.Value {
	a := c.Op("abs", nil, x)
	switch p {
	case 1:
		return sum(a)
	case 2:
		return c.Op("sqrt", nil, sum(c.Mul(x, x)))
	}
	if p < 1 {
		c.Fail("p is %d", p)
	}
	s := sum(c.Op("pow", nil, a, c.Number(a, float64(p))))
	return c.Op("pow", nil, s, c.Number(s, 1/float64(p)))
}

func (c *call) spatialAxes() ir.Attrs {
	var axes []int64
	for i := 2; i < c.rank(0); i++ {
		axes = append(axes, int64(i))
	}
	if axes == nil {
		c.Fail("the operand %v has no spatial dimensions", c.shape(0))
	}
	return ir.Attrs{"axes": axes, "keepdims": true}
}

func globalPool(reduce string) func(*call) {
	return func(c *call) { c.set(0, c.Op(reduce, c.spatialAxes(), c.arg(0))) }
}

func globalLpPool(c *call) {
	attrs := c.spatialAxes()
	c.set(0, c.norm(c.arg(0), c.int("p", 2), func(v *ir.Value) *ir.Value { return c.Op("sum", attrs, v) }))
}

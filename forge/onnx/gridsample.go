package onnx

import (
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]operator{"GridSample": {16, gridSample}})

// sampler reads images at places that the program computes.
type sampler struct {
	*call
	table        *ir.Value // the images as rows, one for each pixel, of channels
	images       *ir.Value // the number of the first row of each image
	h, w         int
	padding      string
	alignCorners bool
}

// gridSample samples images [N,C,H,W] at grid [N,h,w,2], whose numbers from -1 to 1
// span an image, x first.
func gridSample(c *call) {
	x, grid := c.arg(0), c.arg(1)
	s, g := x.Spec.Shape, grid.Spec.Shape
	if len(s) != 4 || len(g) != 4 || g[3] != 2 || g[0] != s[0] {
		c.unsupportedf("images %v and grid %v; only two-dimensional images can be sampled", s, g)
		return
	}
	mode, padding := c.str("mode", "linear"), c.str("padding_mode", "zeros")
	c.oneOf("mode", mode, "linear", "bilinear", "nearest", "cubic", "bicubic")
	c.oneOf("padding_mode", padding, "zeros", "border", "reflection")
	m := &sampler{call: c, h: s[2], w: s[3], padding: padding, alignCorners: c.flag("align_corners", false)}
	m.table = c.Reshape(c.Transpose(x, 0, 2, 3, 1), s[0]*s[2]*s[3], s[1])
	starts := make([]int64, c.room(s[0]))
	for i := range starts {
		starts[i] = int64(i * s[2] * s[3])
	}
	m.images = c.Constant(tensor.From([]int{s[0], 1, 1}, starts))
	part := func(i int) *ir.Value {
		return c.Reshape(c.Op("narrow", ir.Attrs{"axis": 3, "start": i, "length": 1}, grid), g[0], g[1], g[2])
	}
	px, py := m.pixel(part(0), m.w), m.pixel(part(1), m.h)
	var y *ir.Value
	switch mode {
	case "nearest":
		y = m.read(c.Op("round", nil, px), c.Op("round", nil, py))
	case "linear", "bilinear":
		y = m.interpolate(px, py, []float64{0, 1}, linearWeight)
	default:
		y = m.interpolate(px, py, []float64{-1, 0, 1, 2}, cubicWeight)
	}
	c.set(0, c.Transpose(y, 0, 3, 1, 2))
}

// pixel turns -1 … 1 into a pixel coordinate; padding is applied to the pixels
// that are read, and for the border and reflections also here.
func (m *sampler) pixel(v *ir.Value, size int) *ir.Value {
	if m.alignCorners {
		return m.Scale(m.Shift(v, 1), float64(size-1)/2)
	}
	return m.Shift(m.Scale(m.Shift(v, 1), float64(size)/2), -0.5)
}

// interpolate adds up the pixels around a place, weighted by their distances.
func (m *sampler) interpolate(px, py *ir.Value, offsets []float64, weight func(c *call, distance *ir.Value, offset float64) *ir.Value) *ir.Value {
	x0, y0 := m.Op("floor", nil, px), m.Op("floor", nil, py)
	dx, dy := m.Sub(px, x0), m.Sub(py, y0)
	var sum *ir.Value
	for _, oy := range offsets {
		wy := weight(m.call, dy, oy)
		for _, ox := range offsets {
			w := m.Mul(wy, weight(m.call, dx, ox))
			s := w.Spec.Shape
			v := m.Mul(m.read(m.Shift(x0, ox), m.Shift(y0, oy)), m.Reshape(w, s[0], s[1], s[2], 1))
			if sum == nil {
				sum = v
				continue
			}
			sum = m.Add(sum, v)
		}
	}
	return sum
}

// linearWeight is the share of the pixel at the offset, 0 or 1.
func linearWeight(c *call, d *ir.Value, offset float64) *ir.Value {
	if offset == 0 {
		return c.Sub(c.Number(d, 1), d)
	}
	return d
}

// cubicWeight is the cubic convolution with a = -0.75.
func cubicWeight(c *call, d *ir.Value, offset float64) *ir.Value {
	const a = -0.75
	t := c.Op("abs", nil, c.Shift(c.Op("neg", nil, d), offset))
	if offset == 0 || offset == 1 {
		return c.Shift(c.Mul(c.Mul(t, t), c.Shift(c.Scale(t, a+2), -(a+3))), 1)
	}
	inner := c.Shift(c.Mul(c.Shift(c.Scale(t, a), -5*a), t), 8*a)
	return c.Shift(c.Mul(inner, t), -4*a)
}

// read takes the pixels at whole coordinates, with padding.
func (m *sampler) read(x, y *ir.Value) *ir.Value {
	cx, inX := m.within(x, m.w)
	cy, inY := m.within(y, m.h)
	row := m.Add(m.Scale(m.Cast(cy, tensor.I64), float64(m.w)), m.Cast(cx, tensor.I64))
	v := m.Op("gather", nil, m.table, m.Add(row, m.images))
	if m.padding != "zeros" {
		return v
	}
	inside := m.Op("and", nil, inX, inY)
	s := inside.Spec.Shape
	return m.Where(m.Reshape(inside, s[0], s[1], s[2], 1), v, m.Number(v, 0))
}

// within brings a coordinate into 0 … size-1 and tells where it was inside.
func (m *sampler) within(v *ir.Value, size int) (clamped, inside *ir.Value) {
	if m.padding == "reflection" {
		v = m.reflect(v, size)
	}
	top := float64(size - 1)
	inside = m.Op("and", nil, m.Compare("ge", v, 0), m.Compare("le", v, top))
	clamped = m.Op("minimum", nil, m.Op("maximum", nil, v, m.Number(v, 0)), m.Number(v, top))
	// A coordinate that is not a number reads pixel 0.
	return m.Where(m.Op("eq", nil, clamped, clamped), clamped, m.Number(v, 0)), inside
}

// reflect folds coordinates at the middle of the outer pixels, or at their outer
// edges.
func (m *sampler) reflect(v *ir.Value, size int) *ir.Value {
	low, length := -0.5, float64(size)
	if m.alignCorners {
		low, length = 0, float64(size-1)
	}
	if length == 0 {
		return m.Number(v, 0)
	}
	d := m.Op("abs", nil, m.Shift(v, -low))
	turns := m.Op("floor", nil, m.Scale(d, 1/length))
	rest := m.Sub(d, m.Scale(turns, length))
	odd := m.Sub(turns, m.Scale(m.Op("floor", nil, m.Scale(turns, 0.5)), 2))
	folded := m.Where(m.Compare("eq", odd, 0), rest, m.Sub(m.Number(rest, length), rest))
	return m.Shift(folded, low)
}

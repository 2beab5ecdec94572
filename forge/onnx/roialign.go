package onnx

import (
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]operator{"RoiAlign": {10, roiAlign}})

// regions are bins of images that are sampled at a fixed number of places each.
type regions struct {
	*call
	rois           *ir.Value // [R,4]: left, top, right, bottom
	count, samples int
	halfPixel      bool
	scale          float64
}

// along gives, for the samples along a dimension of n pixels, the two pixels beside
// each and the share of the second, [R,bins*samples]; inside tells which count.
func (r *regions) along(first, bins, n int) (low, high, share, inside *ir.Value) {
	edge := func(i int) *ir.Value {
		v := r.Scale(r.Op("narrow", ir.Attrs{"axis": 1, "start": i, "length": 1}, r.rois), r.scale)
		if r.halfPixel {
			v = r.Shift(v, -0.5)
		}
		return v
	}
	from := edge(first)
	length := r.Sub(edge(first+2), from)
	if !r.halfPixel {
		length = r.Op("maximum", nil, length, r.Number(length, 1))
	}
	places, err := tensor.Zeros(r.rois.Spec.DType, 1, r.room(bins, r.samples))
	r.Check(err)
	for i := range places.Len() {
		places.SetElem(i, (float64(i)+0.5)/float64(bins*r.samples))
	}
	v := r.Add(from, r.Mul(length, r.Constant(places, nil)))
	inside = r.Op("and", nil, r.Compare("ge", v, -1), r.Compare("le", v, float64(n)))
	v = r.Op("minimum", nil, r.Op("maximum", nil, v, r.Number(v, 0)), r.Number(v, float64(n-1)))
	v = r.Where(r.Op("eq", nil, v, v), v, r.Number(v, 0)) // what is no number reads pixel 0
	low = r.Op("floor", nil, v)
	high = r.Op("minimum", nil, r.Shift(low, 1), r.Number(low, float64(n-1)))
	return r.Cast(low, tensor.I64), r.Cast(high, tensor.I64), r.Sub(v, low), inside
}

// roiAlign averages samples of the bins of regions, each interpolated.
func roiAlign(c *call) {
	s, rois := c.ranked(0, 4, 4), c.ranked(1, 2, 2)
	absent := "half_pixel"
	if c.opset < 16 {
		absent = "output_half_pixel"
	}
	mode := c.str("coordinate_transformation_mode", absent)
	c.oneOf("coordinate_transformation_mode", mode, "half_pixel", "output_half_pixel")
	r := &regions{call: c, rois: c.arg(1), count: rois[0], samples: c.small("sampling_ratio", 0, 0), halfPixel: mode == "half_pixel", scale: c.float("spatial_scale", 1)}
	height, width := c.small("output_height", 1, 1), c.small("output_width", 1, 1)
	if r.samples == 0 || c.str("mode", "avg") != "avg" {
		c.unsupportedf("a number of samples that depends on the regions, or maxima of samples")
		return
	}
	if rois[1] != 4 || s[2] == 0 || s[3] == 0 {
		c.Fail("regions %v of images %v", rois, s)
	}
	y0, y1, dy, inY := r.along(1, height, s[2])
	x0, x1, dx, inX := r.along(0, width, s[3])
	rows, columns := height*r.samples, width*r.samples
	tall := func(v *ir.Value) *ir.Value { return c.Reshape(v, r.count, rows, 1) }
	wide := func(v *ir.Value) *ir.Value { return c.Reshape(v, r.count, 1, columns) }
	table := c.Reshape(c.Transpose(c.arg(0), 0, 2, 3, 1), s[0]*s[2]*s[3], s[1])
	image := c.Scale(c.Reshape(c.Cast(c.arg(2), tensor.I64), r.count, 1, 1), float64(s[2]*s[3]))
	one := c.Number(dy, 1)
	counts := c.Cast(c.Op("and", nil, tall(inY), wide(inX)), dy.Spec.DType)
	var sum *ir.Value
	for _, part := range []struct{ y, x, wy, wx *ir.Value }{
		{y0, x0, c.Sub(one, dy), c.Sub(one, dx)}, {y0, x1, c.Sub(one, dy), dx}, {y1, x0, dy, c.Sub(one, dx)}, {y1, x1, dy, dx},
	} {
		at := c.Add(c.Add(c.Scale(tall(part.y), float64(s[3])), wide(part.x)), image)
		weight := c.Mul(c.Mul(tall(part.wy), wide(part.wx)), counts)
		v := c.Mul(c.Op("gather", nil, table, at), c.Reshape(weight, r.count, rows, columns, 1))
		if sum == nil {
			sum = v
			continue
		}
		sum = c.Add(sum, v)
	}
	sum = c.Reshape(sum, r.count, height, r.samples, width, r.samples, s[1])
	c.set(0, c.Transpose(c.Op("mean", ir.Attrs{"axes": []int64{2, 4}}, sum), 0, 3, 1, 2))
}

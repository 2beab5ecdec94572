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
		v := r.call.scale(r.op("narrow", ir.Attrs{"axis": 1, "start": i, "length": 1}, r.rois), r.scale)
		if r.halfPixel {
			v = r.shift(v, -0.5)
		}
		return v
	}
	from := edge(first)
	length := r.sub(edge(first+2), from)
	if !r.halfPixel {
		length = r.op("maximum", nil, length, r.number(length, 1))
	}
	places, err := tensor.Zeros(r.rois.Spec.DType, 1, r.room(bins, r.samples))
	r.check(err)
	for i := range places.Len() {
		places.SetElem(i, (float64(i)+0.5)/float64(bins*r.samples))
	}
	v := r.add(from, r.mul(length, r.constant(places, nil)))
	inside = r.op("and", nil, r.compare("ge", v, -1), r.compare("le", v, float64(n)))
	v = r.op("minimum", nil, r.op("maximum", nil, v, r.number(v, 0)), r.number(v, float64(n-1)))
	v = r.where(r.op("eq", nil, v, v), v, r.number(v, 0)) // what is no number reads pixel 0
	low = r.op("floor", nil, v)
	high = r.op("minimum", nil, r.shift(low, 1), r.number(low, float64(n-1)))
	return r.cast(low, tensor.I64), r.cast(high, tensor.I64), r.sub(v, low), inside
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
		c.fail("regions %v of images %v", rois, s)
	}
	y0, y1, dy, inY := r.along(1, height, s[2])
	x0, x1, dx, inX := r.along(0, width, s[3])
	rows, columns := height*r.samples, width*r.samples
	tall := func(v *ir.Value) *ir.Value { return c.reshape(v, r.count, rows, 1) }
	wide := func(v *ir.Value) *ir.Value { return c.reshape(v, r.count, 1, columns) }
	table := c.reshape(c.transpose(c.arg(0), 0, 2, 3, 1), s[0]*s[2]*s[3], s[1])
	image := c.scale(c.reshape(c.cast(c.arg(2), tensor.I64), r.count, 1, 1), float64(s[2]*s[3]))
	one := c.number(dy, 1)
	counts := c.cast(c.op("and", nil, tall(inY), wide(inX)), dy.Spec.DType)
	var sum *ir.Value
	for _, part := range []struct{ y, x, wy, wx *ir.Value }{
		{y0, x0, c.sub(one, dy), c.sub(one, dx)}, {y0, x1, c.sub(one, dy), dx}, {y1, x0, dy, c.sub(one, dx)}, {y1, x1, dy, dx},
	} {
		at := c.add(c.add(c.scale(tall(part.y), float64(s[3])), wide(part.x)), image)
		weight := c.mul(c.mul(tall(part.wy), wide(part.wx)), counts)
		v := c.mul(c.op("gather", nil, table, at), c.reshape(weight, r.count, rows, columns, 1))
		if sum == nil {
			sum = v
			continue
		}
		sum = c.add(sum, v)
	}
	sum = c.reshape(sum, r.count, height, r.samples, width, r.samples, s[1])
	c.set(0, c.transpose(c.op("mean", ir.Attrs{"axes": []int64{2, 4}}, sum), 0, 3, 1, 2))
}

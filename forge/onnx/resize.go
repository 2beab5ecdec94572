package onnx

import (
	"math"
	"slices"

	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]operator{"Resize": {10, resize}, "Upsample": {7, upsample}})

// resampling is how a Resize finds the elements that make a new one.
type resampling struct {
	mode, coordinates, nearest string
	cubic                      float64
	excludeOutside, antialias  bool
	extrapolation              float64
}

func upsample(c *call) {
	scales := c.floats("scales")
	if c.opset >= 9 {
		scales = c.floatsOf(1, "the scales")
	}
	mode := c.str("mode", "nearest")
	r := &resampling{mode: mode, coordinates: "asymmetric", nearest: "floor"}
	c.oneOf("mode", mode, "nearest", "linear", "bilinear")
	if mode == "bilinear" {
		r.mode = "linear"
	}
	v := c.arg(0)
	if len(scales) != v.Spec.Rank() {
		c.Fail("%d scales for rank %d", len(scales), v.Spec.Rank())
	}
	for i, s := range scales {
		v = c.resample(v, i, int(math.Floor(float64(v.Spec.Shape[i])*float64(s))), float64(s), 0, 1, r)
	}
	c.setOrPass(v)
}

func (c *call) setOrPass(v *ir.Value) {
	if v == c.arg(0) {
		c.pass(0)
		return
	}
	c.set(0, v)
}

func (c *call) floatsOf(i int, purpose string) []float32 {
	t := c.mustKnow(i, purpose)
	list := make([]float32, t.Len())
	for k := range list {
		list[k] = float32(t.Elem(k))
	}
	return list
}

// resize works on one axis after another.
func resize(c *call) {
	r := &resampling{
		mode: c.str("mode", "nearest"), coordinates: c.str("coordinate_transformation_mode", "half_pixel"),
		nearest: c.str("nearest_mode", "round_prefer_floor"), cubic: c.float("cubic_coeff_a", -0.75),
		excludeOutside: c.flag("exclude_outside", false), antialias: c.flag("antialias", false),
		extrapolation: c.float("extrapolation_value", 0),
	}
	roi, scales, sizes := 1, 2, 3
	if c.opset < 11 {
		roi, scales, sizes = -1, 1, -1
		r.coordinates, r.nearest = "asymmetric", "floor"
	}
	c.has(roi) // it has a meaning only for tf_crop_and_resize
	c.oneOf("mode", r.mode, "nearest", "linear", "cubic")
	v, shape := c.arg(0), c.shape(0)
	axes := c.ints("axes")
	if axes = slices.Clone(axes); axes == nil {
		for i := range shape {
			axes = append(axes, int64(i))
		}
	}
	for i, a := range axes {
		axes[i] = int64(c.Axis(a, len(shape)))
	}
	factors, lengths := c.resizing(shape, axes, scales, sizes)
	var region []float32
	if r.coordinates == "tf_crop_and_resize" {
		if region = c.floatsOf(roi, "the region"); len(region) != 2*len(axes) {
			c.Fail("the region has %d numbers for %d axes", len(region), len(axes))
		}
	}
	for i, a := range axes {
		from, to := 0.0, 1.0
		if region != nil {
			from, to = float64(region[i]), float64(region[len(axes)+i])
		}
		v = c.resample(v, int(a), lengths[i], factors[i], from, to, r)
	}
	c.setOrPass(v)
}

// resizing gives the factor and the new length of each axis from the scales or the
// sizes.
func (c *call) resizing(shape []int, axes []int64, scales, sizes int) (factors []float64, lengths []int) {
	if c.has(scales) && formula.Product(c.shape(scales)) > 0 {
		list := c.floatsOf(scales, "the scales")
		if len(list) != len(axes) {
			c.Fail("%d scales for %d axes", len(list), len(axes))
		}
		for i, s := range list {
			factors = append(factors, float64(s))
			lengths = append(lengths, int(math.Floor(float64(shape[axes[i]])*float64(s))))
		}
		return factors, lengths
	}
	if !c.has(sizes) {
		c.Fail("there are neither scales nor sizes")
	}
	lengths = c.Lengths(c.intsOf(sizes, "the sizes"))
	if len(lengths) != len(axes) {
		c.Fail("%d sizes for %d axes", len(lengths), len(axes))
	}
	for i, n := range lengths {
		factors = append(factors, float64(n)/float64(shape[axes[i]]))
	}
	policy := c.str("keep_aspect_ratio_policy", "stretch")
	c.oneOf("keep_aspect_ratio_policy", policy, "stretch", "not_larger", "not_smaller")
	if policy != "stretch" && len(factors) > 0 {
		one := slices.Min(factors)
		if policy == "not_smaller" {
			one = slices.Max(factors)
		}
		for i, a := range axes {
			factors[i] = one
			lengths[i] = int(math.Floor(float64(shape[a])*one + 0.5))
		}
	}
	return factors, lengths
}

// resample computes n elements along an axis: the weighted sum of gathers, one for
// each tap, with constant indices and weights.
func (c *call) resample(v *ir.Value, axis, n int, factor, from, to float64, r *resampling) *ir.Value {
	in := v.Spec.Shape[axis]
	if n == in && factor == 1 && r.coordinates != "tf_crop_and_resize" {
		return v
	}
	if in == 0 || n < 0 || n > tensor.MaxElements || !(factor > 0) || math.IsInf(factor, 0) {
		c.Fail("%d elements cannot be made of %d by the factor %v", n, in, factor)
	}
	c.room(n, r.width(factor)) // for the taps
	taps := make([][]formula.Tap, n)
	outside := make([]bool, n)
	for i := range taps {
		x := r.coordinate(float64(i), float64(in), factor*float64(in), factor, from, to)
		outside[i] = r.coordinates == "tf_crop_and_resize" && (x < 0 || x > float64(in-1))
		taps[i] = r.taps(x, in, factor)
	}
	y := c.Weigh(v, axis, taps)
	if slices.Contains(outside, true) {
		shape := slices.Repeat([]int{1}, v.Spec.Rank())
		shape[axis] = n
		mask := c.Constant(tensor.From(shape, outside))
		y = c.Where(mask, c.Number(y, r.extrapolation), y)
	}
	return y
}

// coordinate is the place in the operand, in elements, of new element i. Of out, the
// exact product of length and factor, only the whole part is made.
func (r *resampling) coordinate(i, in, out, factor, from, to float64) float64 {
	switch r.coordinates {
	case "asymmetric":
		return i / factor
	case "align_corners":
		if out <= 1 {
			return 0
		}
		return i * (in - 1) / (out - 1)
	case "pytorch_half_pixel":
		if out <= 1 {
			return 0
		}
	case "tf_half_pixel_for_nn":
		return (i + 0.5) / factor
	case "half_pixel_symmetric":
		adjust := math.Floor(out) / out
		return in/2*(1-adjust) + (i+0.5)/factor - 0.5
	case "tf_crop_and_resize":
		if out == 1 {
			return (from + to) * (in - 1) / 2
		}
		return from*(in-1) + i*(to-from)*(in-1)/(out-1)
	}
	return (i+0.5)/factor - 0.5
}

// width is how many taps an element has at most.
func (r *resampling) width(factor float64) int {
	if r.mode == "nearest" {
		return 1
	}
	_, reach := r.kernel(factor)
	return int(math.Min(2*reach, tensor.MaxElements)) + 1
}

// kernel is the weight by distance, and how far it reaches for a factor.
func (r *resampling) kernel(factor float64) (weight func(float64) float64, reach float64) {
	weight, reach = r.linear, 1
	if r.mode == "cubic" {
		weight, reach = r.cubicKernel, 2
	}
	return weight, reach * r.stretch(factor)
}

// stretch is how much wider the kernel is made so that a smaller image has no
// aliases.
func (r *resampling) stretch(factor float64) float64 {
	if r.antialias && factor < 1 {
		return 1 / factor
	}
	return 1
}

// taps are the elements that make one at x.
func (r *resampling) taps(x float64, in int, factor float64) []formula.Tap {
	// A place far outside has the weights of the edge, as all beyond the reach have.
	x = max(-math.MaxInt32, min(x, math.MaxInt32))
	if r.mode == "nearest" {
		return []formula.Tap{{At: max(0, min(r.round(x), in-1)), Weight: 1}}
	}
	kernel, reach := r.kernel(factor)
	stretch := r.stretch(factor)
	var list []formula.Tap
	sum := 0.0
	for at := int(math.Floor(x-reach)) + 1; float64(at) < x+reach; at++ {
		w := kernel((x - float64(at)) / stretch)
		if r.excludeOutside && (at < 0 || at >= in) {
			continue
		}
		list = append(list, formula.Tap{At: max(0, min(at, in-1)), Weight: w})
		sum += w
	}
	if sum == 0 { // nothing inside is within reach
		return []formula.Tap{{At: max(0, min(r.round(x), in-1)), Weight: 1}}
	}
	for i := range list {
		list[i].Weight /= sum
	}
	return list
}

func (r *resampling) linear(d float64) float64 { return math.Max(0, 1-math.Abs(d)) }

// cubicKernel is the cubic convolution of R. Keys, 1981.
func (r *resampling) cubicKernel(d float64) float64 {
	d = math.Abs(d)
	a := r.cubic
	switch {
	case d <= 1:
		return ((a+2)*d-(a+3))*d*d + 1
	case d < 2:
		return ((a*d-5*a)*d+8*a)*d - 4*a
	}
	return 0
}

func (r *resampling) round(x float64) int {
	switch r.nearest {
	case "floor":
		return int(math.Floor(x))
	case "ceil":
		return int(math.Ceil(x))
	case "round_prefer_ceil":
		return int(math.Floor(x + 0.5))
	}
	return int(math.Ceil(x - 0.5))
}

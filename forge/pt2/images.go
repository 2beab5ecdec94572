package pt2

import (
	"math"
	"slices"

	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
)

var _ = register(map[string]func(*call){
	"aten.convolution.default": convolution, "aten._convolution.default": convolution,
	"aten.conv1d.default": convolution, "aten.conv2d.default": convolution, "aten.conv3d.default": convolution,
	"aten.conv1d.padding": convolution, "aten.conv2d.padding": convolution,
	"aten.conv_transpose1d.default": convolutionTransposed, "aten.conv_transpose2d.input": convolutionTransposed,
	"aten.max_pool1d.default": maxPool(1), "aten.max_pool2d.default": maxPool(2), "aten.max_pool3d.default": maxPool(3), "aten.max_pool2d_with_indices.default": maxPool(2),
	"aten.avg_pool1d.default": avgPool(1), "aten.avg_pool2d.default": avgPool(2), "aten.avg_pool3d.default": avgPool(3),
	"aten.adaptive_avg_pool1d.default": adaptive(1), "aten.adaptive_avg_pool2d.default": adaptive(2), "aten._adaptive_avg_pool2d.default": adaptive(2),
	"aten.upsample_nearest2d.vec": nearest(2), "aten.upsample_nearest2d.default": nearest(2), "aten.upsample_nearest1d.vec": nearest(1), "aten.upsample_nearest1d.default": nearest(1),
	"aten.upsample_bilinear2d.vec": linearly(2), "aten.upsample_bilinear2d.default": linearly(2), "aten._upsample_bilinear2d_aa.default": refuseAntialias,
})

// batched gives x [N,C,…] n spatial dimensions; undo leaves out a batch that x does
// not have.
func (c *call) batched(x *ir.Value, n int) (wide *ir.Value, undo func(*ir.Value) *ir.Value) {
	switch x.Spec.Rank() {
	case n + 2:
		return x, func(v *ir.Value) *ir.Value { return v }
	case n + 1:
		return c.widen(x, 0), func(v *ir.Value) *ir.Value { return c.Reshape(v, v.Spec.Shape[1:]...) }
	}
	c.Fail("%v is no image with %d dimensions", x.Spec, n)
	return nil, nil
}

func convolution(c *call) {
	if c.flag("transposed", false) {
		convolutionTransposed(c)
		return
	}
	w := c.tensor("weight")
	n := w.Spec.Rank() - 2
	if n < 1 {
		c.Fail("the kernel %v has no spatial dimensions", w.Spec)
	}
	x, undo := c.batched(c.tensor("input"), n)
	for i, more := range c.perDim("output_padding", n, 0) { // of transposed ones
		if more != 0 {
			c.Fail("output_padding is %d in dimension %d", more, i)
		}
	}
	dilation, stride := c.perDim("dilation", n, 1), c.perDim("stride", n, 1)
	kernel := slices.Clone(w.Spec.Shape[2:])
	low, high := c.convolutionPadding(kernel, dilation, n)
	if !slices.Equal(low, high) {
		more := make([]int64, n+2)
		for i := range n {
			more[2+i] = int64(high[i] - low[i])
		}
		x = c.Pad(x, make([]int64, n+2), more, 0)
	}
	win := c.Slide(x, kernel, stride, low, dilation, false)
	c.set(0, undo(c.Convolve(x, w, c.optional("bias"), win, int(c.int("groups", 1)))))
}

// convolutionPadding is a number for each dimension or "same" or "valid". The larger
// half of an odd padding comes after the operand.
func (c *call) convolutionPadding(kernel, dilation []int, n int) (low, high []int) {
	if a := c.argument("padding"); a == nil || a.Kind != "as_string" {
		low = c.perDim("padding", n, 0)
		return low, low
	}
	low, high = make([]int, n), make([]int, n)
	switch mode := c.str("padding", ""); mode {
	case "valid":
	case "same":
		for i := range n {
			total := (kernel[i] - 1) * dilation[i]
			low[i], high[i] = total/2, total-total/2
		}
	default:
		c.Fail("padding %q is not supported", mode)
	}
	return low, high
}

func convolutionTransposed(c *call) {
	w := c.tensor("weight")
	n := w.Spec.Rank() - 2
	if n < 1 {
		c.Fail("the kernel %v has no spatial dimensions", w.Spec)
	}
	x, undo := c.batched(c.tensor("input"), n)
	padding := c.perDim("padding", n, 0)
	win := &formula.Window{In: x.Spec.Shape[2:], Kernel: slices.Clone(w.Spec.Shape[2:]), Stride: c.perDim("stride", n, 1), Dilation: c.perDim("dilation", n, 1),
		Low: padding, High: padding, Extra: make([]int, n)}
	c.set(0, undo(c.ConvolveTransposed(x, w, c.optional("bias"), win, c.perDim("output_padding", n, 0), int(c.int("groups", 1)))))
}

// pooled is the operand and the window of a pooling. The steps are those of the
// kernel when they are left out.
func (c *call) pooled(n int) (x *ir.Value, w *formula.Window, undo func(*ir.Value) *ir.Value) {
	x, undo = c.batched(c.tensor("self"), n)
	kernel := c.perDim("kernel_size", n, 0)
	stride := kernel
	if len(c.ints("stride")) > 0 {
		stride = c.perDim("stride", n, 1)
	}
	padding := c.perDim("padding", n, 0)
	for i, p := range padding {
		if p > kernel[i]/2 {
			c.Fail("padding of %d is more than half of the kernel, %d", p, kernel[i])
		}
	}
	w = c.Slide(x, kernel, stride, padding, c.perDim("dilation", n, 1), c.flag("ceil_mode", false))
	return x, w, undo
}

// maxPool does not tell where the maxima are.
func maxPool(n int) func(*call) {
	return func(c *call) {
		x, w, undo := c.pooled(n)
		c.set(0, undo(c.MaxPool(x, w)))
	}
}

func avgPool(n int) func(*call) {
	return func(c *call) {
		x, w, undo := c.pooled(n)
		c.set(0, undo(c.AveragePool(x, w, c.flag("count_include_pad", true), int(c.int("divisor_override", 0)))))
	}
}

// adaptive is a mean over all of a dimension, or a plain pooling when the lengths
// divide.
func adaptive(n int) func(*call) {
	return func(c *call) {
		x, undo := c.batched(c.tensor("self"), n)
		out := c.perDim("output_size", n, 1)
		in := x.Spec.Shape[2:]
		kernel := make([]int, n)
		whole := true
		for i := range n {
			if out[i] < 1 || in[i]%out[i] != 0 {
				c.refusef("windows of unequal size, since %d is no multiple of %d", in[i], out[i])
				return
			}
			kernel[i] = in[i] / out[i]
			whole = whole && out[i] == 1
		}
		if whole {
			var axes []int64
			for i := range n {
				axes = append(axes, int64(2+i))
			}
			c.set(0, undo(c.Op("mean", ir.Attrs{"axes": axes, "keepdims": true}, x)))
			return
		}
		ones := slices.Repeat([]int{1}, n)
		c.set(0, undo(c.AveragePool(x, c.Slide(x, kernel, kernel, make([]int, n), ones, false), true, 0)))
	}
}

// resizing is the operand of an upsampling, the new lengths, and the factors: those
// that are given count, not those of the lengths.
func (c *call) resizing(n int) (x *ir.Value, lengths []int, factors []float64) {
	name := "self"
	if c.has("input") {
		name = "input"
	}
	x = c.tensor(name)
	if x.Spec.Rank() != n+2 {
		c.Fail("%v has no %d spatial dimensions", x.Spec, n)
	}
	factors = make([]float64, n)
	if a := c.argument("scale_factors"); a != nil {
		if len(a.Reals) != n {
			c.Fail("%d factors for %d dimensions", len(a.Reals), n)
		}
		copy(factors, a.Reals)
	}
	for i, name := range [][]string{{"scales"}, {"scales_h", "scales_w"}}[n-1] {
		factors[i] = c.float(name, factors[i])
	}
	if c.has("output_size") {
		lengths = c.lengths("output_size")
	} else {
		for i, f := range factors {
			lengths = append(lengths, c.Lengths([]int64{int64(math.Floor(float64(x.Spec.Shape[2+i]) * f))})...)
		}
	}
	if len(lengths) != n {
		c.Fail("%d sizes for %d dimensions", len(lengths), n)
	}
	for i, out := range lengths {
		if in := x.Spec.Shape[2+i]; in < 1 || out < 1 || out > MaxRange {
			c.Fail("%d elements cannot be made of %d", out, in)
		}
		if !(factors[i] > 0) {
			factors[i] = float64(out) / float64(x.Spec.Shape[2+i])
		}
	}
	return x, lengths, factors
}

func nearest(n int) func(*call) {
	return func(c *call) {
		x, lengths, factors := c.resizing(n)
		for i, out := range lengths {
			in := x.Spec.Shape[2+i]
			index := make([]int64, out)
			for k := range index {
				index[k] = int64(min(in-1, int(math.Floor(float64(float32(k)*float32(1/factors[i]))))))
			}
			x = c.GatherAlong(x, 2+i, index)
		}
		c.set(0, x)
	}
}

// linearly weighs the two neighbours of a place. With align_corners the first and
// last elements stay; otherwise elements are areas, whose middles count.
func linearly(n int) func(*call) {
	return func(c *call) {
		align := c.flag("align_corners", false)
		x, lengths, factors := c.resizing(n)
		for i, out := range lengths {
			in := x.Spec.Shape[2+i]
			taps := make([][]formula.Tap, out)
			for k := range taps {
				at := max(0, (float64(k)+0.5)/factors[i]-0.5)
				if align {
					at = float64(k) * float64(in-1) / float64(max(1, out-1))
				}
				first := min(in-1, int(at))
				share := at - float64(first)
				taps[k] = []formula.Tap{{At: first, Weight: 1 - share}, {At: min(in-1, first+1), Weight: share}}
			}
			x = c.Weigh(x, 2+i, taps)
		}
		c.set(0, x)
	}
}

func refuseAntialias(c *call) { c.refuse("antialiasing") }

package onnx

import (
	"forgekernel/forge/ir"
)

var _ = register(map[string]operator{
	"Softmax": {1, softmax("softmax")}, "LogSoftmax": {1, softmax("log_softmax")},
	"BatchNormalization": {7, batchNorm}, "InstanceNormalization": {6, instanceNorm}, "LayerNormalization": {1, layerNorm},
	"GroupNormalization": {18, groupNorm}, "RMSNormalization": {23, rmsNorm}, "LpNormalization": {1, lpNorm},
	"MeanVarianceNormalization": {9, meanVariance}, "LRN": {1, lrn},
	"com.microsoft.SkipLayerNormalization":           {1, skipLayerNorm},
	"com.microsoft.SimplifiedLayerNormalization":     {1, rmsNorm},
	"SimplifiedLayerNormalization":                   {1, rmsNorm},
	"com.microsoft.SkipSimplifiedLayerNormalization": {1, skipRMSNorm},
})

func softmax(name string) func(*call) {
	return func(c *call) {
		c.alongAxis(func(v *ir.Value, axis int) *ir.Value { return c.op(name, ir.Attrs{"axis": axis}, v) })
	}
}

// perChannel gives a vector over channels, dimension 1, the rank of x.
func (c *call) perChannel(v *ir.Value, rank int) *ir.Value {
	return c.reshape(v, c.shapeAlong(1, rank, v.Spec.Elements())...)
}

// batchNorm scales and shifts by the stored statistics: one factor and one term for
// each channel, which are computed first.
func batchNorm(c *call) {
	switch {
	case c.flag("training_mode", false):
		batchNormTraining(c)
		return
	case c.opset < 9 && !c.flag("spatial", true):
		c.unsupportedf("statistics of each activation instead of each channel")
		return
	}
	x, rank := c.arg(0), c.rank(0)
	variance := c.shift(c.arg(4), c.float("epsilon", 1e-5))
	factor := c.div(c.arg(1), c.op("sqrt", nil, variance))
	term := c.sub(c.arg(2), c.mul(c.arg(3), factor))
	c.set(0, c.add(c.mul(x, c.perChannel(factor, rank)), c.perChannel(term, rank)))
}

// batchNormTraining normalises by the statistics of the batch and gives the running
// ones.
func batchNormTraining(c *call) {
	x, rank := c.arg(0), c.rank(0)
	var axes []int64
	for i := range rank {
		if i != 1 {
			axes = append(axes, int64(i))
		}
	}
	average := func(v *ir.Value) *ir.Value { return c.op("mean", ir.Attrs{"axes": axes, "keepdims": true}, v) }
	mean := average(x)
	centred := c.sub(x, mean)
	variance := average(c.mul(centred, centred))
	y := c.div(centred, c.op("sqrt", nil, c.shift(variance, c.float("epsilon", 1e-5))))
	c.set(0, c.add(c.mul(y, c.perChannel(c.arg(1), rank)), c.perChannel(c.arg(2), rank)))
	momentum := c.float("momentum", 0.9)
	for i, now := range []*ir.Value{mean, variance} {
		n := now.Spec.Elements()
		c.set(1+i, c.add(c.scale(c.arg(3+i), momentum), c.scale(c.reshape(now, n), 1-momentum)))
	}
}

// instanceNorm normalises each channel of each image.
func instanceNorm(c *call) {
	x, shape := c.arg(0), c.shape(0)
	if len(shape) < 3 {
		c.fail("the operand has rank %d; it needs 3 at least", len(shape))
	}
	y := c.reshape(c.normaliseFrom(c.reshape(x, shape[0], shape[1], product(shape[2:])), 2, c.float("epsilon", 1e-5)), shape...)
	c.set(0, c.add(c.mul(y, c.perChannel(c.arg(1), len(shape))), c.perChannel(c.arg(2), len(shape))))
}

func (c *call) normaliseFrom(x *ir.Value, axis int, eps float64) *ir.Value {
	return c.op("layer_norm", ir.Attrs{"axis": axis, "eps": eps}, x)
}

// groupNorm normalises groups of channels. Scale and bias are per group before
// version 21 and per channel from then on.
func groupNorm(c *call) {
	x, shape := c.arg(0), c.shape(0)
	groups := c.small("num_groups", 1, 1)
	if len(shape) < 2 || shape[1]%groups != 0 {
		c.fail("%d groups do not divide the channels of %v", groups, shape)
	}
	y := c.reshape(c.normaliseFrom(c.reshape(x, shape[0], groups, product(shape[1:])/groups), 2, c.float("epsilon", 1e-5)), shape...)
	scale, bias := c.arg(1), c.arg(2)
	if c.opset < 21 {
		each := func(v *ir.Value) *ir.Value {
			wide := c.op("expand", ir.Attrs{"shape": []int64{int64(groups), int64(shape[1] / groups)}}, c.reshape(v, groups, 1))
			return c.reshape(wide, shape[1])
		}
		scale, bias = each(scale), each(bias)
	}
	c.set(0, c.add(c.mul(y, c.perChannel(scale, len(shape))), c.perChannel(bias, len(shape))))
}

// layerNorm can also give the mean and the inverse deviation.
func layerNorm(c *call) {
	axis := c.axis(c.int("axis", -1), c.rank(0))
	eps := c.float("epsilon", 1e-5)
	c.set(0, c.layerNorm(c.arg(0), axis, eps, 1))
	if len(c.out) > 1 {
		c.statistics(axis, eps)
	}
}

// layerNorm applies weight and bias, operands i and i+1. They broadcast to the
// normalised dimensions.
func (c *call) layerNorm(x *ir.Value, axis int, eps float64, i int) *ir.Value {
	in := []*ir.Value{x}
	line := x.Spec.Shape[axis:]
	for k := i; k < i+2 && c.has(k); k++ {
		v := c.arg(k)
		in = append(in, c.op("expand", ir.Attrs{"shape": int64s(line)}, v))
	}
	return c.op("layer_norm", ir.Attrs{"axis": axis, "eps": eps}, in...)
}

func (c *call) statistics(axis int, eps float64) {
	x := c.arg(0)
	var axes []int64
	for i := axis; i < c.rank(0); i++ {
		axes = append(axes, int64(i))
	}
	attrs := ir.Attrs{"axes": axes, "keepdims": true}
	mean := c.op("mean", attrs, x)
	centred := c.sub(x, mean)
	c.set(1, mean)
	c.set(2, c.op("rsqrt", nil, c.shift(c.op("mean", attrs, c.mul(centred, centred)), eps)))
}

func rmsNorm(c *call) {
	axis := c.axis(c.int("axis", -1), c.rank(0))
	c.set(0, c.rmsNorm(c.arg(0), axis, 1))
}

func (c *call) rmsNorm(x *ir.Value, axis, weight int) *ir.Value {
	in := []*ir.Value{x}
	if c.has(weight) {
		in = append(in, c.op("expand", ir.Attrs{"shape": int64s(x.Spec.Shape[axis:])}, c.arg(weight)))
	}
	return c.op("rms_norm", ir.Attrs{"axis": axis, "eps": c.float("epsilon", 1e-5)}, in...)
}

// skipLayerNorm adds a residual, and a bias, before it normalises. Output 3 is the
// sum.
func skipLayerNorm(c *call) {
	x := c.add(c.arg(0), c.arg(1))
	if c.has(4) {
		x = c.add(x, c.arg(4))
	}
	c.set(0, c.layerNorm(x, c.axis(-1, x.Spec.Rank()), c.float("epsilon", 1e-12), 2))
	c.set(3, x)
}

func skipRMSNorm(c *call) {
	x := c.add(c.arg(0), c.arg(1))
	if c.has(3) {
		x = c.add(x, c.arg(3))
	}
	c.set(0, c.rmsNorm(x, c.axis(-1, x.Spec.Rank()), 2))
	c.set(3, x)
}

func lpNorm(c *call) {
	x := c.arg(0)
	attrs := ir.Attrs{"axes": []int64{int64(c.axis(c.int("axis", -1), c.rank(0)))}, "keepdims": true}
	switch p := c.int("p", 2); p {
	case 1:
		c.set(0, c.div(x, c.op("sum", attrs, c.op("abs", nil, x))))
	case 2:
		c.set(0, c.div(x, c.op("sqrt", nil, c.op("sum", attrs, c.mul(x, x)))))
	default:
		c.fail("p is %d; it must be 1 or 2", p)
	}
}

func meanVariance(c *call) {
	axes := c.ints("axes")
	if axes == nil {
		axes = []int64{0, 2, 3}
	}
	x := c.arg(0)
	attrs := ir.Attrs{"axes": c.axes(axes, c.rank(0)), "keepdims": true}
	mean := c.op("mean", attrs, x)
	centred := c.sub(x, mean)
	deviation := c.op("sqrt", nil, c.op("mean", attrs, c.mul(centred, centred)))
	c.set(0, c.div(centred, c.shift(deviation, 1e-9)))
}

// lrn divides by a power of the mean square over neighbouring channels.
func lrn(c *call) {
	x, shape := c.arg(0), c.shape(0)
	size := c.small("size", 1, 1)
	if len(shape) < 2 {
		c.fail("size %d over the channels of %v", size, shape)
	}
	low, high := make([]int64, len(shape)), make([]int64, len(shape))
	low[1], high[1] = int64(min((size-1)/2, shape[1])), int64(min(size-1-(size-1)/2, shape[1])) // more has no neighbours
	padded := c.op("pad", ir.Attrs{"low": low, "high": high}, c.mul(x, x))
	var sum *ir.Value
	for i := range int(low[1]+high[1]) + 1 {
		part := c.op("narrow", ir.Attrs{"axis": 1, "start": i, "length": shape[1]}, padded)
		if sum == nil {
			sum = part
			continue
		}
		sum = c.add(sum, part)
	}
	base := c.shift(c.scale(sum, c.float("alpha", 1e-4)/float64(size)), c.float("bias", 1))
	c.set(0, c.div(x, c.op("pow", nil, base, c.number(base, c.float("beta", 0.75)))))
}

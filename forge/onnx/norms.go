package onnx

import (
	"forgekernel/forge/importer/formula"
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
		c.alongAxis(func(v *ir.Value, axis int) *ir.Value { return c.Op(name, ir.Attrs{"axis": axis}, v) })
	}
}

// perChannel gives a vector over channels, dimension 1, the rank of x.
func (c *call) perChannel(v *ir.Value, rank int) *ir.Value {
	return c.Reshape(v, c.shapeAlong(1, rank, v.Spec.Elements())...)
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
	variance := c.Shift(c.arg(4), c.float("epsilon", 1e-5))
	factor := c.Div(c.arg(1), c.Op("sqrt", nil, variance))
	term := c.Sub(c.arg(2), c.Mul(c.arg(3), factor))
	c.set(0, c.Add(c.Mul(x, c.perChannel(factor, rank)), c.perChannel(term, rank)))
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
	average := func(v *ir.Value) *ir.Value { return c.Op("mean", ir.Attrs{"axes": axes, "keepdims": true}, v) }
	mean := average(x)
	centred := c.Sub(x, mean)
	variance := average(c.Mul(centred, centred))
	y := c.Div(centred, c.Op("sqrt", nil, c.Shift(variance, c.float("epsilon", 1e-5))))
	c.set(0, c.Add(c.Mul(y, c.perChannel(c.arg(1), rank)), c.perChannel(c.arg(2), rank)))
	momentum := c.float("momentum", 0.9)
	for i, now := range []*ir.Value{mean, variance} {
		n := now.Spec.Elements()
		c.set(1+i, c.Add(c.Scale(c.arg(3+i), momentum), c.Scale(c.Reshape(now, n), 1-momentum)))
	}
}

// instanceNorm normalises each channel of each image.
func instanceNorm(c *call) {
	x, shape := c.arg(0), c.shape(0)
	if len(shape) < 3 {
		c.Fail("the operand has rank %d; it needs 3 at least", len(shape))
	}
	y := c.Reshape(c.normaliseFrom(c.Reshape(x, shape[0], shape[1], formula.Product(shape[2:])), 2, c.float("epsilon", 1e-5)), shape...)
	c.set(0, c.Add(c.Mul(y, c.perChannel(c.arg(1), len(shape))), c.perChannel(c.arg(2), len(shape))))
}

func (c *call) normaliseFrom(x *ir.Value, axis int, eps float64) *ir.Value {
	return c.Op("layer_norm", ir.Attrs{"axis": axis, "eps": eps}, x)
}

// groupNorm normalises groups of channels. Scale and bias are per group before
// version 21 and per channel from then on.
func groupNorm(c *call) {
	x, shape := c.arg(0), c.shape(0)
	groups := c.small("num_groups", 1, 1)
	if len(shape) < 2 || shape[1]%groups != 0 {
		c.Fail("%d groups do not divide the channels of %v", groups, shape)
	}
	y := c.Reshape(c.normaliseFrom(c.Reshape(x, shape[0], groups, formula.Product(shape[1:])/groups), 2, c.float("epsilon", 1e-5)), shape...)
	scale, bias := c.arg(1), c.arg(2)
	if c.opset < 21 {
		each := func(v *ir.Value) *ir.Value {
			wide := c.Op("expand", ir.Attrs{"shape": []int64{int64(groups), int64(shape[1] / groups)}}, c.Reshape(v, groups, 1))
			return c.Reshape(wide, shape[1])
		}
		scale, bias = each(scale), each(bias)
	}
	c.set(0, c.Add(c.Mul(y, c.perChannel(scale, len(shape))), c.perChannel(bias, len(shape))))
}

// layerNorm can also give the mean and the inverse deviation.
func layerNorm(c *call) {
	axis := c.Axis(c.int("axis", -1), c.rank(0))
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
		in = append(in, c.Op("expand", ir.Attrs{"shape": formula.Int64s(line)}, v))
	}
	return c.Op("layer_norm", ir.Attrs{"axis": axis, "eps": eps}, in...)
}

func (c *call) statistics(axis int, eps float64) {
	x := c.arg(0)
	var axes []int64
	for i := axis; i < c.rank(0); i++ {
		axes = append(axes, int64(i))
	}
	attrs := ir.Attrs{"axes": axes, "keepdims": true}
	mean := c.Op("mean", attrs, x)
	centred := c.Sub(x, mean)
	c.set(1, mean)
	c.set(2, c.Op("rsqrt", nil, c.Shift(c.Op("mean", attrs, c.Mul(centred, centred)), eps)))
}

func rmsNorm(c *call) {
	axis := c.Axis(c.int("axis", -1), c.rank(0))
	c.set(0, c.rmsNorm(c.arg(0), axis, 1))
}

func (c *call) rmsNorm(x *ir.Value, axis, weight int) *ir.Value {
	in := []*ir.Value{x}
	if c.has(weight) {
		in = append(in, c.Op("expand", ir.Attrs{"shape": formula.Int64s(x.Spec.Shape[axis:])}, c.arg(weight)))
	}
	return c.Op("rms_norm", ir.Attrs{"axis": axis, "eps": c.float("epsilon", 1e-5)}, in...)
}

// skipLayerNorm adds a residual, and a bias, before it normalises. Output 3 is the
// sum.
func skipLayerNorm(c *call) {
	x := c.Add(c.arg(0), c.arg(1))
	if c.has(4) {
		x = c.Add(x, c.arg(4))
	}
	c.set(0, c.layerNorm(x, c.Axis(-1, x.Spec.Rank()), c.float("epsilon", 1e-12), 2))
	c.set(3, x)
}

func skipRMSNorm(c *call) {
	x := c.Add(c.arg(0), c.arg(1))
	if c.has(3) {
		x = c.Add(x, c.arg(3))
	}
	c.set(0, c.rmsNorm(x, c.Axis(-1, x.Spec.Rank()), 2))
	c.set(3, x)
}

func lpNorm(c *call) {
	x := c.arg(0)
	attrs := ir.Attrs{"axes": []int64{int64(c.Axis(c.int("axis", -1), c.rank(0)))}, "keepdims": true}
	switch p := c.int("p", 2); p {
	case 1:
		c.set(0, c.Div(x, c.Op("sum", attrs, c.Op("abs", nil, x))))
	case 2:
		c.set(0, c.Div(x, c.Op("sqrt", nil, c.Op("sum", attrs, c.Mul(x, x)))))
	default:
		c.Fail("p is %d; it must be 1 or 2", p)
	}
}

func meanVariance(c *call) {
	axes := c.ints("axes")
	if axes == nil {
		axes = []int64{0, 2, 3}
	}
	x := c.arg(0)
	attrs := ir.Attrs{"axes": c.Axes(axes, c.rank(0)), "keepdims": true}
	mean := c.Op("mean", attrs, x)
	centred := c.Sub(x, mean)
	deviation := c.Op("sqrt", nil, c.Op("mean", attrs, c.Mul(centred, centred)))
	c.set(0, c.Div(centred, c.Shift(deviation, 1e-9)))
}

// lrn divides by a power of the mean square over neighbouring channels.
func lrn(c *call) {
	x, shape := c.arg(0), c.shape(0)
	size := c.small("size", 1, 1)
	if len(shape) < 2 {
		c.Fail("size %d over the channels of %v", size, shape)
	}
	low, high := make([]int64, len(shape)), make([]int64, len(shape))
	low[1], high[1] = int64(min((size-1)/2, shape[1])), int64(min(size-1-(size-1)/2, shape[1])) // more has no neighbours
	padded := c.Op("pad", ir.Attrs{"low": low, "high": high}, c.Mul(x, x))
	var sum *ir.Value
	for i := range int(low[1]+high[1]) + 1 {
		part := c.Op("narrow", ir.Attrs{"axis": 1, "start": i, "length": shape[1]}, padded)
		if sum == nil {
			sum = part
			continue
		}
		sum = c.Add(sum, part)
	}
	base := c.Shift(c.Scale(sum, c.float("alpha", 1e-4)/float64(size)), c.float("bias", 1))
	c.set(0, c.Div(x, c.Op("pow", nil, base, c.Number(base, c.float("beta", 0.75)))))
}

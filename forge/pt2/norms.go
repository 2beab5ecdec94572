package pt2

import (
	"slices"

	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]func(*call){
	"aten.layer_norm.default": layerNorm, "aten.native_layer_norm.default": layerNorm, "aten.rms_norm.default": rmsNorm, "aten._fused_rms_norm.default": rmsNorm,
	"aten.batch_norm.default": batchNorm, "aten._native_batch_norm_legit_no_training.default": batchNorm, "aten.native_batch_norm.default": batchNorm,
	"aten.cudnn_batch_norm.default": batchNorm, "aten._native_batch_norm_legit.no_stats": batchStatistics,
	"aten.group_norm.default": groupNorm, "aten.native_group_norm.default": nativeGroupNorm, "aten.instance_norm.default": instanceNorm,
})

// normalised is the first of the dimensions that an argument spells out.
func (c *call) normalised(x *ir.Value) int {
	dims := c.lengths("normalized_shape")
	axis := x.Spec.Rank() - len(dims)
	if len(dims) == 0 || axis < 0 || !slices.Equal(x.Spec.Shape[axis:], dims) {
		c.Fail("normalized_shape %v does not fit %v", dims, x.Spec)
	}
	return axis
}

// layerNorm can also give the mean and the inverse deviation.
func layerNorm(c *call) {
	x := c.tensor("input")
	axis, eps := c.normalised(x), c.float("eps", 1e-5)
	c.set(0, c.affine("layer_norm", x, axis, eps))
	if len(c.out) < 3 {
		return
	}
	attrs := ir.Attrs{"keepdims": true}
	var axes []int64
	for i := axis; i < x.Spec.Rank(); i++ {
		axes = append(axes, int64(i))
	}
	attrs["axes"] = axes
	mean := c.Op("mean", attrs, x)
	centred := c.Sub(x, mean)
	c.set(1, mean)
	c.set(2, c.Op("rsqrt", nil, c.Shift(c.Op("mean", attrs, c.Mul(centred, centred)), eps)))
}

// affine normalises and applies weight and bias. A bias alone is added.
func (c *call) affine(name string, x *ir.Value, axis int, eps float64) *ir.Value {
	in := []*ir.Value{x}
	weight, bias := c.optional("weight"), (*ir.Value)(nil)
	if name == "layer_norm" {
		bias = c.optional("bias")
	}
	if weight != nil {
		in = append(in, weight)
		if bias != nil {
			in = append(in, bias)
		}
	}
	y := c.Op(name, ir.Attrs{"axis": axis, "eps": eps}, in...)
	if weight == nil && bias != nil {
		y = c.Add(y, bias)
	}
	return y
}

// epsilons are the distances of 1 to the next number.
var epsilons = map[tensor.DType]float64{tensor.F32: 1.1920928955078125e-07, tensor.F64: 2.220446049250313e-16, tensor.F16: 0.0009765625, tensor.BF16: 0.0078125}

func rmsNorm(c *call) {
	x := c.tensor("input")
	eps := epsilons[x.Spec.DType]
	if x.Spec.DType == tensor.F16 || x.Spec.DType == tensor.BF16 {
		eps = epsilons[tensor.F32] // it is computed in f32
	}
	c.set(0, c.affine("rms_norm", x, c.normalised(x), c.float("eps", eps)))
}

// perChannel gives a vector over channels, dimension 1, the rank of x.
func (c *call) perChannel(v *ir.Value, rank int) *ir.Value {
	if rank < 2 {
		c.Fail("the operand has no channels")
	}
	shape := slices.Repeat([]int{1}, rank-1)
	shape[0] = v.Spec.Elements()
	return c.Reshape(v, shape...)
}

// batchNorm scales and shifts by the stored statistics: one factor and one term for
// each channel, which are computed first.
func batchNorm(c *call) {
	if c.flag("training", false) || !c.has("running_mean") || !c.has("running_var") {
		c.refuse("it normalises by the statistics of the batch: export after model.eval()")
		return
	}
	c.float("momentum", 0.1) // of the statistics, which stay
	x := c.tensor("input")
	rank := x.Spec.Rank()
	eps := c.float("eps", 1e-5)
	if c.has("epsilon") {
		eps = c.float("epsilon", 1e-5)
	}
	variance, mean := c.tensor("running_var"), c.tensor("running_mean")
	deviation := c.Op("sqrt", nil, c.Shift(variance, eps))
	factor := c.Div(c.Number(deviation, 1), deviation)
	if w := c.optional("weight"); w != nil {
		factor = c.Div(w, deviation)
	}
	term := c.Mul(mean, factor)
	if b := c.optional("bias"); b != nil {
		term = c.Sub(b, term)
	} else {
		term = c.Op("neg", nil, term)
	}
	c.set(0, c.Add(c.Mul(x, c.perChannel(factor, rank)), c.perChannel(term, rank)))
	for i := 1; i < len(c.out); i++ { // statistics of a batch, of which there are none
		c.set(i, c.Constant(tensor.Zeros(x.Spec.DType, 0)))
	}
}

// batchStatistics normalises each channel over all images, of which there is one
// where instance_norm was decomposed.
func batchStatistics(c *call) {
	x := c.tensor("input")
	if !c.flag("training", true) {
		c.refuse("it has no statistics to normalise by")
		return
	}
	c.float("momentum", 0.1)
	eps, shape := c.float("eps", 1e-5), x.Spec.Shape
	if len(shape) < 2 {
		c.Fail("%v has no channels", x.Spec)
	}
	if shape[0] == 1 {
		c.set(0, c.scaleChannels(c.normaliseGroups(x, int64(shape[1]), eps)))
		return
	}
	turned := c.Swap(x, 0, 1)
	y := c.Op("layer_norm", ir.Attrs{"axis": 1, "eps": eps}, c.Reshape(turned, shape[1], x.Spec.Elements()/max(1, shape[1])))
	c.set(0, c.scaleChannels(c.Swap(c.Reshape(y, turned.Spec.Shape...), 0, 1)))
}

// scaleChannels applies weight and bias of channels.
func (c *call) scaleChannels(y *ir.Value) *ir.Value {
	rank := y.Spec.Rank()
	if w := c.optional("weight"); w != nil {
		y = c.Mul(y, c.perChannel(w, rank))
	}
	if b := c.optional("bias"); b != nil {
		y = c.Add(y, c.perChannel(b, rank))
	}
	return y
}

// normaliseGroups normalises groups of channels.
func (c *call) normaliseGroups(x *ir.Value, groups int64, eps float64) *ir.Value {
	shape := x.Spec.Shape
	if len(shape) < 2 || groups < 1 || int64(shape[1])%groups != 0 {
		c.Fail("%d groups do not divide the channels of %v", groups, x.Spec)
	}
	g := int(groups)
	flat := c.Reshape(x, shape[0], g, formula.Product(shape[1:])/g)
	return c.Reshape(c.Op("layer_norm", ir.Attrs{"axis": 2, "eps": eps}, flat), shape...)
}

func groupNorm(c *call) {
	x := c.tensor("input")
	c.set(0, c.scaleChannels(c.normaliseGroups(x, c.mustInt("num_groups"), c.float("eps", 1e-5))))
}

func nativeGroupNorm(c *call) {
	x := c.tensor("input")
	for _, name := range []string{"N", "C", "HxW"} { // the operand has them
		c.int(name, 0)
	}
	c.set(0, c.scaleChannels(c.normaliseGroups(x, c.mustInt("group"), c.float("eps", 1e-5))))
}

func instanceNorm(c *call) {
	x := c.tensor("input")
	if !c.flag("use_input_stats", true) {
		c.refuse("it normalises by stored statistics")
		return
	}
	c.float("momentum", 0.1)
	if x.Spec.Rank() < 2 {
		c.Fail("%v has no channels", x.Spec)
	}
	c.set(0, c.scaleChannels(c.normaliseGroups(x, int64(x.Spec.Shape[1]), c.float("eps", 1e-5))))
}

package onnx

import (
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]operator{"NegativeLogLikelihoodLoss": {12, nllLoss}, "SoftmaxCrossEntropyLoss": {12, crossEntropyLoss}})

func nllLoss(c *call) { c.set(0, c.nll(c.arg(0))) }

// crossEntropyLoss can also give the logarithms of the probabilities.
func crossEntropyLoss(c *call) {
	c.ranked(0, 2, tensor.MaxRank)
	logs := c.Op("log_softmax", ir.Attrs{"axis": 1}, c.arg(0))
	c.set(0, c.nll(logs))
	c.set(1, logs)
}

// nll is the loss of log-probabilities [N,C,…] at classes [N,…], operand 1, with the
// weights of the classes, operand 2.
func (c *call) nll(logs *ir.Value) *ir.Value {
	s, at := c.ranked(0, 2, tensor.MaxRank), c.shape(1)
	if !slices.Equal(at, slices.Delete(slices.Clone(s), 1, 2)) {
		c.Fail("classes %v do not fit %v", at, s)
	}
	target := c.Cast(c.arg(1), tensor.I64)
	wide := c.Reshape(target, slices.Insert(slices.Clone(at), 1, 1)...)
	hit := c.Op("eq", nil, wide, c.perChannel(c.iota(s[1], tensor.I64), len(s)))
	pick := func(v *ir.Value) *ir.Value {
		return c.Op("sum", ir.Attrs{"axes": []int64{1}}, c.Where(hit, v, c.Number(logs, 0)))
	}
	loss := c.Op("neg", nil, pick(logs))
	var weight *ir.Value
	if c.has(2) {
		weight = pick(c.perChannel(c.arg(2), len(s)))
	}
	if a := c.attr("ignore_index", proto.IntType); a != nil {
		counts := c.Cast(c.Op("ne", nil, target, c.Constant(tensor.From([]int{}, []int64{a.I}))), logs.Spec.DType)
		if weight != nil {
			counts = c.Mul(counts, weight)
		}
		weight = counts
	}
	if weight != nil {
		loss = c.Mul(loss, weight)
	}
	return c.reduceLoss(loss, weight)
}

// reduceLoss adds up, or divides by the sum of the weights, 1 each when absent.
func (c *call) reduceLoss(loss, weight *ir.Value) *ir.Value {
	reduction := c.str("reduction", "mean")
	c.oneOf("reduction", reduction, "none", "sum", "mean")
	switch {
	case reduction == "none":
		return loss
	case reduction == "sum":
		return c.Op("sum", nil, loss)
	case weight == nil:
		return c.Op("mean", nil, loss)
	}
	return c.Div(c.Op("sum", nil, loss), c.Op("sum", nil, weight))
}

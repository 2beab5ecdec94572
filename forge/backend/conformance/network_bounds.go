package conformance

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// contractionBound is [opCase.singleBound] for sums of products.
func (c *opCase) contractionBound(inputs []*tensor.Tensor) (func(i int) float64, error) {
	switch c.op.Name {
	case "linear", "matmul":
		return c.productBound(inputs)
	case "conv2d":
		w := c.shapes[1]
		return c.activated(inputs, w[1]*w[2]*w[3]+1)
	}
	g, err := c.graph()
	if err != nil {
		return nil, err
	}
	n := g.Outputs[0].Def
	if c.op.Name == "rope" {
		return ropeBound(n, inputs[0]), nil
	}
	return attentionBound(n, inputs, unit), nil
}

// productBound bounds a product with bias, activation and residual, which is one
// more rounding, of a sum that is no larger than its terms and the result.
func (c *opCase) productBound(inputs []*tensor.Tensor) (func(i int) float64, error) {
	depth := c.shapes[0][len(c.shapes[0])-1]
	if len(inputs) < len(c.op.Operands) {
		return c.activated(inputs, depth+1)
	}
	plain := *c
	last := len(inputs) - 1
	plain.shapes = c.shapes[:last]
	before, err := plain.activated(inputs[:last], depth+1)
	if err != nil {
		return nil, err
	}
	terms, err := plain.onMagnitudes(c.op.Name, inputs[:last])
	if err != nil {
		return nil, err
	}
	return func(i int) float64 {
		return before(i) + unit*(math.Abs(inputs[last].Elem(i))+1.2*math.Abs(terms.Elem(i))+before(i))
	}, nil
}

// activated bounds sums of n products and a bias with an activation. That has a
// slope of at most 1.2, and an error of at most ten units of its argument.
func (c *opCase) activated(inputs []*tensor.Tensor, n int) (func(i int) float64, error) {
	plain := *c
	act, _ := c.attrs["act"].(string)
	plain.attrs = c.attrs.Clone()
	delete(plain.attrs, "act")
	before, err := plain.sumBound(c.op.Name, inputs, n)
	if err != nil || act == "" || act == "none" {
		return before, err
	}
	argument, err := plain.onMagnitudes(c.op.Name, inputs)
	if err != nil {
		return nil, err
	}
	return func(i int) float64 { return 1.2*before(i) + 10*unit*argument.Elem(i) }, nil
}

// attentionBound adds up the errors of one query. A score errs by its D+2
// roundings, which is a relative error of its weight, as are the rounding of
// its distance from the largest score and the steps of softmax; the same again
// through the sum of weights; unit is the relative error of a rounding. Weights add up to one, so the result errs by no
// more than twice the largest value, however wrong the scores are.
func attentionBound(n *ir.Node, inputs []*tensor.Tensor, unit float64) func(i int) float64 {
	out := n.Out[0].Spec.Shape
	last, row := -1, 0.0
	return func(i int) float64 {
		if r := i / out[3]; r != last { // elements of one query share a bound
			last = r
			row = queryBound(visiblePairs(n, inputs, r/out[2]/out[1], r/out[2]%out[1], r%out[2]), inputs[0].Dim(3), unit)
		}
		return row
	}
}

func queryBound(pairs []pair, channels int, unit float64) float64 {
	low, high, wrong, value := math.Inf(1), math.Inf(-1), 0.0, 0.0
	for _, p := range pairs {
		low, high = math.Min(low, p.score), math.Max(high, p.score)
		wrong = math.Max(wrong, p.magnitude*float64(channels+2)*unit)
		for _, v := range p.value {
			value = math.Max(value, math.Abs(v))
		}
	}
	steps := float64(len(pairs) + 8)
	relative := math.Expm1(2*wrong + 2*unit*(math.Min(high-low, 110)+steps))
	if !(relative < 2) {
		relative = 2
	}
	return value*(relative+steps*unit) + steps*tiny
}

// ropeBound allows each of the two products four roundings: of the cosine or
// sine, which may err by two, of the product and of the sum.
func ropeBound(n *ir.Node, x *tensor.Tensor) func(i int) float64 {
	d := x.Dim(-1)
	dims := d
	if n.Attr("dims") != nil {
		dims = n.Int("dims")
	}
	return func(i int) float64 {
		c := i % d
		if c >= dims {
			return 0
		}
		other := i + 1 - c%2*2
		if n.Str("style") == "half" {
			other = i - c + (c+dims/2)%dims
		}
		return 4*unit*(math.Abs(x.Elem(i))+math.Abs(x.Elem(other))) + 4*tiny
	}
}

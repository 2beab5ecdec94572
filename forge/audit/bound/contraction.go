package bound

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// ofContraction are the limits of sums of products.
func ofContraction(n *ir.Node, in []*tensor.Tensor) (limits, error) {
	switch n.Op.Name {
	case "linear", "matmul":
		return ofProduct(n, in)
	case "conv2d":
		w := in[1]
		return activated(n, in, w.Dim(1)*w.Dim(2)*w.Dim(3)+1)
	case "rope":
		return ofRope(n, in[0]), nil
	}
	return ofAttention(n, in), nil
}

// ofProduct bounds a product with bias, activation and residual, which is one more
// rounding, of a sum that is no larger than its terms and the result.
func ofProduct(n *ir.Node, in []*tensor.Tensor) (limits, error) {
	terms := in[0].Dim(-1) + 1
	if len(in) < len(n.Op.Operands) {
		return activated(n, in, terms)
	}
	last := len(in) - 1
	plain, err := ir.NewNode(n.Op, n.Attrs, n.In[:last]...)
	if err != nil {
		return nil, err
	}
	before, err := activated(plain, in[:last], terms)
	if err != nil {
		return nil, err
	}
	sums, err := onMagnitudes(plain, in[:last])
	if err != nil {
		return nil, err
	}
	return func(i int) float64 {
		return before(i) + unit*(math.Abs(in[last].Elem(i))+1.2*math.Abs(sums.Elem(i))+before(i))
	}, nil
}

// activated bounds sums of so many products and a bias with an activation. That has
// a slope of at most 1.2, and an error of at most ten units of its argument.
func activated(n *ir.Node, in []*tensor.Tensor, terms int) (limits, error) {
	before, err := ofSum(n, in, terms)
	if act := n.Str("act"); err != nil || act == "" || act == "none" {
		return before, err
	}
	argument, err := onMagnitudes(n, in)
	if err != nil {
		return nil, err
	}
	return func(i int) float64 { return 1.2*before(i) + 10*unit*argument.Elem(i) }, nil
}

// Attention bounds the elements of an attention, given the relative error of a
// rounding. The errors of one query add up. A score errs by its D+2
// roundings, which is a relative error of its weight, as are the rounding of
// its distance from the largest score and the steps of softmax; the same again
// through the sum of weights. Weights add up to one, so the result errs by no
// more than twice the largest value, however wrong the scores are.
func Attention(n *ir.Node, in []*tensor.Tensor, unit float64) func(i int) float64 {
	out := n.Out[0].Spec.Shape
	last, row := -1, 0.0
	return func(i int) float64 {
		if r := i / out[3]; r != last { // elements of one query share a bound
			last = r
			row = ofQuery(Pairs(n, in, r/out[2]/out[1], r/out[2]%out[1], r%out[2]), in[0].Dim(3), unit)
		}
		return row
	}
}

func ofQuery(pairs []Pair, channels int, unit float64) float64 {
	low, high, wrong, value := math.Inf(1), math.Inf(-1), 0.0, 0.0
	for _, p := range pairs {
		low, high = math.Min(low, p.Score), math.Max(high, p.Score)
		wrong = math.Max(wrong, p.Magnitude*float64(channels+2)*unit)
		for _, v := range p.Value {
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

// ofAttention is [Attention] in float32, whose scores may overflow, and so may a
// sum of values that is divided at the end.
func ofAttention(n *ir.Node, in []*tensor.Tensor) limits {
	out, scale := n.Out[0].Spec.Shape, min(1, scaleOf(n, in[0]))
	limit := Attention(n, in, unit)
	last, open := -1, false
	return func(i int) float64 {
		if r := i / out[3]; r != last {
			last, open = r, false
			pairs := Pairs(n, in, r/out[2]/out[1], r/out[2]%out[1], r%out[2])
			for _, p := range pairs {
				open = open || overflows(p.Magnitude/scale)
				for _, v := range p.Value {
					open = open || overflows(math.Abs(v)*float64(len(pairs)))
				}
			}
		}
		if open {
			return math.Inf(1)
		}
		return limit(i)
	}
}

// isAttention reports whether an operator is a softmax between two products.
func isAttention(n *ir.Node) bool {
	return n.Op.Name == "sdpa" || n.Op.Name == "cached_attention" || n.Op.Name == "paged_attention"
}

// weighted adds to the limits of an attention what it costs to round weights to a half
// precision, as separate operators do and as tensor cores want it. Weights add up to one,
// so that this is no more than a rounding of the largest value.
func weighted(n *ir.Node, half tensor.DType, in []*tensor.Tensor, single limits) limits {
	values := in[2]
	largest := 0.0
	for i := range values.Len() {
		if v := math.Abs(values.Elem(i)); v > largest && !math.IsInf(v, 1) {
			largest = v
		}
	}
	rounding := largest * tensor.ULP(half, 1) / 2
	return func(i int) float64 { return single(i) + rounding }
}

// ofRope allows each of the two products four roundings: of the cosine or
// sine, which may err by two, of the product and of the sum.
func ofRope(n *ir.Node, x *tensor.Tensor) limits {
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

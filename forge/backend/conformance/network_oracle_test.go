package conformance

import (
	"math"
	"slices"

	"forgekernel/forge/audit/bound"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// networkOracles compute one element of the layers of networks.
var networkOracles = map[string]func(n *ir.Node, in []*tensor.Tensor, index []int) float64{
	"linear": linearOracle, "conv2d": convOracle, "max_pool2d": poolOracle, "avg_pool2d": poolOracle,
	"sdpa": attentionOracle, "cached_attention": attentionOracle, "paged_attention": attentionOracle,
	"kv_append": appendOracle, "paged_kv_append": appendOracle, "rope": ropeOracle,
}

func linearOracle(n *ir.Node, in []*tensor.Tensor, index []int) float64 {
	last := len(index) - 1
	sum := 0.0
	for k := range in[1].Dim(0) {
		at := slices.Clone(index)
		at[last] = k
		sum += in[0].At(at...) * in[1].At(k, index[last])
	}
	if len(in) > 2 {
		sum += in[2].At(index[last])
	}
	y := activationOracle(n, sum)
	if len(in) > 3 {
		y += in[3].At(index...)
	}
	return y
}

// activationOracle applies the activation of a layer to a sum.
func activationOracle(n *ir.Node, sum float64) float64 {
	switch n.Str("act") {
	case "relu":
		return scalars["relu"](sum)
	case "gelu":
		return geluOracle(sum, "none")
	case "gelu_tanh":
		return geluOracle(sum, "tanh")
	case "silu":
		if math.IsInf(sum, -1) {
			return 0
		}
		return sum / (1 + math.Exp(-sum))
	}
	return sum
}

// sides is the padding above and to the left of images.
func sides(n *ir.Node) (top, left int) {
	p := n.Ints("padding")
	return int(p[0]), int(p[1])
}

// extent gives numbers for the height and the width.
func extent(n *ir.Node, attr string) (h, w int) {
	v := n.Ints(attr)
	if v == nil {
		return 1, 1
	}
	return int(v[0]), int(v[1])
}

func convOracle(n *ir.Node, in []*tensor.Tensor, index []int) float64 {
	x, w := in[0], in[1]
	sh, sw := extent(n, "stride")
	dh, dw := extent(n, "dilation")
	top, left := sides(n)
	group := index[1] / (w.Dim(0) / n.Int("groups"))
	sum := 0.0
	for c := range w.Dim(1) {
		for i := range w.Dim(2) {
			for j := range w.Dim(3) {
				r, s := index[2]*sh-top+i*dh, index[3]*sw-left+j*dw
				if r >= 0 && r < x.Dim(2) && s >= 0 && s < x.Dim(3) {
					sum += x.At(index[0], group*w.Dim(1)+c, r, s) * w.At(index[1], c, i, j)
				}
			}
		}
	}
	if len(in) > 2 {
		sum += in[2].At(index[1])
	}
	return activationOracle(n, sum)
}

func poolOracle(n *ir.Node, in []*tensor.Tensor, index []int) float64 {
	x := in[0]
	kh, kw := extent(n, "kernel")
	sh, sw := kh, kw
	if n.Attr("stride") != nil {
		sh, sw = extent(n, "stride")
	}
	dh, dw := extent(n, "dilation")
	top, left := sides(n)
	sum, count, largest := 0.0, 0, math.Inf(-1)
	for i := range kh {
		for j := range kw {
			r, s := index[2]*sh-top+i*dh, index[3]*sw-left+j*dw
			if r >= 0 && r < x.Dim(2) && s >= 0 && s < x.Dim(3) {
				v := x.At(index[0], index[1], r, s)
				sum, largest = sum+v, larger(largest, v)
				count++
			}
		}
	}
	switch {
	case n.Op.Name == "max_pool2d":
		return largest
	case n.Bool("count_include_pad"):
		count = kh * kw
	}
	return sum / float64(count)
}

// attentionOracle computes one element of a result.
func attentionOracle(n *ir.Node, in []*tensor.Tensor, index []int) float64 {
	pairs := bound.Pairs(n, in, index[0], index[1], index[2])
	top := math.Inf(-1)
	for _, p := range pairs {
		top = larger(top, p.Score)
	}
	if math.IsInf(top, -1) && (len(pairs) == 0 || !bound.IsStrict(n)) {
		return 0
	}
	var sum, out float64
	for _, p := range pairs {
		sum += math.Exp(p.Score - top)
	}
	for _, p := range pairs {
		out += math.Exp(p.Score-top) / sum * p.Value[index[3]]
	}
	return out
}

// appendOracle looks for the token that is written to a place, the last operands
// being table, pos and length.
func appendOracle(n *ir.Node, in []*tensor.Tensor, index []int) float64 {
	tokens, size := in[1], in[0].Dim(2)
	positions := in[2:]
	place := func(b, p int) (block, at int) { return b, p }
	if n.Op.Name == "paged_kv_append" {
		positions = in[3:]
		place = func(b, p int) (int, int) { return int(in[2].At(b, p/size)), p % size }
	}
	for b := range tokens.Dim(0) {
		for t := range tokens.Dim(2) {
			seen := bound.PositionsSeen(positions, b, t)
			if seen == 0 {
				continue
			}
			if block, at := place(b, seen-1); block == index[0] && at == index[2] {
				return tokens.At(b, index[1], t, index[3])
			}
		}
	}
	return in[0].At(index...)
}

func ropeOracle(n *ir.Node, in []*tensor.Tensor, index []int) float64 {
	last := len(index) - 1
	c, dims := index[last], in[0].Dim(-1)
	if n.Attr("dims") != nil {
		dims = n.Int("dims")
	}
	if c >= dims {
		return in[0].At(index...)
	}
	number, second, other := c%(dims/2), c >= dims/2, (c+dims/2)%dims
	if n.Str("style") == "interleaved" {
		number, second, other = c/2, c%2 == 1, c+1-c%2*2
	}
	frequency := math.Pow(n.Float("base"), -2*float64(number)/float64(dims))
	if f := n.Tensor("freqs"); f != nil {
		frequency = f.At(number)
	}
	sin, cos := math.Sincos((at(in[1], index[:1]) + float64(index[last-1])) * frequency)
	pair := slices.Clone(index)
	pair[last] = other
	x, y := in[0].At(index...), in[0].At(pair...)
	if second {
		return x*cos + y*sin
	}
	return x*cos - y*sin
}

package bound

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Pair is one key that a query attends to.
type Pair struct {
	Score     float64
	Magnitude float64   // of the sum that the score is
	Value     []float64 // the channels of its value
}

// Pairs lists the keys that query i of head h and batch b attends to,
// from the definition of each attention, one element at a time. Keys that are
// excluded are in a list that is strict too.
func Pairs(n *ir.Node, in []*tensor.Tensor, b, h, i int) []Pair {
	q, k := in[0], in[1]
	scale := scaleOf(n, q)
	var pairs []Pair
	for _, key := range visibleKeys(n, in, b, i) {
		mask, added := 0.0, false
		switch {
		case key.excluded:
			mask = math.Inf(-1)
		case n.Op.Name == "sdpa" && len(in) == 4:
			mask, added = key.mask(in[3], b, h, i), in[3].DType() != tensor.Bool
		}
		excluded := math.IsInf(mask, -1)
		if excluded && !IsStrict(n) {
			continue
		}
		g := h / (q.Dim(1) / k.Dim(1))
		var p Pair
		for c := range q.Dim(3) {
			x := q.At(b, h, i, c) * k.At(key.batch, g, key.at, c)
			p.Score += x
			p.Magnitude += math.Abs(x)
		}
		p.Score = p.Score*scale + mask
		p.Magnitude *= scale
		if !excluded {
			p.Magnitude += math.Abs(mask)
		} else if !added {
			p.Score = mask
		}
		for c := range in[2].Dim(3) {
			p.Value = append(p.Value, in[2].At(key.batch, g, key.at, c))
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// scaleOf is the factor of scores.
func scaleOf(n *ir.Node, q *tensor.Tensor) float64 {
	if s := n.Float("scale"); s != 0 {
		return s
	}
	return 1 / math.Sqrt(float64(q.Dim(3)))
}

// keyPlace is where a key stands in operand k: in which batch or block, and at
// which place there. index is its number in the sequence.
type keyPlace struct {
	index, batch, at int
	excluded         bool
}

// IsStrict reports whether excluded keys take part with a score of -inf.
func IsStrict(n *ir.Node) bool { return n.Op.Name == "sdpa" && n.Bool("strict") }

func visibleKeys(n *ir.Node, in []*tensor.Tensor, b, i int) []keyPlace {
	var keys []keyPlace
	switch n.Op.Name {
	case "sdpa":
		for j := range in[1].Dim(2) {
			if after := n.Bool("causal") && j > i; !after || IsStrict(n) {
				keys = append(keys, keyPlace{j, b, j, after})
			}
		}
	case "cached_attention":
		for j := range PositionsSeen(in[3:], b, i) {
			keys = append(keys, keyPlace{j, b, j, false})
		}
	case "paged_attention":
		size := in[1].Dim(2)
		for j := range PositionsSeen(in[4:], b, i) {
			keys = append(keys, keyPlace{j, int(in[3].At(b, j/size)), j % size, false})
		}
	}
	return keys
}

// PositionsSeen is how many positions token i of row b attends to, given the
// operands pos and length.
func PositionsSeen(in []*tensor.Tensor, b, i int) int {
	p := int(rowElem(in[0], b)) + i
	if len(in) > 1 && p >= int(rowElem(in[1], b)) {
		return 0
	}
	return p + 1
}

// rowElem is the element for batch row b of an operand [] or [B].
func rowElem(t *tensor.Tensor, b int) float64 {
	if t.Rank() == 0 {
		b = 0
	}
	return t.Elem(b)
}

// mask is what the mask adds to a score: -inf for an excluded pair.
func (k keyPlace) mask(t *tensor.Tensor, b, h, i int) float64 {
	own := []int{b, h, i, k.index}[4-t.Rank():]
	for d := range own {
		if t.Dim(d) == 1 {
			own[d] = 0
		}
	}
	v := t.At(own...)
	if t.DType() != tensor.Bool {
		return v
	}
	if v == 0 {
		return math.Inf(-1)
	}
	return 0
}

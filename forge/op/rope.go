package op

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/mathf"
	"forgekernel/forge/tensor"
)

var ropes = []*ir.Op{{
	Name: "rope",
	Doc: "Rotary positions: turns pairs of channels of x [..., T, D] by the angle position * frequency. Token t is at position pos + t, for pos [] or, per row of the first dimension, [B]. " +
		"Pair i has the frequency base^(-2i/dims). Cosines and sines are those of the float64 angle, rounded to the type; products and sums round one by one.",
	Class:    ir.Contraction,
	Operands: []string{"x", "pos"},
	Types:    cacheTypes,
	Attrs: []ir.AttrDecl{
		{Name: "base", Kind: ir.FloatAttr, Default: 10000.0, Doc: "the base of the frequencies, finite and positive"},
		{Name: "dims", Kind: ir.IntAttr, Doc: "how many of the first channels turn, an even number; all when absent"},
		{Name: "style", Kind: ir.StringAttr, Default: "half", OneOf: []string{"half", "interleaved"},
			Doc: "half pairs channel i with i + dims/2, interleaved 2i with 2i + 1"},
		{Name: "freqs", Kind: ir.TensorAttr, Doc: "f64[dims/2], the frequencies themselves, for scaled variants"},
	},
	Infer: inferRope,
	Canonical: func(n *ir.Node) ir.Attrs {
		x := n.In[0].Spec
		return withoutAttr(n, "dims", n.Int("dims") == x.Shape[x.Rank()-1])
	},
	Eval: byType(
		func(c *ir.Call) error { return rope[float32](c, mathf.SinCos) },
		func(c *ir.Call) error { return rope[float64](c, math.Sincos) },
	),
	FLOPs: ir.FLOPs{
		Doc: "3 per element that turns",
		Of: func(n *ir.Node) int64 {
			x := n.In[0].Spec
			return 3 * int64(rotaryDims(n)) * int64(product(x.Shape[:x.Rank()-1]))
		},
	},
}}

// maxPosition bounds positions so that they are exact in float64 and angles keep
// their accuracy.
const maxPosition = math.MaxInt32

// rotaryDims is the number of channels that turn.
func rotaryDims(n *ir.Node) int {
	if n.Attr("dims") != nil {
		return n.Int("dims")
	}
	x := n.In[0].Spec.Shape
	return x[len(x)-1]
}

func inferRope(n *ir.Node) ([]ir.Spec, error) {
	if _, err := sameFloat(&ir.Node{Op: n.Op, In: n.In[:1]}); err != nil {
		return nil, err
	}
	x := n.In[0].Spec
	if x.Rank() < 2 {
		return nil, fmt.Errorf("x must have the shape [..., T, D], not rank %d", x.Rank())
	}
	shapes := [][]int{{}}
	if x.Rank() > 2 {
		shapes = append(shapes, x.Shape[:1])
	}
	if err := checkIndex(n, 1, shapes...); err != nil {
		return nil, err
	}
	dims := rotaryDims(n)
	if d := x.Shape[x.Rank()-1]; dims < 0 || dims > d || dims%2 != 0 {
		return nil, fmt.Errorf("%d of %d channels cannot turn in pairs", dims, d)
	}
	if base := n.Float("base"); !(base > 0) || math.IsInf(base, 1) {
		return nil, fmt.Errorf("attribute base is %v; it must be finite and positive", base)
	}
	return []ir.Spec{x.Clone()}, checkFrequencies(n, dims/2)
}

func checkFrequencies(n *ir.Node, pairs int) error {
	if n.Attr("freqs") == nil {
		return nil
	}
	freqs := n.Tensor("freqs")
	switch {
	case freqs == nil || freqs.DType() != tensor.F64 || !slices.Equal(freqs.Shape(), []int{pairs}):
		return fmt.Errorf("attribute freqs must be f64[%d], one frequency per pair", pairs)
	case n.Attrs["base"] != nil:
		return errors.New("attributes base and freqs exclude one another")
	}
	for i, f := range freqs.Float64() {
		if math.IsInf(f, 0) || f != f {
			return fmt.Errorf("attribute freqs has %v at index %d; frequencies are finite", f, i)
		}
	}
	return nil
}

// Frequencies are the angles per position of each pair of channels of a rope
// node.
func Frequencies(n *ir.Node) []float64 {
	if freqs := n.Tensor("freqs"); freqs != nil {
		return freqs.Float64()
	}
	dims := rotaryDims(n)
	freqs := make([]float64, dims/2)
	for i := range freqs {
		freqs[i] = math.Pow(n.Float("base"), -2*float64(i)/float64(dims))
	}
	return freqs
}

func rope[T float](c *ir.Call, sincos func(float64) (sin, cos float64)) error {
	x, pos := c.In[0], c.In[1]
	t, d := x.Dim(-2), x.Dim(-1)
	src, dst := data[T](x), data[T](c.Out[0])
	if len(dst) == 0 {
		return nil
	}
	for b := range pos.Len() {
		if p := integerAt(pos, b); p < 0 || p > maxPosition-int64(t) {
			return fmt.Errorf("pos %v of row %d is %d; positions are 0 to %d", c.Node.In[1], b, p, int64(maxPosition))
		}
	}
	r, heads := newRotation(c.Node, sincos), len(dst)/d/t/pos.Len()
	return parallel(c, pos.Len()*t, max(1, 1<<12/(heads*d)), func(lo, hi int) error {
		stop := stopper{call: c}
		at := newTurns[T](len(r.freqs))
		for i := lo; i < hi; i++ {
			b, token := i/t, i%t
			at.to(r, integerAt(pos, b)+int64(token))
			for h := b * heads; h < (b+1)*heads; h++ {
				row := (h*t + token) * d
				rotate(r, dst[row:][:d], src[row:][:d], at)
				if err := stop.did(4 * d); err != nil {
					return err
				}
			}
			if err := stop.did(16 * d); err != nil { // cosines and sines are some 30 operations
				return err
			}
		}
		return nil
	})
}

// turns holds the cosine and sine of each pair at one position.
type turns[T float] struct{ cos, sin []T }

func newTurns[T float](pairs int) *turns[T] {
	return &turns[T]{cos: make([]T, pairs), sin: make([]T, pairs)}
}

func (t *turns[T]) to(r *rotation, position int64) {
	for i, f := range r.freqs {
		sin, cos := r.sincos(float64(position) * f)
		t.cos[i], t.sin[i] = T(cos), T(sin)
	}
}

// rotation says which channels turn together and how fast: pair i is channels
// i*stride and i*stride + apart.
type rotation struct {
	freqs         []float64
	stride, apart int
	sincos        func(angle float64) (sin, cos float64)
}

func newRotation(n *ir.Node, sincos func(float64) (sin, cos float64)) *rotation {
	r := &rotation{freqs: Frequencies(n), stride: 2, apart: 1, sincos: sincos}
	if n.Str("style") == "half" {
		r.stride, r.apart = 1, len(r.freqs)
	}
	return r
}

// rotate turns the channels of one row. The conversions keep the compiler from
// fusing.
func rotate[T float](r *rotation, dst, src []T, at *turns[T]) {
	copy(dst, src)
	for i := range r.freqs {
		a, b := i*r.stride, i*r.stride+r.apart
		x, y := src[a], src[b]
		dst[a] = T(x*at.cos[i]) - T(y*at.sin[i])
		dst[b] = T(y*at.cos[i]) + T(x*at.sin[i])
	}
}

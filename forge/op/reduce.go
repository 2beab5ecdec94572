package op

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var reductions = []*ir.Op{
	reduction("sum", "The sum over the axes; 0 over no elements. Sums are pairwise: the error grows with the logarithm of the count.",
		pairwise[float32], pairwise[float64], false),
	reduction("mean", "The sum over the axes divided by the count; NaN over no elements.",
		pairwise[float32], pairwise[float64], true),
	reduction("max", "The largest element over the axes; NaN if any element is NaN. The axes must not be empty.",
		largest[float32], largest[float64], false),
}

// fold combines rows lo to hi-1 of src, each len(dst) long and stride apart,
// into dst.
type fold[T float] func(stop *stopper, dst, src []T, stride, lo, hi int) error

func reduction(name, doc string, f32 fold[float32], f64 fold[float64], mean bool) *ir.Op {
	flops := ir.FLOPs{Doc: "1 per element", Of: func(n *ir.Node) int64 { return int64(n.In[0].Spec.Elements()) }}
	if mean {
		flops = ir.FLOPs{Doc: "1 per element and 1 per output", Of: func(n *ir.Node) int64 {
			return int64(n.In[0].Spec.Elements() + n.Out[0].Spec.Elements())
		}}
	}
	return &ir.Op{
		Name: name, Doc: doc, Class: ir.Reduction,
		Operands: []string{"x"},
		Attrs: []ir.AttrDecl{
			{Name: "axes", Kind: ir.IntsAttr, Doc: "the dimensions to reduce, negative from the end; all when absent"},
			{Name: "keepdims", Kind: ir.BoolAttr, Default: false, Doc: "keep reduced dimensions with length 1"},
		},
		Infer: inferReduction,
		Eval: byType(
			func(c *ir.Call) error { return reduce(c, f32, mean) },
			func(c *ir.Call) error { return reduce(c, f64, mean) },
		),
		FLOPs: flops,
	}
}

func inferReduction(n *ir.Node) ([]ir.Spec, error) {
	dtype, err := sameFloat(n)
	if err != nil {
		return nil, err
	}
	in := n.In[0].Spec.Shape
	reduced, err := reducedAxes(n, len(in))
	if err != nil {
		return nil, err
	}
	var shape []int
	for i, d := range in {
		switch {
		case !reduced[i]:
			shape = append(shape, d)
		case n.Op.Name == "max" && d == 0:
			return nil, fmt.Errorf("dimension %d of %s is empty; there is no maximum of nothing", i, tensor.FormatShape(in))
		case n.Bool("keepdims"):
			shape = append(shape, 1)
		}
	}
	return []ir.Spec{{DType: dtype, Shape: shape}}, nil
}

// reducedAxes says for each dimension whether it is reduced.
func reducedAxes(n *ir.Node, rank int) ([]bool, error) {
	reduced := make([]bool, rank)
	axes := n.Ints("axes")
	if axes == nil {
		for i := range reduced {
			reduced[i] = true
		}
	}
	for _, a := range axes {
		i, err := resolveAxis(a, rank)
		if err != nil {
			return nil, err
		}
		if reduced[i] {
			return nil, fmt.Errorf("axis %d is named twice", a)
		}
		reduced[i] = true
	}
	return reduced, nil
}

// resolveAxis turns an axis that may count from the end into an index.
func resolveAxis(axis int64, rank int) (int, error) {
	if axis < -int64(rank) || axis >= int64(rank) {
		if rank == 0 {
			return 0, fmt.Errorf("axis %d of a scalar, which has none", axis)
		}
		return 0, fmt.Errorf("axis %d is out of range for rank %d; use %d to %d", axis, rank, -rank, rank-1)
	}
	if axis < 0 {
		axis += int64(rank)
	}
	return int(axis), nil
}

// reduce folds one group of adjacent dimensions after another, the last group
// first, so that each step works on [outer, count, inner].
func reduce[T float](c *ir.Call, f fold[T], mean bool) error {
	shape := c.In[0].Shape()
	reduced, err := reducedAxes(c.Node, len(shape))
	if err != nil {
		return err
	}
	src, out := data[T](c.In[0]), data[T](c.Out[0])
	count, inner := 1, 1
	if len(src) == 0 { // partial results could be larger than both
		clear(out)
		shape, count = nil, 0
	}
	for i := len(shape) - 1; i >= 0; {
		if !reduced[i] {
			inner *= shape[i]
			i--
			continue
		}
		group := 1
		for ; i >= 0 && reduced[i]; i-- {
			group *= shape[i]
		}
		count *= group
		outer := product(shape[:i+1])
		dst := make([]T, outer*inner)
		if err := foldGroup(c, f, dst, src, outer, group, inner); err != nil {
			return err
		}
		src = dst
	}
	copy(out, src)
	if mean {
		for i := range out {
			out[i] /= T(count)
		}
	}
	return nil
}

// foldWidth is how many neighbouring results are folded together: a few cache
// lines, so that a strided reduction reads whole lines.
const foldWidth = 64

func foldGroup[T float](c *ir.Call, f fold[T], dst, src []T, outer, group, inner int) error {
	tiles := (inner + foldWidth - 1) / foldWidth
	work := max(1, group*min(inner, foldWidth))
	return parallel(c, outer*tiles, max(1, 1<<15/work), func(lo, hi int) error {
		stop := stopper{call: c}
		for t := lo; t < hi; t++ {
			o, j := t/tiles, t%tiles*foldWidth
			width := min(foldWidth, inner-j)
			if err := f(&stop, dst[o*inner+j:][:width], src[o*group*inner+j:], inner, 0, group); err != nil {
				return err
			}
		}
		return nil
	})
}

// pairwiseLeaf is the longest run that is summed from first to last.
const pairwiseLeaf = 64

// pairwise sums halves separately, so that a sum of n elements has about
// leaf + log2(n/leaf) roundings in its longest chain rather than n.
func pairwise[T float](stop *stopper, dst, src []T, stride, lo, hi int) error {
	if hi-lo <= pairwiseLeaf {
		if len(dst) == 1 && stride == 1 {
			dst[0] = sumRun(src[lo:hi])
		} else {
			sumRows(dst, src, stride, lo, hi)
		}
		return stop.did((hi - lo) * len(dst))
	}
	var right [foldWidth]T
	mid := (lo + hi) / 2
	if err := pairwise(stop, dst, src, stride, lo, mid); err != nil {
		return err
	}
	if err := pairwise(stop, right[:len(dst)], src, stride, mid, hi); err != nil {
		return err
	}
	for j := range dst {
		dst[j] += right[j]
	}
	return nil
}

func sumRun[T float](x []T) T {
	var s T
	for _, v := range x {
		s += v
	}
	return s
}

func sumRows[T float](dst, src []T, stride, lo, hi int) {
	clear(dst)
	for r := lo; r < hi; r++ {
		for j, v := range src[r*stride:][:len(dst)] {
			dst[j] += v
		}
	}
}

// largest takes the maximum of at least one row.
func largest[T float](stop *stopper, dst, src []T, stride, lo, hi int) error {
	copy(dst, src[lo*stride:])
	return stop.blocks(hi-lo, len(dst), func(from, to int) {
		for r := lo + from; r < lo+to; r++ {
			for j, v := range src[r*stride:][:len(dst)] {
				dst[j] = max(dst[j], v)
			}
		}
	})
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

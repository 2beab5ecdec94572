package op

import (
	"fmt"

	"forgekernel/forge/ir"
)

var reductions = []*ir.Op{
	reduction("sum", "The sum over the axes; 0 over no elements. Sums of floats are pairwise: the error grows with the logarithm of the count. Integers wrap around.",
		numbers, folds{pairwise[float32], pairwise[float64], pairwise[int64], pairwise[int32]}),
	mean,
	prod,
	reduction("max", "The largest element over the axes; NaN if any element is NaN. The axes must not be empty.",
		numbers, folds{largest[float32], largest[float64], largest[int64], largest[int32]}),
	reduction("min", "The smallest element over the axes; NaN if any element is NaN. The axes must not be empty.",
		numbers, folds{smallest[float32], smallest[float64], smallest[int64], smallest[int32]}),
}

var mean = func() *ir.Op {
	o := reduction("mean", "The sum over the axes divided by the count; NaN over no elements.", floats, folds{})
	o.Eval = byType(
		func(c *ir.Call) error { return meanOf(c, pairwise[float32]) },
		func(c *ir.Call) error { return meanOf(c, pairwise[float64]) },
	)
	o.FLOPs = ir.FLOPs{Doc: "1 per element and 1 per output", Of: func(n *ir.Node) int64 {
		return int64(n.In[0].Spec.Elements() + n.Out[0].Spec.Elements())
	}}
	return o
}()

// fold combines rows lo to hi-1 of src, each len(dst) long and stride apart,
// into dst.
type fold[T number] func(stop *stopper, dst, src []T, stride, lo, hi int) error

// folds is a fold for each type that its operator computes in.
type folds struct {
	f32 fold[float32]
	f64 fold[float64]
	i64 fold[int64]
	i32 fold[int32]
}

func reduction(name, doc string, allowed typeSet, f folds) *ir.Op {
	return &ir.Op{
		Name: name, Doc: doc, Class: ir.Reduction,
		Operands: []string{"x"},
		Types:    allowed.String(),
		Attrs: []ir.AttrDecl{
			{Name: "axes", Kind: ir.IntsAttr, Doc: "the dimensions to reduce, negative from the end; all when absent"},
			keepdimsAttr,
		},
		Infer: func(n *ir.Node) ([]ir.Spec, error) {
			if err := allowed.check(n.In[0]); err != nil {
				return nil, err
			}
			return inferReduction(n)
		},
		Canonical: canonicalAxes,
		Eval: byNumber(
			func(c *ir.Call) error { return reduce(c, f.f32) },
			func(c *ir.Call) error { return reduce(c, f.f64) },
			func(c *ir.Call) error { return reduce(c, f.i64) },
			func(c *ir.Call) error { return reduce(c, f.i32) },
		),
		FLOPs: perElement,
	}
}

var keepdimsAttr = ir.AttrDecl{Name: "keepdims", Kind: ir.BoolAttr, Default: false, Doc: "keep reduced dimensions with length 1"}

// perElement is the cost of one operation for each element of the operand.
var perElement = ir.FLOPs{Doc: "1 per element", Of: func(n *ir.Node) int64 { return int64(n.In[0].Spec.Elements()) }}

func inferReduction(n *ir.Node) ([]ir.Spec, error) {
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
		case d == 0 && (n.Op.Name == "max" || n.Op.Name == "min"):
			return nil, errEmptyAxis(n.In[0], i)
		case n.Bool("keepdims"):
			shape = append(shape, 1)
		}
	}
	return []ir.Spec{{DType: n.In[0].Spec.DType, Shape: shape}}, nil
}

// errEmptyAxis refuses to pick an element of none.
func errEmptyAxis(v *ir.Value, axis int) error {
	return fmt.Errorf("dimension %d of %v is empty; there is no largest or smallest of nothing", axis, v.Spec)
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

// canonicalAxes names every reduced dimension once, in order, from the front.
func canonicalAxes(n *ir.Node) ir.Attrs {
	reduced, err := reducedAxes(n, n.In[0].Spec.Rank())
	if err != nil { // inference has refused it
		return n.Attrs
	}
	axes := []int{}
	for i, r := range reduced {
		if r {
			axes = append(axes, i)
		}
	}
	return canonicalInts(n, "axes", axes)
}

// reduce folds one group of adjacent dimensions after another, the last group
// first, so that each step works on [outer, count, inner].
func reduce[T number](c *ir.Call, f fold[T]) error {
	shape := c.In[0].Shape()
	reduced, err := reducedAxes(c.Node, len(shape))
	if err != nil {
		return err
	}
	src, out := data[T](c.In[0]), data[T](c.Out[0])
	inner := 1
	if len(src) == 0 { // partial results could be larger than both
		clear(out)
		shape = nil
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
		outer := product(shape[:i+1])
		dst := make([]T, outer*inner)
		if err := foldGroup(c, f, dst, src, outer, group, inner); err != nil {
			return err
		}
		src = dst
	}
	copy(out, src)
	return nil
}

// meanOf divides a sum by the number of elements behind each result.
func meanOf[T float](c *ir.Call, f fold[T]) error {
	if err := reduce(c, f); err != nil {
		return err
	}
	reduced, err := reducedAxes(c.Node, c.In[0].Rank())
	if err != nil {
		return err
	}
	count := 1
	for i, r := range reduced {
		if r {
			count *= c.In[0].Dim(i)
		}
	}
	out := data[T](c.Out[0])
	for i := range out {
		out[i] /= T(count)
	}
	return nil
}

// foldWidth is how many neighbouring results are folded together: a few cache
// lines, so that a strided reduction reads whole lines.
const foldWidth = 64

func foldGroup[T number](c *ir.Call, f fold[T], dst, src []T, outer, group, inner int) error {
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
func pairwise[T number](stop *stopper, dst, src []T, stride, lo, hi int) error {
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

func sumRun[T number](x []T) T {
	var s T
	for _, v := range x {
		s += v
	}
	return s
}

func sumRows[T number](dst, src []T, stride, lo, hi int) {
	clear(dst)
	for r := lo; r < hi; r++ {
		for j, v := range src[r*stride:][:len(dst)] {
			dst[j] += v
		}
	}
}

// largest takes the maximum of at least one row.
func largest[T number](stop *stopper, dst, src []T, stride, lo, hi int) error {
	copy(dst, src[lo*stride:])
	return stop.blocks(hi-lo, len(dst), func(from, to int) {
		for r := lo + from; r < lo+to; r++ {
			for j, v := range src[r*stride:][:len(dst)] {
				dst[j] = max(dst[j], v)
			}
		}
	})
}

// smallest takes the minimum of at least one row.
func smallest[T number](stop *stopper, dst, src []T, stride, lo, hi int) error {
	copy(dst, src[lo*stride:])
	return stop.blocks(hi-lo, len(dst), func(from, to int) {
		for r := lo + from; r < lo+to; r++ {
			for j, v := range src[r*stride:][:len(dst)] {
				dst[j] = min(dst[j], v)
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

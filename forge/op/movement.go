package op

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var views = declareViews([]*ir.Op{
	{
		Name:  "reshape",
		Doc:   "The same elements in row-major order under another shape.",
		Attrs: []ir.AttrDecl{{Name: "shape", Kind: ir.IntsAttr, Required: true, Doc: "the new shape; one dimension may be -1, computed from the rest"}},
		Infer: inferReshape,
		Canonical: func(n *ir.Node) ir.Attrs {
			specs, err := inferReshape(n)
			if err != nil {
				return n.Attrs
			}
			return canonicalInts(n, "shape", specs[0].Shape)
		},
		Layout: func(n *ir.Node, in ir.Layout) ([]ir.Layout, bool) {
			shape := make([]int, len(n.Ints("shape")))
			for i, d := range n.Ints("shape") {
				shape[i] = int(d)
			}
			strides, ok := reshapeStrides(n.In[0].Spec.Shape, in.Strides, shape)
			return []ir.Layout{{Offset: in.Offset, Strides: strides}}, ok
		},
	},
	{
		Name:  "transpose",
		Doc:   "The dimensions in another order: dimension i of the result is dimension perm[i] of x.",
		Attrs: []ir.AttrDecl{{Name: "perm", Kind: ir.IntsAttr, Doc: "the order of dimensions, negative from the end; reversed when absent"}},
		Infer: inferTranspose,
		Canonical: func(n *ir.Node) ir.Attrs {
			perm, _ := permutation(n)
			return canonicalInts(n, "perm", perm)
		},
		Layout: func(n *ir.Node, in ir.Layout) ([]ir.Layout, bool) {
			perm, _ := permutation(n)
			out := ir.Layout{Offset: in.Offset, Strides: make([]int, len(perm))}
			for i, p := range perm {
				out.Strides[i] = in.Strides[p]
			}
			return []ir.Layout{out}, true
		},
	},
	{
		Name: "narrow",
		Doc:  "A slice along one axis: elements start, start+step, … of it. A negative step goes backwards.",
		Attrs: []ir.AttrDecl{
			{Name: "axis", Kind: ir.IntAttr, Required: true, Doc: "the dimension, negative from the end"},
			{Name: "start", Kind: ir.IntAttr, Required: true, Doc: "the first element, negative from the end"},
			{Name: "length", Kind: ir.IntAttr, Required: true, Doc: "the number of elements"},
			{Name: "step", Kind: ir.IntAttr, Default: int64(1), Doc: "the distance between elements, not 0"},
		},
		Infer: inferNarrow,
		Canonical: func(n *ir.Node) ir.Attrs {
			axis, start, _ := narrowRange(n)
			attrs := n.Attrs.Clone()
			attrs["axis"], attrs["start"] = int64(axis), int64(start)
			return attrs
		},
		Layout: func(n *ir.Node, in ir.Layout) ([]ir.Layout, bool) {
			axis, start, _ := narrowRange(n)
			out := ir.Layout{Offset: in.Offset + start*in.Strides[axis], Strides: slices.Clone(in.Strides)}
			out.Strides[axis] *= n.Int("step")
			return []ir.Layout{out}, true
		},
	},
	{
		Name:  "split",
		Doc:   "Consecutive pieces along one axis, one result per size.",
		Attrs: []ir.AttrDecl{axisAttr("the dimension to cut, negative from the end", nil), {Name: "sizes", Kind: ir.IntsAttr, Required: true, Doc: "the length of each piece along the axis; together the length of x"}},
		Infer: inferSplit,
		Canonical: func(n *ir.Node) ir.Attrs {
			return canonicalAxis(n, n.In[0].Spec.Rank())
		},
		Layout: func(n *ir.Node, in ir.Layout) ([]ir.Layout, bool) {
			axis, _ := resolveAxis(int64(n.Int("axis")), len(in.Strides))
			var out []ir.Layout
			offset := in.Offset
			for _, size := range n.Ints("sizes") {
				out = append(out, ir.Layout{Offset: offset, Strides: slices.Clone(in.Strides)})
				offset += int(size) * in.Strides[axis]
			}
			return out, true
		},
	},
	{
		Name:  "expand",
		Doc:   "The elements repeated to a larger shape by the rule of broadcasting.",
		Attrs: []ir.AttrDecl{{Name: "shape", Kind: ir.IntsAttr, Required: true, Doc: "the shape of the result, which x broadcasts to"}},
		Infer: inferExpand,
		Layout: func(n *ir.Node, in ir.Layout) ([]ir.Layout, bool) {
			shape := n.In[0].Spec.Shape
			out := ir.Layout{Offset: in.Offset, Strides: make([]int, len(n.Ints("shape")))}
			lead := len(out.Strides) - len(shape)
			for i, d := range shape {
				if d != 1 {
					out.Strides[lead+i] = in.Strides[i]
				}
			}
			return []ir.Layout{out}, true
		},
	},
})

// declareViews fills in what all views share.
func declareViews(ops []*ir.Op) []*ir.Op {
	for _, o := range ops {
		o.Class, o.View = ir.Movement, true
		o.Operands, o.Types = []string{"x"}, anyType.String()
		o.Eval, o.FLOPs = evalView, noFLOPs
	}
	return ops
}

func inferReshape(n *ir.Node) ([]ir.Spec, error) {
	x := n.In[0].Spec
	want := make([]int, len(n.Ints("shape")))
	for i, d := range n.Ints("shape") {
		if want[i] = int(d); d < -1 || d > tensor.MaxElements {
			return nil, fmt.Errorf("shape has the dimension %d", d)
		}
	}
	shape, err := tensor.ResolveShape(x.Elements(), want)
	if err != nil {
		return nil, fmt.Errorf("cannot reshape %v: %w", x, err)
	}
	return []ir.Spec{{DType: x.DType, Shape: shape}}, nil
}

// reshapeStrides finds strides that read the elements of a value of the given
// shape and strides, in row-major order, under another shape. A group of old
// dimensions that becomes a group of new ones must be evenly spaced.
func reshapeStrides(from, strides, to []int) ([]int, bool) {
	if slices.Contains(to, 0) {
		return tensor.Strides(to), true
	}
	var dims, steps []int // the old dimensions that matter
	for i, d := range from {
		if d != 1 {
			dims, steps = append(dims, d), append(steps, strides[i])
		}
	}
	out := make([]int, len(to))
	for i, j := len(to), len(dims); i > 0; {
		if j == 0 || to[i-1] == 1 { // only ones are left, or one more
			i--
			continue
		}
		newGroup, oldGroup := to[i-1], dims[j-1]
		newStart, oldStart := i-1, j-1
		for newGroup != oldGroup {
			if newGroup < oldGroup {
				newStart--
				newGroup *= to[newStart]
				continue
			}
			oldStart--
			oldGroup *= dims[oldStart]
			if steps[oldStart] != steps[oldStart+1]*dims[oldStart+1] {
				return nil, false
			}
		}
		step := steps[j-1]
		for k := i - 1; k >= newStart; k-- {
			out[k] = step
			step *= to[k]
		}
		i, j = newStart, oldStart
	}
	return out, true
}

// permutation is the perm attribute with defaults and negative axes resolved.
func permutation(n *ir.Node) ([]int, error) {
	rank := n.In[0].Spec.Rank()
	perm := make([]int, rank)
	given := n.Ints("perm")
	if given == nil {
		for i := range perm {
			perm[i] = rank - 1 - i
		}
		return perm, nil
	}
	if len(given) != rank {
		return nil, fmt.Errorf("perm %v has %d axes for rank %d", given, len(given), rank)
	}
	seen := make([]bool, rank)
	for i, a := range given {
		axis, err := resolveAxis(a, rank)
		if err != nil {
			return nil, fmt.Errorf("perm %v: %w", given, err)
		}
		if seen[axis] {
			return nil, fmt.Errorf("perm %v names axis %d twice", given, axis)
		}
		seen[axis], perm[i] = true, axis
	}
	return perm, nil
}

func inferTranspose(n *ir.Node) ([]ir.Spec, error) {
	x := n.In[0].Spec
	perm, err := permutation(n)
	if err != nil {
		return nil, err
	}
	shape := make([]int, len(perm))
	for i, p := range perm {
		shape[i] = x.Shape[p]
	}
	return []ir.Spec{{DType: x.DType, Shape: shape}}, nil
}

// narrowRange resolves the axis and the start of a narrow and checks that the
// slice lies in the dimension.
func narrowRange(n *ir.Node) (axis, start int, err error) {
	x := n.In[0].Spec
	if axis, err = resolveAxis(int64(n.Int("axis")), x.Rank()); err != nil {
		return 0, 0, err
	}
	dim, length, step := x.Shape[axis], n.Int("length"), n.Int("step")
	if start = n.Int("start"); start < 0 {
		start += dim
	}
	switch {
	case step == 0:
		return 0, 0, fmt.Errorf("step is 0")
	case length < 0:
		return 0, 0, fmt.Errorf("length is %d", length)
	case start < 0 || start > dim || length > dim:
		return 0, 0, fmt.Errorf("start %d and length %d are out of range for dimension %d of %v", n.Int("start"), length, axis, x)
	case length > 1 && (step > dim || step < -dim):
		return 0, 0, fmt.Errorf("step %d is longer than dimension %d of %v", step, axis, x)
	}
	if last := start + (length-1)*step; length > 0 && (start >= dim || last < 0 || last >= dim) {
		return 0, 0, fmt.Errorf("elements %d to %d are out of range for dimension %d of %v", start, last, axis, x)
	}
	return axis, start, nil
}

func inferNarrow(n *ir.Node) ([]ir.Spec, error) {
	axis, _, err := narrowRange(n)
	if err != nil {
		return nil, err
	}
	out := ir.Spec{DType: n.In[0].Spec.DType, Shape: slices.Clone(n.In[0].Spec.Shape)}
	out.Shape[axis] = n.Int("length")
	return []ir.Spec{out}, nil
}

func inferSplit(n *ir.Node) ([]ir.Spec, error) {
	x := n.In[0].Spec
	axis, err := resolveAxis(int64(n.Int("axis")), x.Rank())
	if err != nil {
		return nil, err
	}
	sizes := n.Ints("sizes")
	if len(sizes) == 0 || len(sizes) > MaxResults {
		return nil, fmt.Errorf("sizes names %d pieces; 1 to %d are possible", len(sizes), MaxResults)
	}
	var specs []ir.Spec
	left := int64(x.Shape[axis])
	for _, size := range sizes {
		if size < 0 || size > left {
			return nil, fmt.Errorf("sizes %v do not add up to dimension %d of %v", sizes, axis, x)
		}
		left -= size
		out := ir.Spec{DType: x.DType, Shape: slices.Clone(x.Shape)}
		out.Shape[axis] = int(size)
		specs = append(specs, out)
	}
	if left != 0 {
		return nil, fmt.Errorf("sizes %v do not add up to dimension %d of %v", sizes, axis, x)
	}
	return specs, nil
}

// MaxResults is the largest number of results of one node.
const MaxResults = 1024

func inferExpand(n *ir.Node) ([]ir.Spec, error) {
	x := n.In[0].Spec
	shape := make([]int, len(n.Ints("shape")))
	for i, d := range n.Ints("shape") {
		if shape[i] = int(d); d < 0 || d > tensor.MaxElements {
			return nil, fmt.Errorf("shape has the dimension %d", d)
		}
	}
	got, err := Broadcast(x.Shape, shape)
	if err != nil {
		return nil, err
	}
	if !tensor.ShapeEqual(got, shape) {
		return nil, fmt.Errorf("%v does not expand to the smaller shape %s", x, tensor.FormatShape(shape))
	}
	return []ir.Spec{{DType: x.DType, Shape: shape}}, nil
}

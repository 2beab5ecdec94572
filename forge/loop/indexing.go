package loop

import (
	"math"
	"slices"

	"forgekernel/forge/tensor"
)

// gather copies the slices of a table that an index names.
func (l *lowering) gather() error {
	n := l.node
	table, ids := n.In[0].Spec.Shape, n.In[1].Spec.Shape
	axis, shape := n.Int("axis"), n.Out[0].Spec.Shape
	out := l.outBits()
	steps := l.layout(n.In[0])
	x := &Access{Param: l.param(n.In[0], false), Strides: slices.Concat(steps[:axis], make([]int, len(ids)), steps[axis+1:])}
	at := &Access{Param: l.param(n.In[1], false), Strides: make([]int, len(shape))}
	copy(at.Strides[axis:], l.layout(n.In[1]))
	place := cast(tensor.I64, l.load(at))
	if n.Bool("from_end") {
		whole := func(i int) *Expr { return &Expr{Op: Const, Type: tensor.I64, Int: int64(i)} }
		place = apply("where", apply("lt", place, whole(0)), apply("add", place, whole(table[axis])), place)
	}
	x.Gathers = []Gather{{Index: place, Step: steps[axis], Size: table[axis]}}
	l.pointwise(shape, out, l.move(x))
	return nil
}

// arg lowers argmax and argmin: the largest element, then the first place where it
// stands. A NaN is larger than all, and equal to nothing.
func (l *lowering) arg() error {
	n, shape := l.node, l.node.In[0].Spec.Shape
	axis := n.Int("axis")
	nest := &Nest{}
	var order []int
	nest.Outer, nest.Line, order = split(shape, func(i int) bool { return i == axis })
	l.kernel.Nest = nest
	out := &Access{Param: l.param(n.Out[0], true), Strides: append(tensor.Strides(nest.Outer), 0)}
	in := l.operand(0, shape)
	in.Strides = reorder(in.Strides, order)
	x := l.load(in)
	kind := Max
	if n.Op.Name == "argmin" {
		kind = Min
	}
	found := apply("eq", x, nest.add(Stage{Expr: x, Reduce: kind}))
	if x.Type.IsFloat() {
		found = apply("or", found, apply("ne", x, x))
	}
	place := index(len(nest.Outer), len(nest.Outer)+1)
	most := int64(math.MaxInt64)
	if shape[axis] < math.MaxInt32 {
		place.Type, most = tensor.I32, math.MaxInt32
	}
	first := apply("where", found, place, &Expr{Op: Const, Type: place.Type, Int: most})
	nest.add(Stage{Expr: cast(tensor.I64, nest.add(Stage{Expr: first, Reduce: Min})), Once: true, Store: out})
	return nil
}

package loop

import (
	"slices"

	"forgekernel/forge/tensor"
)

// split puts the reduced dimensions of a shape behind the others; order maps new
// dimensions to old ones.
func split(shape []int, reduced func(i int) bool) (outer, line, order []int) {
	for i, d := range shape {
		if !reduced(i) {
			outer, order = append(outer, d), append(order, i)
		}
	}
	for i, d := range shape {
		if reduced(i) {
			line, order = append(line, d), append(order, i)
		}
	}
	if len(line) == 0 {
		line, order = []int{1}, append(order, -1)
	}
	return outer, line, order
}

// reorder picks steps in a new order; -1 stands for a dimension of length 1.
func reorder(strides, order []int) []int {
	steps := make([]int, len(order))
	for k, i := range order {
		if i >= 0 {
			steps[k] = strides[i]
		}
	}
	return steps
}

// reduction lowers sum, mean, max and min.
func (l *lowering) reduction() error {
	n, shape := l.node, l.node.In[0].Spec.Shape
	axes := n.Ints("axes")
	outer, line, order := split(shape, func(i int) bool { return slices.Contains(axes, int64(i)) })
	out := &Access{l.param(n.Out[0], true), append(tensor.Strides(outer), make([]int, len(line))...)}
	x := l.operand(0, shape)
	x.Strides = reorder(x.Strides, order)
	kind, result := Reduction(n.Op.Name), stage(0)
	if n.Op.Name == "mean" {
		kind, result = Sum, apply("div", stage(0), number(float32(product(line))))
	}
	l.kernel.Nest = &Nest{Outer: outer, Line: line, Stages: []Stage{
		{Expr: &Expr{Op: Load, Access: x}, Reduce: kind},
		{Expr: result, Once: true, Store: out},
	}}
	return nil
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// line sets up a nest whose lines lie along the given dimensions, and returns
// loads of the operand and of the result, and the access to the result.
func (l *lowering) line(reduced func(i int) bool) (nest *Nest, x, y *Expr, out *Access) {
	shape := l.node.Out[0].Spec.Shape
	nest = &Nest{}
	var order []int
	nest.Outer, nest.Line, order = split(shape, reduced)
	out = l.out()
	out.Strides = reorder(out.Strides, order)
	in := l.operand(0, shape)
	in.Strides = reorder(in.Strides, order)
	l.kernel.Nest = nest
	return nest, &Expr{Op: Load, Access: in}, &Expr{Op: Load, Access: out}, out
}

// softmax stores the exponentials while it adds them up, and divides them.
func (l *lowering) softmax() error {
	axis := l.node.Int("axis")
	if axis < 0 {
		axis += l.node.In[0].Spec.Rank()
	}
	nest, x, y, out := l.line(func(i int) bool { return i == axis })
	nest.Stages = []Stage{
		{Expr: x, Reduce: Max},
		{Expr: apply("exp", apply("sub", x, stage(0))), Reduce: Sum, Store: out},
		{Expr: apply("div", y, stage(1)), Store: out},
	}
	return nil
}

// norm lowers layer_norm and rms_norm: the mean, the mean square of what is left
// without it, and the scaling.
func (l *lowering) norm() error {
	n := l.node
	axis, rank := n.Int("axis"), n.In[0].Spec.Rank()
	if axis < 0 {
		axis += rank
	}
	nest, x, _, out := l.line(func(i int) bool { return i >= axis })
	count := number(float32(product(nest.Line)))
	add := func(s Stage) *Expr {
		nest.Stages = append(nest.Stages, s)
		return stage(len(nest.Stages) - 1)
	}
	centred := x
	if n.Op.Name == "layer_norm" {
		sum := add(Stage{Expr: x, Reduce: Sum})
		mean := add(Stage{Expr: apply("div", sum, count), Once: true})
		centred = apply("sub", x, mean)
	}
	squares := add(Stage{Expr: apply("mul", centred, centred), Reduce: Sum})
	eps := number(float32(n.Float("eps")))
	scale := add(Stage{Expr: apply("rsqrt", apply("add", apply("div", squares, count), eps)), Once: true})
	y := apply("mul", centred, scale)
	for i, op := range []Opcode{"mul", "add"}[:len(n.In)-1] {
		y = apply(op, y, &Expr{Op: Load, Access: l.operand(i+1, n.In[0].Spec.Shape)})
	}
	add(Stage{Expr: y, Store: out})
	return nil
}

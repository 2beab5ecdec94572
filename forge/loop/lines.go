package loop

import (
	"fmt"
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

// reduction lowers sum, mean, max and min. Sums of f64 are left out: they are the
// reference, which adds in an order of its own.
func (l *lowering) reduction() error {
	n, shape := l.node, l.node.In[0].Spec.Shape
	kind, mean := Reduction(n.Op.Name), n.Op.Name == "mean"
	if mean {
		kind = Sum
	}
	if kind == Sum {
		if err := l.notReference(); err != nil {
			return err
		}
	}
	axes := n.Ints("axes")
	outer, line, order := split(shape, func(i int) bool { return slices.Contains(axes, int64(i)) })
	out := &Access{Param: l.param(n.Out[0], true), Strides: append(tensor.Strides(outer), make([]int, len(line))...)}
	x := l.operand(0, shape)
	x.Strides = reorder(x.Strides, order)
	e := l.load(x)
	result := stage(0, e.Type)
	if mean {
		result = apply("div", result, number(e.Type, float64(product(line))))
	}
	l.kernel.Nest = &Nest{Outer: outer, Line: line, Stages: []Stage{
		{Expr: e, Reduce: kind},
		{Expr: result, Once: true, Store: out},
	}}
	return nil
}

// notReference refuses f64, whose results are to be those of the reference to the
// last bit.
func (l *lowering) notReference() error {
	if !l.wide && l.node.In[0].Spec.DType == tensor.F64 {
		return fmt.Errorf("%s in f64 is the reference itself", l.node.Op.Name)
	}
	return nil
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// line sets up a nest whose lines lie along the given dimensions, and returns a
// load of the operand and the access to the result.
func (l *lowering) line(reduced func(i int) bool) (nest *Nest, x *Expr, out *Access) {
	shape := l.node.Out[0].Spec.Shape
	nest = &Nest{}
	var order []int
	nest.Outer, nest.Line, order = split(shape, reduced)
	out = l.out()
	out.Strides = reorder(out.Strides, order)
	in := l.operand(0, shape)
	in.Strides = reorder(in.Strides, order)
	l.kernel.Nest = nest
	return nest, l.load(in), out
}

// add appends a stage and returns its value.
func (n *Nest) add(s Stage) *Expr {
	n.Stages = append(n.Stages, s)
	return stage(len(n.Stages)-1, s.Expr.Type)
}

// softmax stores the exponentials while it adds them up, and divides them; in half
// precision it computes them again, since stores round. log_softmax subtracts the
// logarithm of the sum.
func (l *lowering) softmax() error {
	if err := l.notReference(); err != nil {
		return err
	}
	axis := l.node.Int("axis")
	if axis < 0 {
		axis += l.node.In[0].Spec.Rank()
	}
	nest, x, out := l.line(func(i int) bool { return i == axis })
	shifted := apply("sub", x, nest.add(Stage{Expr: x, Reduce: Max}))
	e := apply("exp", shifted)
	sum := Stage{Expr: e, Reduce: Sum}
	switch {
	case l.node.Op.Name == "log_softmax":
		shift := nest.add(Stage{Expr: apply("log", nest.add(sum)), Once: true})
		nest.add(Stage{Expr: apply("sub", shifted, shift), Store: out})
	case isHalf(l.node.Out[0].Spec.DType):
		nest.add(Stage{Expr: apply("div", e, nest.add(sum)), Store: out})
	default:
		sum.Store = out
		total := nest.add(sum)
		nest.add(Stage{Expr: apply("div", l.load(out), total), Store: out})
	}
	return nil
}

// norm lowers layer_norm and rms_norm: the mean, the mean square of what is left
// without it, and the scaling.
func (l *lowering) norm() error {
	if err := l.notReference(); err != nil {
		return err
	}
	n := l.node
	axis, rank := n.Int("axis"), n.In[0].Spec.Rank()
	if axis < 0 {
		axis += rank
	}
	nest, x, out := l.line(func(i int) bool { return i >= axis })
	count := number(x.Type, float64(product(nest.Line)))
	centred := x
	if n.Op.Name == "layer_norm" {
		sum := nest.add(Stage{Expr: x, Reduce: Sum})
		mean := nest.add(Stage{Expr: apply("div", sum, count), Once: true})
		centred = apply("sub", x, mean)
	}
	squares := nest.add(Stage{Expr: apply("mul", centred, centred), Reduce: Sum})
	eps := number(x.Type, n.Float("eps"))
	scale := nest.add(Stage{Expr: apply("rsqrt", apply("add", apply("div", squares, count), eps)), Once: true})
	y := apply("mul", centred, scale)
	for i, op := range []Opcode{"mul", "add"}[:len(n.In)-1] {
		y = apply(op, y, l.load(l.operand(i+1, n.In[0].Spec.Shape)))
	}
	nest.add(Stage{Expr: y, Store: out})
	return nil
}

package loop

import (
	"slices"

	"forgekernel/forge/tensor"
)

// wideLowerings has what lowers the operators that only [LowerWide] takes.
var wideLowerings = map[string]func(*lowering) error{
	"prod":    (*lowering).reduction,
	"cumsum":  (*lowering).cumsum,
	"top_k":   (*lowering).topK,
	"scatter": (*lowering).scatter,
}

// along splits a shape into an axis, which is the line, and the other dimensions.
func along(shape []int, axis int) (outer, line, order []int) {
	return split(shape, func(i int) bool { return i == axis })
}

// cumsum lowers running sums: the line is visited from its end when they are reversed.
func (l *lowering) cumsum() error {
	n, shape := l.node, l.node.In[0].Spec.Shape
	axis := n.Int("axis")
	outer, line, order := along(shape, axis)
	l.kernel.Nest = &Nest{Outer: outer, Line: line}
	walk := func(a *Access) *Access {
		a.Strides = reorder(a.Strides, order)
		if last := len(a.Strides) - 1; n.Bool("reverse") {
			a.Offset += (shape[axis] - 1) * a.Strides[last]
			a.Strides[last] = -a.Strides[last]
		}
		return a
	}
	st := Stage{Reduce: Sum, Store: walk(l.out()), Running: Through, Expr: l.load(walk(l.operand(0, shape)))}
	if n.Bool("exclusive") {
		st.Running = Before
	}
	l.kernel.Nest.add(st)
	return nil
}

// topK gives each element of a line its rank, which is how many others come before it,
// and stores those whose rank is low enough there.
func (l *lowering) topK() error {
	n, shape := l.node, l.node.In[0].Spec.Shape
	axis := n.Int("axis")
	outer, line, order := along(shape, axis)
	nest := &Nest{Outer: append(outer, line...), Line: line}
	l.kernel.Nest = nest
	outer = nest.Outer
	at := len(outer) - 1
	result := func(i int) *Access {
		v := n.Out[i]
		return &Access{Param: l.param(v, true), Strides: append(reorder(l.layout(v), order), 0)}
	}
	values, indices := result(0), result(1)
	in := l.operand(0, shape)
	own := &Access{Param: in.Param, Strides: append(reorder(in.Strides, order), 0)}
	other := &Access{Param: in.Param, Strides: append(reorder(in.Strides, order), 0)}
	other.Strides[at], other.Strides[at+1] = 0, other.Strides[at]
	x, y := l.load(own), l.load(other)
	first, second := y, x
	if !n.Bool("largest") {
		first, second = x, y
	}
	before, equal := apply("gt", first, second), apply("eq", x, y)
	if x.Type.IsFloat() { // NaN is the largest
		isNaN := func(e *Expr) *Expr { return apply("ne", e, e) }
		before = apply("or", before, apply("and", isNaN(first), apply("not", isNaN(second))))
		equal = apply("or", equal, apply("and", isNaN(x), isNaN(y)))
	}
	earlier := apply("lt", index(at+1, at+2), index(at, at+2))
	rank := nest.add(Stage{Expr: cast(tensor.I64, apply("or", before, apply("and", equal, earlier))), Reduce: Sum})
	low := apply("lt", rank, integer(n.Int("k")))
	for _, s := range []struct {
		value *Expr
		to    *Access
	}{{l.load(own), values}, {index(at, at+2), indices}} {
		step := s.to.Strides[at]
		s.to.Strides[at] = 0
		s.to.Gathers = []Gather{{rank, step, n.Int("k")}}
		nest.add(Stage{Expr: s.value, Once: true, Store: s.to, When: low})
	}
	return nil
}

// scatter lowers updates: a copy of the operand, and then the updates of each line along
// the axis, one after another. Sums and products of half precision are made in f32, in
// memory of the node, and then rounded.
func (l *lowering) scatter() error {
	n, shape := l.node, l.node.In[0].Spec.Shape
	how := n.Str("reduce")
	to := Param{Value: n.Out[0], Written: true}
	dense := l.layout(n.Out[0])
	if wide := isHalf(n.Out[0].Spec.DType) && (how == "add" || how == "mul"); wide {
		to = Param{Local: &Local{Name: "sums", DType: tensor.F32, Elements: product(shape)}, Written: true}
		dense = tensor.Strides(shape)
	}
	access := func() *Access {
		a := &Access{Param: l.addParam(to), Strides: slices.Clone(dense)}
		a.Bits = isHalf(to.DType())
		return a
	}
	out := access()
	from := l.operand(0, shape)
	if out.Bits {
		l.pointwise(shape, out, l.move(from))
	} else {
		l.pointwise(shape, out, l.load(from))
	}
	if n.In[2].Spec.Elements() > 0 {
		l.begin()
		l.update(how, access(), shape)
	}
	if to.Local == nil {
		return nil
	}
	l.begin()
	final := l.out()
	to.Written = false
	l.pointwise(shape, final, l.load(access()))
	return nil
}

// update lowers the updates of a tensor of a shape.
func (l *lowering) update(how string, to *Access, shape []int) {
	n := l.node
	axis := n.Int("axis")
	outer, line, order := along(n.In[2].Spec.Shape, axis)
	nest := &Nest{Outer: outer, Line: line}
	l.kernel.Nest = nest
	operand := func(i int) *Access {
		return &Access{Param: l.param(n.In[i], false), Strides: reorder(l.layout(n.In[i]), order)}
	}
	to.Strides = reorder(to.Strides, order)
	last := len(to.Strides) - 1
	at, from := operand(1), operand(2)
	to.Gathers = []Gather{{cast(tensor.I64, l.load(at)), to.Strides[last], shape[axis]}}
	to.Strides[last] = 0
	var e *Expr
	if how == "none" {
		e = l.move(from)
		to.Bits = from.Bits
	} else {
		to.Bits = false
		op := map[string]Opcode{"add": "add", "mul": "mul", "max": "maximum", "min": "minimum"}[how]
		e = apply(op, l.load(to), l.load(from))
	}
	nest.add(Stage{Expr: e, Store: to, Ordered: true})
}

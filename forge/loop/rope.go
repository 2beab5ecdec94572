package loop

import (
	"errors"
	"math"
	"slices"

	"forgekernel/forge/mathf"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// rope lowers rotary positions: a table of cosines and sines for each token, then
// the turning of pairs of channels, then a copy of the channels that do not turn.
func (l *lowering) rope() error {
	if err := l.notReference(); err != nil {
		return err
	}
	x, pos := l.node.In[0].Spec, l.node.In[1].Spec
	freqs := op.Frequencies(l.node)
	for _, f := range freqs {
		if math.Abs(f)*math.MaxInt32 > mathf.MaxAngle {
			return errors.New("the frequencies of rope are too large for the polynomials")
		}
	}
	rank := x.Rank()
	t, d, pairs := x.Shape[rank-2], x.Shape[rank-1], len(freqs)
	rows := pos.Elements()
	turns := func(name string) *Local {
		return &Local{Name: name, DType: computed(x.DType), Elements: rows * t * pairs}
	}
	cos, sin := turns("cos"), turns("sin")
	if pairs > 0 {
		if err := l.angles(freqs, rows, t, cos, sin); err != nil {
			return err
		}
		l.begin()
		l.turn(t, pairs, cos, sin)
	}
	if rest := d - 2*pairs; rest > 0 {
		if pairs > 0 {
			l.begin()
		}
		shape := append(slices.Clone(x.Shape[:rank-1]), rest)
		out, in := l.outBits(), l.operand(0, shape)
		in.Strides = l.layout(l.node.In[0])
		out.Offset, in.Offset = 2*pairs, 2*pairs*in.Strides[rank-1]
		l.pointwise(shape, out, l.move(in))
	}
	return nil
}

// angles fills the tables: the angle of a pair is its frequency times the position.
func (l *lowering) angles(freqs []float64, rows, t int, cos, sin *Local) error {
	pairs := len(freqs)
	table, err := tensor.From([]int{pairs}, freqs)
	if err != nil {
		return err
	}
	f := &Access{
		Param:   l.addParam(Param{Local: &Local{Name: "freqs", DType: tensor.F64, Elements: pairs, Constant: table}}),
		Strides: []int{0, 0, 1},
	}
	nest := &Nest{Outer: []int{rows, t}, Line: []int{pairs}}
	l.kernel.Nest = nest
	first := l.rowInteger(1, 3)
	nest.add(Stage{Expr: between(first, 0, math.MaxInt32-t), Once: true, Require: true})
	position := apply("add", first, index(1, 3))
	angle := apply("mul", cast(tensor.F64, position), l.load(f))
	for _, to := range []struct {
		op    Opcode
		table *Local
	}{{"cos", cos}, {"sin", sin}} {
		a := &Access{Param: l.addParam(Param{Local: to.table, Written: true}), Strides: []int{t * pairs, pairs, 1}}
		nest.add(Stage{Expr: cast(to.table.DType, apply(to.op, angle)), Store: a})
	}
	return nil
}

// turn rotates the pairs of channels of every row of x.
func (l *lowering) turn(t, pairs int, cos, sin *Local) {
	n := l.node
	shape := n.In[0].Spec.Shape
	rank := len(shape)
	stride, apart := 2, 1
	if n.Str("style") == "half" {
		stride, apart = 1, pairs
	}
	nest := &Nest{Outer: shape[:rank-1], Line: []int{pairs}}
	l.kernel.Nest = nest
	channel := func(a *Access, k int) *Access {
		step := a.Strides[rank-1]
		c := &Access{Param: a.Param, Offset: k * apart * step, Strides: slices.Clone(a.Strides)}
		c.Strides[rank-1] = step * stride
		return c
	}
	out := l.out()
	in := &Access{Param: l.param(n.In[0], false), Strides: l.layout(n.In[0])}
	x, y := l.load(channel(in, 0)), l.load(channel(in, 1))
	factor := func(table *Local) *Expr {
		a := &Access{Param: l.addParam(Param{Local: table}), Strides: make([]int, rank)}
		if n.In[1].Spec.Rank() > 0 {
			a.Strides[0] = t * pairs
		}
		a.Strides[rank-2], a.Strides[rank-1] = pairs, 1
		return l.load(a)
	}
	c, s := factor(cos), factor(sin)
	nest.add(Stage{Expr: apply("sub", apply("mul", x, c), apply("mul", y, s)), Store: channel(out, 0)})
	nest.add(Stage{Expr: apply("add", apply("mul", y, c), apply("mul", x, s)), Store: channel(out, 1)})
}

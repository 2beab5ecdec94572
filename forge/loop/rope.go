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
	switch {
	case pairs > 0 && l.wide && x.Elements() <= fewTurns:
		a, err := l.newAngles(freqs, rank, rank-2, t)
		if err != nil {
			return err
		}
		l.turn(pairs, func(op Opcode) *Expr { return a.factor(op, computed(x.DType)) }, a.valid)
	case pairs > 0:
		cos, sin := turns("cos"), turns("sin")
		if err := l.angles(freqs, rows, t, cos, sin); err != nil {
			return err
		}
		l.begin()
		l.turn(pairs, func(op Opcode) *Expr {
			table := cos
			if op == "sin" {
				table = sin
			}
			a := &Access{Param: l.addParam(Param{Local: table}), Strides: make([]int, rank)}
			if l.node.In[1].Spec.Rank() > 0 {
				a.Strides[0] = t * pairs
			}
			a.Strides[rank-2], a.Strides[rank-1] = pairs, 1
			return l.load(a)
		}, nil)
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

// fewTurns is the most elements of a rope whose angles are not kept in tables: each row
// then computes its own, where a kernel costs more to start than that.
const fewTurns = 1 << 20

// pairAngles are the angles of pairs, whose frequencies are a constant of the node, over
// the dimensions of a loop whose first is the rows and whose last is the pairs.
type pairAngles struct {
	*lowering
	valid *Expr // the condition that positions have polynomials
	angle *Expr
}

func (l *lowering) newAngles(freqs []float64, dims, token, tokens int) (*pairAngles, error) {
	table, err := tensor.From([]int{len(freqs)}, freqs)
	if err != nil {
		return nil, err
	}
	f := &Access{
		Param:   l.addParam(Param{Local: &Local{Name: "freqs", DType: tensor.F64, Elements: len(freqs), Constant: table}}),
		Strides: make([]int, dims),
	}
	f.Strides[dims-1] = 1
	first := l.rowInteger(1, dims)
	position := apply("add", first, index(token, dims))
	return &pairAngles{l, between(first, 0, math.MaxInt32-tokens), apply("mul", cast(tensor.F64, position), l.load(f))}, nil
}

// factor is the cosine or sine, in a type.
func (a *pairAngles) factor(op Opcode, t tensor.DType) *Expr { return cast(t, apply(op, a.angle)) }

// angles fills the tables: the angle of a pair is its frequency times the position.
func (l *lowering) angles(freqs []float64, rows, t int, cos, sin *Local) error {
	pairs := len(freqs)
	nest := &Nest{Outer: []int{rows, t}, Line: []int{pairs}}
	l.kernel.Nest = nest
	a, err := l.newAngles(freqs, 3, 1, t)
	if err != nil {
		return err
	}
	nest.add(Stage{Expr: a.valid, Once: true, Require: true})
	for _, to := range []struct {
		op    Opcode
		table *Local
	}{{"cos", cos}, {"sin", sin}} {
		at := &Access{Param: l.addParam(Param{Local: to.table, Written: true}), Strides: []int{t * pairs, pairs, 1}}
		nest.add(Stage{Expr: a.factor(to.op, to.table.DType), Store: at})
	}
	return nil
}

// turn rotates the pairs of channels of every row of x by the angles whose cosine and sine
// factor gives, if the condition holds.
func (l *lowering) turn(pairs int, factor func(op Opcode) *Expr, valid *Expr) {
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
	c, s := factor("cos"), factor("sin")
	if valid != nil {
		nest.add(Stage{Expr: valid, Once: true, Require: true})
	}
	nest.add(Stage{Expr: apply("sub", apply("mul", x, c), apply("mul", y, s)), Store: channel(out, 0)})
	nest.add(Stage{Expr: apply("add", apply("mul", y, c), apply("mul", x, s)), Store: channel(out, 1)})
}

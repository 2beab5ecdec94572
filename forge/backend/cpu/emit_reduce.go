package cpu

import (
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/backend/cpu/source"
	"forgekernel/forge/loop"
)

// sumBlock is the number of vectors that one accumulator takes before it is added
// to a total, so that the chain of roundings of a long sum stays short.
const sumBlock = 64

// accumulators is how many are used side by side, to hide the latency of an
// operation, where the order does not matter.
const accumulators = 4

// reduce folds the line into variable s<i>. A long sum of floats goes by way of an
// accumulator that is emptied after some vectors.
func (n *nestEmitter) reduce(s scope, i int, st loop.Stage) {
	t := st.Expr.Type
	start, vector := constant(st.Reduce.Start(t)), forms[t].vector
	op := source.Function(&loop.Expr{Op: st.Reduce.Combine(), Args: []*loop.Expr{st.Expr}})
	blocked := st.Reduce == loop.Sum && t.IsFloat() && n.visits(s) > sumBlock
	total := fmt.Sprintf("s%d", i)
	acc := total
	n.Line("%s %s = %s;", vector, total, start)
	n.Open("")
	if blocked {
		acc = "acc"
		n.Line("%s acc = %s; int count = 0;", vector, start)
	}
	wide := s
	if s.lane < 0 && (st.Reduce != loop.Sum || !t.IsFloat()) {
		wide.unroll = accumulators
	}
	for k := 1; k < wide.unroll; k++ {
		n.Line("%s acc%d = %s;", vector, k, start)
	}
	visit := func(inner scope) {
		acc := acc
		if inner.turn > 0 {
			acc = fmt.Sprintf("acc%d", inner.turn)
		}
		value := n.visit(inner, st)
		if s.lane < 0 && inner.part > 0 {
			value = fmt.Sprintf("choose_%v(first(%d), %s, %s)", t, inner.part, value, start)
		}
		n.Line("%s = %s(%s, %s);", acc, op, acc, value)
		if blocked {
			n.Line("if (++count == %d) { %s = %s(%s, acc); acc = %s; count = 0; }", sumBlock, total, op, total, start)
		}
	}
	n.withinGuards(s, st, func() { n.sweep(wide, visit) })
	if blocked {
		n.Line("%s = %s(%s, acc);", total, op, total)
	}
	for k := 1; k < wide.unroll; k++ {
		n.Line("%s = %s(%s, acc%d);", total, op, total, k)
	}
	n.Close()
	if s.lane < 0 {
		n.Line("%s = fold_%s_%v(%s);", total, st.Reduce, t, total)
	}
}

// visits is how many vectors a reduction adds to each lane.
func (n *nestEmitter) visits(s scope) int {
	count := 1
	for i, d := range n.nest.Line {
		if i == len(n.nest.Line)-1 && s.lane < 0 {
			d = (d + n.target.Lanes - 1) / n.target.Lanes
		}
		count *= d
	}
	return count
}

// withinGuards writes a body, and where its loads have guards, a second one without
// them for when they hold all along the line.
func (n *nestEmitter) withinGuards(s scope, st loop.Stage, body func()) {
	var hold []string
	line := s
	line.vars = append(slices.Clone(n.vars[:len(n.nest.Outer)]), make([]string, len(n.nest.Line))...)
	st.Expr.Walk(func(x *loop.Expr) {
		if x.Op != loop.Load {
			return
		}
		for _, g := range x.Access.Guards {
			low, high := line.affine(g.Affine), 0 // at the first lane and point of the line, and how far the last are
			for i, step := range g.Strides {
				switch {
				case i >= len(n.nest.Outer):
					high += max(0, step) * (n.nest.Line[i-len(n.nest.Outer)] - 1)
				case i == s.lane:
					high += max(0, step) * (n.lanes(s) - 1)
				}
			}
			hold = append(hold, fmt.Sprintf("%s >= 0 && %s + %d < %d", low, low, high, g.Size))
		}
	})
	if len(hold) == 0 {
		body()
		return
	}
	n.Open("if (%s)", strings.Join(hold, " && "))
	n.unguarded = true
	body()
	n.unguarded = false
	n.Close()
	n.Open("else")
	body()
	n.Close()
}

package cpu

import (
	"fmt"

	"forgekernel/forge/loop"
)

// sumBlock is the number of vectors that one accumulator takes before it is added
// to a total, so that the chain of roundings of a long sum stays short.
const sumBlock = 64

// nestEmitter writes a nest. Lanes run along the last line dimension; where the
// operand is not contiguous there, but is along the last outer dimension, lanes
// are independent lines.
type nestEmitter struct {
	*emitter
	nest    *loop.Nest
	columns bool
	vars    []string
}

func (e *emitter) nest(name string) {
	n := &nestEmitter{emitter: e, nest: e.kernel.Nest}
	for i := range n.nest.Outer {
		n.vars = append(n.vars, fmt.Sprintf("i%d", i))
	}
	for i := range n.nest.Line {
		n.vars = append(n.vars, fmt.Sprintf("j%d", i))
	}
	n.columns = n.wantsColumns()
	e.open("KERNEL void %s(%s)", name, e.params())
	n.outer(0)
	e.close()
}

// wantsColumns looks at the first operand.
func (n *nestEmitter) wantsColumns() bool {
	outer := len(n.nest.Outer)
	if outer == 0 {
		return false
	}
	columns := false
	n.nest.Stages[0].Expr.Walk(func(x *loop.Expr) {
		if x.Op == loop.Load && x.Access.Strides[len(n.vars)-1] > 1 && x.Access.Strides[outer-1] == 1 {
			columns = true
		}
	})
	return columns && n.nest.Stages[0].Reduce != loop.NoReduction
}

// outer opens the loop over outer dimension i and those within.
func (n *nestEmitter) outer(i int) {
	s := scope{vars: n.vars, lane: -1}
	if i == len(n.nest.Outer) {
		n.stages(s)
		return
	}
	v, size, lanes := n.vars[i], n.nest.Outer[i], n.target.Lanes
	if !n.columns || i < len(n.nest.Outer)-1 {
		n.open("for (long %s = 0; %s < %d; %s++)", v, v, size, v)
		if i == 0 {
			n.checkStop()
		}
		n.outer(i + 1)
		n.close()
		return
	}
	s.lane = i
	if whole := size / lanes * lanes; whole > 0 {
		n.open("for (long %s = 0; %s < %d; %s += %d)", v, v, whole, v, lanes)
		n.stages(s)
		n.close()
	}
	if s.part = size % lanes; s.part > 0 {
		n.open("for (long %s = %d; %s < %d; %s += %d)", v, size-s.part, v, size, v, lanes)
		n.stages(s)
		n.close()
	}
}

func (n *nestEmitter) stages(s scope) {
	for i, st := range n.nest.Stages {
		switch {
		case st.Reduce != loop.NoReduction:
			n.reduce(s, i, st)
		case st.Once:
			value := n.expr(s, st.Expr)
			n.line("vf s%d = %s;", i, value)
			if st.Store != nil {
				n.store(s, *st.Store, fmt.Sprintf("s%d", i))
			} else {
				n.line("(void)s%d;", i)
			}
		default:
			n.sweep(s, func(s scope) { n.visit(s, st) })
		}
	}
}

// visit evaluates a stage for the lanes of s.
func (n *nestEmitter) visit(s scope, st loop.Stage) string {
	value := n.expr(s, st.Expr)
	if st.Store != nil {
		n.store(s, *st.Store, value)
	}
	return value
}

// sweep runs body over the line, in vectors unless lanes are columns.
func (n *nestEmitter) sweep(s scope, body func(scope)) {
	first, last := len(n.nest.Outer), len(n.vars)-1
	for i := first; i < last; i++ {
		n.open("for (long %s = 0; %s < %d; %s++)", n.vars[i], n.vars[i], n.nest.Line[i-first], n.vars[i])
	}
	v, size, lanes := n.vars[last], n.nest.Line[last-first], n.target.Lanes
	if s.lane >= 0 {
		n.open("for (long %s = 0; %s < %d; %s++)", v, v, size, v)
		body(s)
		n.close()
	} else {
		s.lane = last
		if whole := size / lanes * lanes; whole > 0 {
			n.open("for (long %s = 0; %s < %d; %s += %d)", v, v, whole, v, lanes)
			body(s)
			n.close()
		}
		if s.part = size % lanes; s.part > 0 {
			n.open("for (long %s = %d; %s < %d; %s += %d)", v, size-s.part, v, size, v, lanes)
			body(s)
			n.close()
		}
	}
	for i := first; i < last; i++ {
		n.close()
	}
}

// folding is how each reduction starts and combines.
var folding = map[loop.Reduction]struct{ start, op, fold string }{
	loop.Sum: {"set(0)", "v_add", "fold_sum"},
	loop.Max: {"set(-__builtin_inff())", "v_maximum", "fold_max"},
	loop.Min: {"set(__builtin_inff())", "v_minimum", "fold_min"},
}

// reduce folds the line into variable s<i>.
func (n *nestEmitter) reduce(s scope, i int, st loop.Stage) {
	f := folding[st.Reduce]
	n.line("vf s%d = %s;", i, f.start)
	n.open("")
	n.line("vf acc = %s; int count = 0;", f.start)
	n.sweep(s, func(inner scope) {
		value := n.visit(inner, st)
		if s.lane < 0 && inner.part > 0 {
			value = fmt.Sprintf("choose(first(%d), %s, %s)", inner.part, value, f.start)
		}
		n.line("acc = %s(acc, %s);", f.op, value)
		n.line("if (++count == %d) { s%d = %s(s%d, acc); acc = %s; count = 0; }", sumBlock, i, f.op, i, f.start)
	})
	n.line("s%d = %s(s%d, acc);", i, f.op, i)
	n.close()
	if s.lane < 0 {
		n.line("s%d = %s(s%d);", i, f.fold, i)
	}
}

package cpu

import (
	"fmt"
	"math"
	"slices"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// sumBlock is the number of vectors that one accumulator takes before it is added
// to a total, so that the chain of roundings of a long sum stays short.
const sumBlock = 64

// lineBlock is the number of elements of a line that form a unit of work, where
// elements do not depend on one another.
const lineBlock = 1024

// stopEvery is the number of elements of a line, done as a whole, after which it
// is seen that the run has been stopped.
const stopEvery = 16 * lineBlock

// nestEmitter writes a nest. Lanes run along the last line dimension; where the
// operand is not contiguous there, but is along the last outer dimension, lanes
// are independent lines.
type nestEmitter struct {
	*emitter
	nest    *loop.Nest
	columns bool
	blocks  bool // a unit is a block of the line rather than all of it
	vars    []string
}

// nest writes the function and returns the number of its units: outer points, or
// vectors of them, or blocks of their lines.
func (e *emitter) nest(name string) int {
	n := &nestEmitter{emitter: e, nest: e.kernel.Nest}
	for _, p := range e.kernel.Params {
		e.elems = append(e.elems, p.Value.Spec.DType)
	}
	for i := range n.nest.Outer {
		n.vars = append(n.vars, fmt.Sprintf("i%d", i))
	}
	for i := range n.nest.Line {
		n.vars = append(n.vars, fmt.Sprintf("j%d", i))
	}
	n.columns = n.wantsColumns()
	n.blocks = n.wantsBlocks()
	e.open("KERNEL void %s(%s)", name, e.params())
	count := n.outer()
	e.close()
	return count
}

// wantsBlocks reports whether lines are long, of one dimension, and their elements
// do not depend on one another.
func (n *nestEmitter) wantsBlocks() bool {
	st := n.nest.Stages
	return len(st) == 1 && !st[0].Once && st[0].Reduce == loop.NoReduction && len(n.nest.Line) == 1 && n.nest.Line[0] > lineBlock
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

// outer writes the loop over units, with all stages in it.
func (n *nestEmitter) outer() int {
	s := scope{vars: n.vars, lane: -1}
	last, lanes := len(n.nest.Outer)-1, n.target.Lanes
	vars, dims := slices.Clone(n.vars[:last+1]), slices.Clone(n.nest.Outer)
	if n.columns {
		vars[last], dims[last] = "v", (dims[last]+lanes-1)/lanes
	}
	if n.blocks {
		vars, dims = append(vars, "v"), append(dims, (n.nest.Line[0]+lineBlock-1)/lineBlock)
	}
	count := n.units(vars, dims)
	defer n.close()
	if !n.columns {
		n.stages(s)
		return count
	}
	s.lane = last
	whole, part := n.nest.Outer[last]/lanes*lanes, n.nest.Outer[last]%lanes
	n.line("long %s = v * %d;", n.vars[last], lanes)
	if whole > 0 {
		n.open("if (%s < %d)", n.vars[last], whole)
		n.stages(s)
		n.close()
	}
	if s.part = part; part > 0 {
		n.open("if (%s == %d)", n.vars[last], whole)
		n.stages(s)
		n.close()
	}
	return count
}

func (n *nestEmitter) stages(s scope) {
	for i, st := range n.nest.Stages {
		switch {
		case st.Reduce != loop.NoReduction:
			n.reduce(s, i, st)
		case st.Once:
			value := n.expr(s, st.Expr)
			n.line("%s s%d = %s;", forms[st.Expr.Type].vector, i, value)
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
	if last > first {
		n.checkStop()
	}
	v, size, lanes := n.vars[last], n.nest.Line[last-first], n.target.Lanes
	check := func() {
		if !n.blocks && size >= stopEvery {
			n.line("if (%s %% %d == 0 && stopped(stop)) return;", v, stopEvery)
		}
	}
	if s.lane >= 0 {
		n.open("for (long %s = 0; %s < %d; %s++)", v, v, size, v)
		check()
		body(s)
		n.close()
	} else {
		s.lane = last
		start, end := "0", fmt.Sprint(size)
		if n.blocks {
			n.line("long end = least((v + 1) * %d, %d);", lineBlock, size)
			start, end = fmt.Sprintf("v * %d", lineBlock), "end"
		}
		if size >= lanes {
			n.open("for (long %s = %s; %s + %d <= %s; %s += %d)", v, start, v, lanes, end, v, lanes)
			check()
			body(s)
			n.close()
		}
		if s.part = size % lanes; s.part > 0 {
			n.open("for (long %s = %d; %s < %s; %s += %d)", v, size-s.part, v, end, v, lanes)
			body(s)
			n.close()
		}
	}
	for i := first; i < last; i++ {
		n.close()
	}
}

// foldings are how each reduction starts, combines and folds lanes.
var foldings = map[loop.Reduction]struct {
	op    loop.Opcode
	start func(tensor.DType) *loop.Expr
}{
	loop.Sum: {"add", func(t tensor.DType) *loop.Expr { return &loop.Expr{Op: loop.Const, Type: t} }},
	loop.Max: {"maximum", func(t tensor.DType) *loop.Expr { return lowest(t, -1) }},
	loop.Min: {"minimum", func(t tensor.DType) *loop.Expr { return lowest(t, 1) }},
}

// lowest is the end of a type's range on the side of a sign.
func lowest(t tensor.DType, sign int) *loop.Expr {
	e := &loop.Expr{Op: loop.Const, Type: t, Value: math.Inf(sign)}
	switch {
	case t == tensor.I64 && sign < 0:
		e.Int = math.MinInt64
	case t == tensor.I64:
		e.Int = math.MaxInt64
	case sign < 0:
		e.Int = math.MinInt32
	default:
		e.Int = math.MaxInt32
	}
	return e
}

// reduce folds the line into variable s<i>.
func (n *nestEmitter) reduce(s scope, i int, st loop.Stage) {
	f, t := foldings[st.Reduce], st.Expr.Type
	start, vector := constant(f.start(t)), forms[t].vector
	op := function(&loop.Expr{Op: f.op, Args: []*loop.Expr{st.Expr}})
	n.line("%s s%d = %s;", vector, i, start)
	n.open("")
	n.line("%s acc = %s; int count = 0;", vector, start)
	n.sweep(s, func(inner scope) {
		value := n.visit(inner, st)
		if s.lane < 0 && inner.part > 0 {
			value = fmt.Sprintf("choose_%v(first(%d), %s, %s)", t, inner.part, value, start)
		}
		n.line("acc = %s(acc, %s);", op, value)
		n.line("if (++count == %d) { s%d = %s(s%d, acc); acc = %s; count = 0; }", sumBlock, i, op, i, start)
	})
	n.line("s%d = %s(s%d, acc);", i, op, i)
	n.close()
	if s.lane < 0 {
		n.line("s%d = fold_%s_%v(s%d);", i, st.Reduce, t, i)
	}
}

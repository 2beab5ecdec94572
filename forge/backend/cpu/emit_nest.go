package cpu

import (
	"fmt"
	"slices"

	"forgekernel/forge/loop"
)

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
		e.elems = append(e.elems, p.DType())
	}
	for i := range n.nest.Outer {
		n.vars = append(n.vars, fmt.Sprintf("i%d", i))
	}
	for i := range n.nest.Line {
		n.vars = append(n.vars, fmt.Sprintf("j%d", i))
	}
	n.columns = n.wantsColumns()
	n.blocks = n.wantsBlocks()
	e.Open("KERNEL void %s(%s)", name, e.params())
	count := n.outer()
	e.Close()
	return count
}

// wantsBlocks reports whether lines are long, of one dimension, and their elements
// do not depend on one another.
func (n *nestEmitter) wantsBlocks() bool {
	st := n.nest.Stages
	return len(st) == 1 && !st[0].Once && st[0].Reduce == loop.NoReduction && len(n.nest.Line) == 1 && n.nest.Line[0] > lineBlock
}

// wantsColumns reports whether the lanes of a reduction are to be independent lines:
// where the operand is contiguous across lines rather than along them, and where
// lines are so short that folding lanes would be most of the work.
func (n *nestEmitter) wantsColumns() bool {
	outer, line := len(n.nest.Outer), n.nest.Line
	if outer == 0 || n.nest.Stages[0].Reduce == loop.NoReduction {
		return false
	}
	last := line[len(line)-1]
	columns := last < n.target.Lanes/2 && n.nest.Outer[outer-1] > last
	n.nest.Stages[0].Expr.Walk(func(x *loop.Expr) {
		if x.Op == loop.Load && x.Access.Strides[len(n.vars)-1] > 1 && x.Access.Strides[outer-1] == 1 {
			columns = true
		}
	})
	return columns
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
	defer n.Close()
	if !n.columns {
		n.stages(s)
		return count
	}
	s.lane = last
	whole, part := n.nest.Outer[last]/lanes*lanes, n.nest.Outer[last]%lanes
	n.Line("long %s = v * %d;", n.vars[last], lanes)
	if whole > 0 {
		n.Open("if (%s < %d)", n.vars[last], whole)
		n.stages(s)
		n.Close()
	}
	if s.part = part; part > 0 {
		n.Open("if (%s == %d)", n.vars[last], whole)
		n.stages(s)
		n.Close()
	}
	return count
}

func (n *nestEmitter) stages(s scope) {
	for i, st := range n.nest.Stages {
		if st.When != nil {
			n.Open("if (lane0_i32(%s))", n.expr(s, st.When))
		}
		switch {
		case st.Reduce != loop.NoReduction:
			n.reduce(s, i, st)
		case st.Once && st.Require:
			n.require(s, st)
		case st.Once:
			value := n.expr(s, st.Expr)
			n.Line("%s s%d = %s;", forms[st.Expr.Type].vector, i, value)
			if st.Store != nil {
				n.write(s, *st.Store, fmt.Sprintf("s%d", i))
			} else {
				n.Line("(void)s%d;", i)
			}
		case st.Require:
			n.sweep(s, func(s scope) { n.require(s, st) })
		default:
			n.Open("")
			n.hoist(s, st)
			n.sweep(s, func(s scope) { n.visit(s, st) })
			n.hoisted = nil // the block of their names ends here
			n.Close()
		}
		if st.When != nil {
			n.Close()
		}
	}
}

// require ends the kernel where a condition is false in a lane.
func (n *nestEmitter) require(s scope, st loop.Stage) {
	lanes := n.lanes(s)
	if s.lane < 0 {
		lanes = 1
	}
	n.fault("any(~%s & first(%d))", n.expr(s, st.Expr), lanes)
}

// hoist evaluates the indices of gathers that are the same all along the line.
func (n *nestEmitter) hoist(s scope, st loop.Stage) {
	n.hoisted = make(map[*loop.Gather]string)
	access := func(a *loop.Access) {
		for i := range a.Gathers {
			g := &a.Gathers[i]
			varies := len(a.Guards) > 0 // an index may be meant for the inside only
			for d := range n.vars {
				varies = varies || (d >= len(n.nest.Outer) || d == s.lane) && g.Index.Varies(d)
			}
			if _, done := n.hoisted[g]; done || varies {
				continue
			}
			value, name := n.expr(s, g.Index), n.Temp()
			n.Line("long %s = lane0_i64(%s);", name, value)
			n.fault("(unsigned long)%s >= %d", name, g.Size)
			n.hoisted[g] = name
		}
	}
	st.Expr.Walk(func(x *loop.Expr) {
		if x.Op == loop.Load {
			access(x.Access)
		}
	})
	if st.Store != nil {
		access(st.Store)
	}
}

// visit evaluates a stage for the lanes of s.
func (n *nestEmitter) visit(s scope, st loop.Stage) string {
	value := n.expr(s, st.Expr)
	if st.Store != nil {
		n.write(s, *st.Store, value)
	}
	return value
}

// sweep runs body over the line, in vectors unless lanes are columns.
func (n *nestEmitter) sweep(s scope, body func(scope)) {
	first, last := len(n.nest.Outer), len(n.vars)-1
	for i := first; i < last; i++ {
		n.Open("for (long %s = 0; %s < %d; %s++)", n.vars[i], n.vars[i], n.nest.Line[i-first], n.vars[i])
	}
	if last > first {
		n.checkStop()
	}
	v, size, lanes := n.vars[last], n.nest.Line[last-first], n.target.Lanes
	check := func() {
		if !n.blocks && size >= stopEvery {
			n.Line("if (%s %% %d == 0 && stopped(stop)) return;", v, stopEvery)
		}
	}
	if s.lane >= 0 {
		n.Open("for (long %s = 0; %s < %d; %s++)", v, v, size, v)
		check()
		body(s)
		n.Close()
	} else {
		s.lane = last
		start, end := "0", fmt.Sprint(size)
		if n.blocks {
			n.Line("long end = least((v + 1) * %d, %d);", lineBlock, size)
			start, end = fmt.Sprintf("v * %d", lineBlock), "end"
		}
		if wide := s.unroll * lanes; wide > 0 && size >= wide {
			n.Open("for (long %s = 0; %s + %d <= %d; %s += %d)", v, v, wide, size, v, wide)
			check()
			for k := range s.unroll {
				inner := s
				inner.turn = k
				inner.vars = append(slices.Clone(s.vars[:last]), fmt.Sprintf("(%s + %d)", v, k*lanes))
				body(inner)
			}
			n.Close()
			start = fmt.Sprint(size / wide * wide)
		}
		if size >= lanes {
			n.Open("for (long %s = %s; %s + %d <= %s; %s += %d)", v, start, v, lanes, end, v, lanes)
			check()
			body(s)
			n.Close()
		}
		if s.part = size % lanes; s.part > 0 {
			n.Open("for (long %s = %d; %s < %s; %s += %d)", v, size-s.part, v, end, v, lanes)
			body(s)
			n.Close()
		}
	}
	for i := first; i < last; i++ {
		n.Close()
	}
}

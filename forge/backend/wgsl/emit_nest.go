package wgsl

import (
	"fmt"
	"math"
	"slices"

	"forgekernel/forge/loop"
)

// Sizes of nests.
const (
	// elementGroup is the invocations of a workgroup that computes elements.
	elementGroup = 256
	// shortLine is the elements up to which an invocation does a line by itself.
	shortLine = 8
	// rowGroup is the invocations of a workgroup for a line, and longGroup that for one of more
	// elements than longLine.
	rowGroup  = 64
	longLine  = 512
	longGroup = 256
)

// nestEmitter writes a nest. Where elements do not depend on one another an invocation
// takes one; else an invocation or a workgroup takes an outer point.
type nestEmitter struct {
	*emitter
	nest *loop.Nest
	size int // invocations for each outer point
	// written are the places that invocations have stored to since the last barrier.
	written []stored
}

// stored is where a stage has stored, by invocations that share the line or by the first.
type stored struct {
	access *loop.Access
	once   bool
}

// nest writes a kernel of stages.
func (e *emitter) nest() (geometry, error) {
	n := &nestEmitter{emitter: e, nest: e.kernel.Nest}
	for _, st := range n.nest.Stages {
		if err := supports(st.Expr, st.When); err != nil {
			return geometry{}, err
		}
		e.count(st.Expr)
		e.count(st.When)
		if st.Store != nil {
			for _, g := range st.Store.Gathers {
				e.count(g.Index)
			}
		}
	}
	dims := slices.Concat(n.nest.Outer, n.nest.Line)
	for i := range dims {
		e.vars = append(e.vars, fmt.Sprintf("i%d", i))
	}
	if points := product(dims); points > math.MaxInt32 {
		return geometry{}, fmt.Errorf("its loops have %d points; indices are of 32 bits", points)
	}
	if st := n.nest.Stages; len(st) == 1 && !st[0].Once && st[0].Reduce == loop.NoReduction && !st[0].Ordered {
		return n.elements(st[0], dims), nil
	}
	return n.lines(), nil
}

// elements writes an invocation for each element.
func (n *nestEmitter) elements(st loop.Stage, dims []int) geometry {
	count := product(dims)
	size := min(elementGroup, ceilPower(count))
	g := geometry{groups: ceil(count, size), workgroup: [3]int{size, 1, 1}, reason: fmt.Sprintf("an invocation for each of %d elements", count)}
	n.begin(g)
	n.Line("let at = %s * %du + lane;", group, size)
	if g.groups*size != count {
		n.Line("if (at >= %du) { return; }", count)
	}
	n.coordinates("at", n.vars, dims)
	n.stage(0, st)
	n.Close()
	return g
}

// visit evaluates a stage for one element.
func (n *nestEmitter) visit(st loop.Stage) string {
	value := n.eval(st.Expr)
	if st.Require {
		n.Open("if (!%s)", factor(value))
		n.fault()
		n.Close()
	}
	if st.Store != nil && st.Running == loop.NotRunning {
		value = n.name(value)
		n.write(st.Store, value, "")
	}
	return value
}

// lines writes an invocation or a workgroup for each outer point.
func (n *nestEmitter) lines() geometry {
	points := product(n.nest.Outer)
	g := n.spread(points, product(n.nest.Line))
	n.begin(g)
	at := group
	if n.size == 1 {
		at = "at"
		n.Line("let at = %s * %du + lane;", group, g.workgroup[0])
		if g.groups*g.workgroup[0] != points {
			n.Line("if (at >= %du) { return; }", points)
		}
	}
	n.coordinates(at, n.vars, n.nest.Outer)
	stages := n.nest.Stages
	for i := 0; i < len(stages); {
		if together := n.together(stages[i:]); together > 1 {
			n.sweepAll(stages[i : i+together])
			i += together
			continue
		}
		n.stage(i, stages[i])
		i++
	}
	n.Close()
	g.storage = n.bytes
	return g
}

// spread picks how many invocations share a line.
func (n *nestEmitter) spread(points, line int) geometry {
	why := ""
	switch {
	case n.inOrder():
		why = "the elements of a line come one after another"
	case line <= shortLine:
		why = fmt.Sprintf("lines of %d elements are short", line)
	case across(n.nest):
		why = "neighbouring lines are neighbours in memory"
	}
	if why != "" {
		n.size = 1
		size := min(rowGroup, ceilPower(points))
		return geometry{groups: ceil(points, size), workgroup: [3]int{size, 1, 1}, reason: fmt.Sprintf("an invocation for each of %d lines: %s", points, why)}
	}
	n.size = rowGroup
	if line > longLine {
		n.size = longGroup
	}
	return geometry{groups: points, workgroup: [3]int{n.size, 1, 1}, reason: fmt.Sprintf("a workgroup for each of %d lines of %d elements", points, line)}
}

// inOrder reports whether one invocation has to visit a line from its beginning.
func (n *nestEmitter) inOrder() bool {
	return slices.ContainsFunc(n.nest.Stages, func(st loop.Stage) bool { return st.Ordered || st.Running != loop.NotRunning })
}

// across reports whether neighbouring outer points, rather than those of a line, are
// neighbours in memory.
func across(n *loop.Nest) bool {
	outer, last := len(n.Outer), len(n.Outer)+len(n.Line)-1
	found := false
	if outer > 0 {
		n.Stages[0].Expr.Walk(func(x *loop.Expr) {
			found = found || x.Op == loop.Load && x.Access.Strides[last] > 1 && x.Access.Strides[outer-1] == 1
		})
	}
	return found
}

package wgsl

import (
	"fmt"
	"math"
	"slices"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// Sizes of nests.
const (
	// elementGroup is the invocations of a workgroup that computes elements.
	elementGroup = 256
	// shortLine is the elements up to which an invocation does a line by itself.
	shortLine = 8
	// longLine is the elements from which a line has the largest workgroup.
	longLine = 512
	// rowGroup is the invocations of a workgroup for a shorter line.
	rowGroup = 64
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
	n.line("let at = %s * %du + lane;", group, size)
	if g.groups*size != count {
		n.line("if (at >= %du) { return; }", count)
	}
	n.coordinates("at", n.vars, dims)
	n.stage(0, st)
	n.close()
	return g
}

// visit evaluates a stage for one element.
func (n *nestEmitter) visit(st loop.Stage) string {
	value := n.eval(st.Expr)
	if st.Require {
		n.open("if (!%s)", factor(value))
		n.fault()
		n.close()
	}
	if st.Store != nil && st.Running == loop.NotRunning {
		value = n.name(value)
		n.write(st.Store, value, "")
	}
	return value
}

// lines writes an invocation or a workgroup for each outer point.
func (n *nestEmitter) lines() geometry {
	points, line := product(n.nest.Outer), product(n.nest.Line)
	var g geometry
	switch {
	case n.inOrder() || line <= shortLine || across(n.nest):
		why := fmt.Sprintf("lines of %d elements are short", line)
		if n.inOrder() {
			why = "the elements of a line come one after another"
		} else if line > shortLine {
			why = "neighbouring lines are neighbours in memory"
		}
		size := min(rowGroup, ceilPower(points))
		n.size = 1
		g = geometry{groups: ceil(points, size), workgroup: [3]int{size, 1, 1}, reason: fmt.Sprintf("an invocation for each of %d lines: %s", points, why)}
		n.begin(g)
		n.line("let at = %s * %du + lane;", group, size)
		if g.groups*size != points {
			n.line("if (at >= %du) { return; }", points)
		}
		n.coordinates("at", n.vars, n.nest.Outer)
	default:
		n.size = rowGroup
		if line > longLine {
			n.size = min(n.target.Limits.Invocations, 256)
		}
		g = geometry{groups: points, workgroup: [3]int{n.size, 1, 1}, reason: fmt.Sprintf("a workgroup for each of %d lines of %d elements", points, line)}
		n.begin(g)
		n.coordinates(group, n.vars, n.nest.Outer)
	}
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
	n.close()
	g.storage = n.bytes
	return g
}

// together is the number of stages that one sweep can visit side by side: none reads or
// stores where an earlier one of them stores.
func (n *nestEmitter) together(stages []loop.Stage) int {
	stored := make(map[int]bool)
	for i, st := range stages {
		meets := st.Once || st.Reduce != loop.NoReduction || st.Ordered || st.Require || st.When != nil || st.Store == nil
		st.Expr.Walk(func(x *loop.Expr) { meets = meets || x.Op == loop.Load && stored[x.Access.Param] })
		if meets || i > 0 && st.Store.Param == stages[0].Store.Param && same(st.Store, stages[0].Store) {
			return i
		}
		stored[st.Store.Param] = true
	}
	return len(stages)
}

// sweepAll visits an element by all of some stages, which share what they compute.
func (n *nestEmitter) sweepAll(stages []loop.Stage) {
	n.forget()
	for _, st := range stages {
		n.await(st)
	}
	n.sweep(func() {
		for _, st := range stages {
			n.visit(st)
		}
	})
	for _, st := range stages {
		n.written = append(n.written, stored{st.Store, false})
	}
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

// stage writes one, on its condition.
func (n *nestEmitter) stage(i int, st loop.Stage) {
	n.forget()
	n.await(st)
	if st.When != nil {
		n.open("if (%s)", n.eval(st.When))
		defer n.leave()
	}
	switch {
	case st.Reduce != loop.NoReduction:
		n.reduce(i, st)
	case st.Once:
		n.once(i, st)
	case n.size == 0:
		n.visit(st)
	default:
		n.sweep(func() { n.visit(st) })
	}
	if st.Store != nil {
		n.written = append(n.written, stored{st.Store, st.Once})
	}
}

// leave ends a block and forgets what was named in it.
func (n *nestEmitter) leave() {
	n.forget()
	n.close()
}

// await has the invocations of a workgroup wait before a stage that reads what others
// may have stored, or stores where they may have.
func (n *nestEmitter) await(st loop.Stage) {
	if n.size < 2 {
		return
	}
	meets := false
	touch := func(a *loop.Access) {
		for _, w := range n.written {
			meets = meets || a.Param == w.access.Param && !(w.once == st.Once && same(a, w.access))
		}
	}
	if st.Store != nil {
		touch(st.Store)
	}
	st.Expr.Walk(func(x *loop.Expr) {
		if x.Op == loop.Load {
			touch(x.Access)
		}
	})
	if meets {
		n.line("storageBarrier();")
		n.written = nil
	}
}

// same reports whether each invocation has its own element of two accesses, and the same one.
func same(a, b *loop.Access) bool {
	plain := len(a.Guards)+len(b.Guards)+len(a.Gathers)+len(b.Gathers) == 0
	return plain && a.Offset == b.Offset && slices.Equal(a.Strides, b.Strides)
}

// once evaluates a stage for the outer point, which the first invocation stores.
func (n *nestEmitter) once(i int, st loop.Stage) {
	for k := range n.nest.Line {
		n.vars[len(n.nest.Outer)+k] = "0"
	}
	store := st.Store
	st.Store = nil
	value := n.visit(st)
	n.line("let s%d = %s;", i, value)
	if store != nil {
		when := ""
		if n.size > 1 {
			when = "lane == 0u"
		}
		n.write(store, fmt.Sprintf("s%d", i), when)
	}
}

// sweep runs a body over the line, shared by the invocations of the workgroup.
func (n *nestEmitter) sweep(body func()) {
	first, line := len(n.nest.Outer), product(n.nest.Line)
	n.forget()
	if n.size > 1 {
		n.open("for (var at = lane; at < %du; at += %du)", line, n.size)
	} else {
		n.open("for (var e = 0u; e < %du; e++)", line)
	}
	for k := range n.nest.Line {
		n.vars[first+k] = fmt.Sprintf("i%d", first+k)
	}
	at := "e"
	if n.size > 1 {
		at = "at"
	}
	n.coordinates(at, n.vars[first:], n.nest.Line)
	body()
	n.leave()
}

// combine is the text that makes one value of two.
func (e *emitter) combine(r loop.Reduction, t tensor.DType, a, b string) string {
	operand := &loop.Expr{Op: loop.Acc, Type: t}
	return e.apply(&loop.Expr{Op: r.Combine(), Type: t, Args: []*loop.Expr{operand, operand}}, []string{a, b})
}

// reduce folds the line into s<i>: each invocation its part, then a tree over them.
func (n *nestEmitter) reduce(i int, st loop.Stage) {
	t, sum := st.Expr.Type, fmt.Sprintf("s%d", i)
	part := sum
	if n.size > 1 {
		part = fmt.Sprintf("part%d", i)
	}
	n.line("var %s = %s;", part, n.constant(st.Reduce.Start(t)))
	n.sweep(func() {
		value := n.visit(st)
		if st.Running == loop.Before {
			n.write(st.Store, part, "")
		}
		n.line("%s = %s;", part, n.combine(st.Reduce, t, part, value))
		if st.Running == loop.Through {
			n.write(st.Store, part, "")
		}
	})
	if n.size > 1 {
		n.tree(sum, part, st.Reduce, t, n.size)
	}
}

// tree folds the parts of a workgroup, in a fixed order, and gives all the result.
func (e *emitter) tree(sum, part string, r loop.Reduction, t tensor.DType, size int) {
	all := fmt.Sprintf("all_%v", t)
	e.share(all, values[t], size)
	e.line("workgroupBarrier();")
	e.line("%s[lane] = %s;", all, part)
	e.open("for (var step = %du; step > 0u; step /= 2u)", size/2)
	e.line("workgroupBarrier();")
	e.line("if (lane < step) { %s[lane] = %s; }", all, e.combine(r, t, all+"[lane]", all+"[lane + step]"))
	e.close()
	e.line("workgroupBarrier();")
	e.line("let %s = %s[0];", sum, all)
}

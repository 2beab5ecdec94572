package wgsl

import (
	"fmt"
	"slices"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

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

// stage writes one, on its condition.
func (n *nestEmitter) stage(i int, st loop.Stage) {
	n.forget()
	n.await(st)
	if st.When != nil {
		n.Open("if (%s)", n.eval(st.When))
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
	n.Close()
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
		n.Line("storageBarrier();")
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
	n.Line("let s%d = %s;", i, value)
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
		n.Open("for (var at = lane; at < %du; at += %du)", line, n.size)
	} else {
		n.Open("for (var e = 0u; e < %du; e++)", line)
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
	n.Line("var %s = %s;", part, n.constant(st.Reduce.Start(t)))
	n.sweep(func() {
		value := n.visit(st)
		if st.Running == loop.Before {
			n.write(st.Store, part, "")
		}
		n.Line("%s = %s;", part, n.combine(st.Reduce, t, part, value))
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
	e.Line("workgroupBarrier();")
	e.Line("%s[lane] = %s;", all, part)
	e.Open("for (var step = %du; step > 0u; step /= 2u)", size/2)
	e.Line("workgroupBarrier();")
	e.Line("if (lane < step) { %s[lane] = %s; }", all, e.combine(r, t, all+"[lane]", all+"[lane + step]"))
	e.Close()
	e.Line("workgroupBarrier();")
	e.Line("let %s = %s[0];", sum, all)
}

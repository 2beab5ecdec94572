package cuda

import (
	"fmt"
	"slices"

	"forgekernel/forge/backend/cpu/source"
	"forgekernel/forge/loop"
)

// blockThreads is the number of threads of a block.
const blockThreads = 256

// maxBlocks bounds a grid; blocks go on with other points when there are more.
const maxBlocks = 1 << 16

// shortLine and longLine are the elements up to which a thread, and a warp, does a line
// by itself.
const (
	shortLine = 8
	longLine  = 1024
)

// nestEmitter writes a nest. Where elements do not depend on one another a thread takes
// one at a time; else a group of threads, which is one thread, a warp or a block, takes
// an outer point at a time.
type nestEmitter struct {
	*emitter
	nest  *loop.Nest
	vars  []string
	group int
	sweep func(body func()) // runs a body over the line, shared by the threads of the group
}

func (e *emitter) nest(name string) launch {
	n := &nestEmitter{emitter: e, nest: e.kernel.Nest}
	n.sweep = n.stride
	for i := range n.nest.Outer {
		n.vars = append(n.vars, fmt.Sprintf("i%d", i))
	}
	for i := range n.nest.Line {
		n.vars = append(n.vars, fmt.Sprintf("j%d", i))
	}
	if n.small() {
		e.index = "i32"
	}
	if st := n.nest.Stages; len(st) == 1 && !st[0].Once && st[0].Reduce == loop.NoReduction && !st[0].Ordered && !st[0].Require {
		if v := n.vector(st[0]); v > 1 {
			return n.vectors(name, st[0], v)
		}
	}
	if r := n.rows(); r != nil {
		return r.emit(name)
	}
	e.begin(name, blockThreads)
	defer e.Close()
	if st := n.nest.Stages; len(st) == 1 && !st[0].Once && st[0].Reduce == loop.NoReduction && !st[0].Ordered {
		return n.elements(st[0])
	}
	return n.lines()
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

func blocksFor(points, each int) int { return max(1, min(maxBlocks, (points+each-1)/each)) }

// elements writes a thread for each element.
func (n *nestEmitter) elements(st loop.Stage) launch {
	dims := slices.Concat(n.nest.Outer, n.nest.Line)
	count := product(dims)
	n.points("u", "threadIdx.x", blockThreads, count)
	n.coordinates("u", n.vars, dims)
	if st.When != nil {
		n.Open("if (any(%s))", n.expr(n.vars, st.When))
		defer n.Close()
	}
	n.visit(st)
	n.Close()
	return flat(blocksFor(count, blockThreads), blockThreads)
}

// points opens the loop over count points, of which a block has so many at a time; own is
// that of a thread among them.
func (n *nestEmitter) points(u, own string, each, count int) {
	n.Open("for (%s %s = (%s)blockIdx.x * %d + %s; %s < %d; %s += (%s)gridDim.x * %d)", n.index, u, n.index, each, own, u, count, u, n.index, each)
}

// maxSmall bounds indices of 32 bits, with room for the step of a loop.
const maxSmall = 1 << 30

// small reports whether all indices of the nest have 32 bits.
func (n *nestEmitter) small() bool {
	dims := slices.Concat(n.nest.Outer, n.nest.Line)
	count := 1
	for _, d := range dims {
		if d > 0 && count > maxSmall/d {
			return false
		}
		count *= d
	}
	fits := func(offset int, steps []int) bool {
		most := max(offset, -offset)
		for i, s := range steps {
			if reach := max(s, -s); reach > 0 && dims[i] > 1 {
				if reach > maxSmall/dims[i] {
					return false
				}
				most += reach * (dims[i] - 1)
			}
		}
		return most <= maxSmall
	}
	all := true
	access := func(a *loop.Access) {
		all = all && fits(a.Offset, a.Strides)
		for _, g := range a.Guards {
			all = all && fits(g.Offset, g.Strides)
		}
	}
	n.each(func(x *loop.Expr) {
		switch x.Op {
		case loop.Load:
			access(x.Access)
		case loop.Index, loop.Inside:
			all = all && fits(x.Affine.Offset, x.Affine.Strides)
		}
	}, access)
	return all
}

// each visits all expressions of the nest, indices of gathers too, and where stages store.
func (n *nestEmitter) each(visit func(*loop.Expr), store func(*loop.Access)) {
	for _, st := range n.nest.Stages {
		st.Expr.Walk(visit)
		if st.When != nil {
			st.When.Walk(visit)
		}
		if st.Store != nil {
			store(st.Store)
			for _, g := range st.Store.Gathers {
				g.Index.Walk(visit)
			}
		}
	}
}

// visit evaluates a stage for one element.
func (n *nestEmitter) visit(st loop.Stage) string {
	value := n.expr(n.vars, st.Expr)
	if st.Require {
		n.Line("if (!any(%s)) FAULT;", value)
	}
	if st.Store != nil {
		n.write(n.vars, st.Store, value, "")
	}
	return value
}

// lines writes a group of threads for each outer point.
func (n *nestEmitter) lines() launch {
	points, line := product(n.nest.Outer), product(n.nest.Line)
	switch {
	case n.inOrder() || line <= shortLine || n.across():
		n.group = 1
	case line <= longLine:
		n.group = 32
	default:
		n.group = blockThreads
	}
	each := blockThreads / n.group
	n.Line("const int lane = threadIdx.x %% %d;", n.group)
	n.points("u", fmt.Sprintf("threadIdx.x / %d", n.group), each, points)
	n.coordinates("u", n.vars, n.nest.Outer)
	for i, st := range n.nest.Stages {
		if st.When != nil {
			n.Open("if (any(%s))", n.expr(n.vars, st.When))
		}
		n.stage(i, st)
		if st.When != nil {
			n.Close()
		}
	}
	n.Close()
	return flat(blocksFor(points, each), blockThreads)
}

// inOrder reports whether one thread has to visit a line from its beginning.
func (n *nestEmitter) inOrder() bool {
	return slices.ContainsFunc(n.nest.Stages, func(st loop.Stage) bool { return st.Ordered || st.Running != loop.NotRunning })
}

// across reports whether neighbouring outer points, rather than those of a line, are
// neighbours in memory.
func (n *nestEmitter) across() bool {
	outer := len(n.nest.Outer)
	if outer == 0 {
		return false
	}
	found := false
	n.nest.Stages[0].Expr.Walk(func(x *loop.Expr) {
		if x.Op == loop.Load {
			found = found || x.Access.Strides[len(n.vars)-1] > 1 && x.Access.Strides[outer-1] == 1
		}
	})
	return found
}

func (n *nestEmitter) stage(i int, st loop.Stage) {
	switch {
	case st.Reduce != loop.NoReduction:
		n.reduce(i, st)
	case st.Once:
		value := n.expr(n.vars, st.Expr)
		n.Line("%s s%d = %s;", forms[st.Expr.Type].value, i, value)
		if st.Require {
			n.Line("if (!any(s%d)) FAULT;", i)
		}
		if st.Store != nil {
			n.write(n.vars, st.Store, fmt.Sprintf("s%d", i), "lane == 0")
		}
	default:
		n.sweep(func() { n.visit(st) })
	}
	if n.group > 1 && n.held == nil { // what one thread stored or read, others may read or store next
		n.Line("sync_<%d>();", n.group)
	}
}

// stride is the sweep in which neighbours go to neighbouring threads.
func (n *nestEmitter) stride(body func()) {
	first := len(n.nest.Outer)
	n.Open("for (%s e = lane; e < %d; e += %d)", n.index, product(n.nest.Line), n.group)
	n.coordinates("e", n.vars[first:], n.nest.Line)
	body()
	n.Close()
}

// reduce folds the line into variable s<i>, first in each thread and then over the
// group.
func (n *nestEmitter) reduce(i int, st loop.Stage) {
	t := st.Expr.Type
	op := source.Function(&loop.Expr{Op: st.Reduce.Combine(), Args: []*loop.Expr{st.Expr}})
	n.Line("%s s%d = %s;", forms[t].value, i, constant(st.Reduce.Start(t)))
	n.sweep(func() {
		if st.Running == loop.NotRunning {
			n.Line("s%d = %s(s%d, %s);", i, op, i, n.visit(st))
			return
		}
		value, sum := n.expr(n.vars, st.Expr), fmt.Sprintf("s%d", i)
		if st.Running == loop.Before {
			n.write(n.vars, st.Store, sum, "")
		}
		n.Line("%s = %s(%s, %s);", sum, op, sum, value)
		if st.Running == loop.Through {
			n.write(n.vars, st.Store, sum, "")
		}
	})
	n.Line("s%d = fold_%s_%v<%d>(s%d);", i, st.Reduce, t, n.group, i)
}

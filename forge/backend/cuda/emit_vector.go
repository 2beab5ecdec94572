package cuda

import (
	"fmt"
	"slices"

	"forgekernel/forge/backend/planned"
	"forgekernel/forge/loop"
)

// vectorBytes is the widest access of a thread to memory.
const vectorBytes = 16

// maxVector is the most elements that a thread takes at once.
const maxVector = 8

// aligned reports whether a place begins where a thread can read vectorBytes at once.
// Buffers do.
func aligned(at planned.Place) bool { return at.Offset%vectorBytes == 0 }

// vector is how many neighbouring elements of the last dimension a thread can take at
// once: as many as the narrowest of their types fill vectorBytes with, when every access
// has them side by side or one for all of them, and begins at a multiple of as many. It is
// fewer where the device would else have too few threads, and 1 where it cannot.
func (n *nestEmitter) vector(st loop.Stage) int {
	dims := slices.Concat(n.nest.Outer, n.nest.Line)
	v := n.alike(dims, []loop.Stage{st})
	for v > 1 && product(dims)/v < n.target.sms*blockThreads/2 {
		v /= 2
	}
	return v
}

// alike is the number of neighbours in the last dimension that all accesses of some stages
// have side by side, or one for all.
func (n *nestEmitter) alike(dims []int, stages []loop.Stage) int {
	last := len(dims) - 1
	v, possible, side := maxVector, true, false
	access := func(a *loop.Access) {
		if a.Strides[last] == 0 {
			possible = possible && !a.Varies(last)
			return
		}
		side = true
		possible = possible && a.Strides[last] == 1 && n.aligned[a.Param]
		v = min(v, vectorBytes/n.kernel.Params[a.Param].DType().Size())
		for _, g := range a.Guards {
			possible = possible && g.Strides[last] == 0
		}
		for _, g := range a.Gathers {
			possible = possible && !g.Index.Varies(last)
		}
	}
	bounds := []int{dims[last]}
	multiples := func(a *loop.Access) {
		if a.Strides[last] != 1 {
			return
		}
		bounds = append(bounds, a.Offset)
		for i, s := range a.Strides[:last] {
			if dims[i] > 1 {
				bounds = append(bounds, s)
			}
		}
		for _, g := range a.Gathers {
			bounds = append(bounds, g.Step)
		}
	}
	m := &nestEmitter{emitter: n.emitter, nest: &loop.Nest{Outer: n.nest.Outer, Line: n.nest.Line, Stages: stages}}
	m.each(func(x *loop.Expr) {
		if x.Op == loop.Load {
			access(x.Access)
			multiples(x.Access)
		}
	}, func(a *loop.Access) { access(a); multiples(a) })
	if !possible || !side {
		return 1
	}
	for v > 1 && slices.ContainsFunc(bounds, func(b int) bool { return b%v != 0 }) {
		v /= 2
	}
	return v
}

// vectors writes a thread for each v neighbouring elements: it reads those of all
// accesses, computes one after another, and stores them together.
func (n *nestEmitter) vectors(name string, st loop.Stage, v int) launch {
	dims := slices.Concat(n.nest.Outer, n.nest.Line)
	last := len(dims) - 1
	threads := blockThreads
	count := product(dims) / v
	for threads > 64 && count/threads < n.target.sms {
		threads /= 2
	}
	n.begin(name, threads)
	defer n.Close()
	n.points("u", "threadIdx.x", threads, count)
	groups := slices.Clone(dims)
	groups[last] /= v
	vars := slices.Clone(n.vars)
	vars[last] = "first"
	n.coordinates("u", vars, groups)
	n.Line("first *= %d;", v)
	if st.When != nil {
		n.Open("if (any(%s))", n.expr(vars, st.When))
		defer n.Close()
	}
	n.held = make(map[*loop.Access]held)
	names := make(map[*loop.Expr]string)
	st.Expr.Walk(func(x *loop.Expr) {
		if x.Op == loop.Load && x.Access.Strides[last] == 1 {
			n.fetch(vars, x.Access, v, names)
		}
	})
	to, condition := n.locate(vars, st.Store, make(map[*loop.Expr]string))
	result := n.array(st.Store.Param, fmt.Sprint(v))
	n.held[st.Store] = held{at: result + " + l"}
	n.Line("_Pragma(\"unroll\")")
	n.Open("for (int l = 0; l < %d; l++)", v)
	n.Line("const %s %s = first + l;", n.index, n.vars[last])
	n.visit(st)
	n.Close()
	move := fmt.Sprintf("move_<%d>(%s, %s);", v*n.kernel.Params[st.Store.Param].DType().Size(), to, result)
	if condition != "" {
		move = fmt.Sprintf("if (%s) %s", condition, move)
	}
	n.Line("%s", move)
	n.Close()
	return flat(blocksFor(count, threads), threads)
}

// array declares room for elements of a parameter in registers, and gives its name.
func (e *emitter) array(param int, size string) string {
	name := e.Temp()
	e.Line("alignas(%d) %s %s[%s];", vectorBytes, forms[e.kernel.Params[param].DType()].elem, name, size)
	return name
}

// fetch reads v neighbours of an access into an array.
func (n *nestEmitter) fetch(vars []string, a *loop.Access, v int, names map[*loop.Expr]string) {
	if _, done := n.held[a]; done {
		return
	}
	at, condition := n.locate(vars, a, names)
	name := n.array(a.Param, fmt.Sprint(v))
	move := fmt.Sprintf("move_<%d>(%s, %s);", v*n.kernel.Params[a.Param].DType().Size(), name, at)
	h := held{at: name + " + l"}
	if condition != "" {
		h.condition = n.Temp()
		n.Line("const bool %s = %s;", h.condition, condition)
		move = fmt.Sprintf("if (%s) %s", h.condition, move)
	}
	n.Line("%s", move)
	n.held[a] = h
}

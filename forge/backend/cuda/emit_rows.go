package cuda

import (
	"fmt"
	"slices"

	"forgekernel/forge/loop"
)

// rowEmitter writes a nest whose lines are rows of neighbours in memory. A group of
// threads keeps a row in registers: each reads its parts at once, the stages visit them
// there, and what is stored goes to memory at the end.
type rowEmitter struct {
	*nestEmitter
	last   int // dimension of the line
	line   int
	vector int // elements side by side in a part
	group  int // threads
	parts  int // of each thread
	arrays []rowArray
}

// rowArray is what accesses to the same elements of a parameter share.
type rowArray struct {
	access   *loop.Access
	name     string
	read     bool // it is read before a stage stores it
	storedBy int  // the last stage that stores it; -1 for none
}

// Limits of what a thread keeps, in registers of 4 bytes, and of the threads of a row.
const (
	rowRegisters = 64
	maxGroup     = 1024
)

// rows is the emitter for nests of that kind, else nil.
func (n *nestEmitter) rows() *rowEmitter {
	dims := slices.Concat(n.nest.Outer, n.nest.Line)
	r := &rowEmitter{nestEmitter: n, last: len(dims) - 1, line: n.nest.Line[len(n.nest.Line)-1]}
	if product(n.nest.Line) != r.line || r.line <= shortLine || !n.plain() {
		return nil
	}
	if r.vector = n.alike(dims, n.nest.Stages); r.vector == 1 {
		return nil
	}
	r.share()
	width := 0
	for _, a := range r.arrays {
		width += (n.kernel.Params[a.access.Param].DType().Size() + 3) / 4
	}
	points, vectors := product(n.nest.Outer), r.line/r.vector
	for r.group = 32; r.group < maxGroup; r.group *= 2 {
		r.parts = ceil(vectors, r.group)
		crowded := points*r.group < 2*r.blockOf()*n.target.sms || r.parts > 4
		if r.parts == 1 || width*r.parts*r.vector <= rowRegisters && !crowded {
			break
		}
	}
	r.parts = ceil(vectors, r.group)
	if width*r.parts*r.vector > rowRegisters {
		return nil
	}
	return r
}

// blockOf is the threads of a block: some rows of a warp, or one of more.
func (r *rowEmitter) blockOf() int {
	if r.group > 32 {
		return r.group
	}
	return 128
}

// plain reports whether stages fold and store rows without conditions, guards and indices
// that are read, and at least one folds.
func (n *nestEmitter) plain() bool {
	folds, plain := false, true
	for _, st := range n.nest.Stages {
		folds = folds || st.Reduce != loop.NoReduction
		plain = plain && !st.Require && !st.Ordered && st.Running == loop.NotRunning && st.When == nil
	}
	access := func(a *loop.Access) { plain = plain && len(a.Guards) == 0 && len(a.Gathers) == 0 }
	n.each(func(x *loop.Expr) {
		if x.Op == loop.Load {
			access(x.Access)
		}
	}, access)
	return folds && plain
}

// share finds the arrays, and which of them are read first.
func (r *rowEmitter) share() {
	find := func(a *loop.Access) *rowArray {
		i := slices.IndexFunc(r.arrays, func(b rowArray) bool { return same(a, b.access) })
		if i < 0 {
			i = len(r.arrays)
			r.arrays = append(r.arrays, rowArray{access: a, storedBy: -1})
		}
		return &r.arrays[i]
	}
	for i, st := range r.nest.Stages {
		st.Expr.Walk(func(x *loop.Expr) {
			if x.Op == loop.Load && x.Access.Strides[r.last] == 1 {
				a := find(x.Access)
				a.read = a.read || a.storedBy < 0
			}
		})
		if st.Store != nil && st.Store.Strides[r.last] == 1 {
			find(st.Store).storedBy = i
		}
	}
}

// same reports whether two accesses without guards are of the same elements.
func same(a, b *loop.Access) bool {
	return a.Param == b.Param && a.Offset == b.Offset && slices.Equal(a.Strides, b.Strides)
}

// emit writes the kernel.
func (r *rowEmitter) emit(name string) launch {
	n := r.nestEmitter
	threads := r.blockOf()
	each, points := threads/r.group, product(n.nest.Outer)
	n.group = r.group
	n.begin(name, threads)
	defer n.Close()
	n.emitter.Line("const int lane = threadIdx.x %% %d;", r.group)
	n.points("u", fmt.Sprintf("threadIdx.x / %d", r.group), each, points)
	n.coordinates("u", n.vars, n.nest.Outer)
	for i := range n.nest.Line {
		if i < len(n.nest.Line)-1 {
			n.emitter.Line("%s %s = 0;", n.index, n.vars[len(n.nest.Outer)+i])
		}
	}
	n.held = make(map[*loop.Access]held)
	for i := range r.arrays {
		a := &r.arrays[i]
		a.name = n.array(a.access.Param, fmt.Sprintf("%d][%d", r.parts, r.vector))
		if a.read {
			r.move(a, true)
		}
	}
	r.hold()
	for i, st := range n.nest.Stages {
		r.stage(i, st)
		for k := range r.arrays {
			if r.arrays[k].storedBy == i {
				r.move(&r.arrays[k], false)
			}
		}
	}
	n.Close()
	return flat(blocksFor(points, each), threads)
}

// hold names the elements of all accesses to arrays.
func (r *rowEmitter) hold() {
	put := func(a *loop.Access) {
		if a.Strides[r.last] != 1 {
			return
		}
		for _, b := range r.arrays {
			if same(a, b.access) {
				r.held[a] = held{at: b.name + "[part] + l"}
			}
		}
	}
	r.each(func(x *loop.Expr) {
		if x.Op == loop.Load {
			put(x.Access)
		}
	}, put)
}

// overParts opens the loop over the parts of a thread; first is where one begins.
func (r *rowEmitter) overParts() {
	n := r.nestEmitter
	n.emitter.Line("_Pragma(\"unroll\")")
	n.Open("for (int part = 0; part < %d; part++)", r.parts)
	n.emitter.Line("const int first = (part * %d + lane) * %d;", r.group, r.vector)
	if r.line%(r.group*r.vector) != 0 {
		n.emitter.Line("if (first >= %d) break;", r.line)
	}
}

// move copies an array from memory or to it.
func (r *rowEmitter) move(a *rowArray, in bool) {
	n := r.nestEmitter
	r.overParts()
	vars := slices.Clone(n.vars)
	vars[r.last] = "first"
	at, _ := n.locate(vars, a.access, nil)
	to, from := at, a.name+"[part]"
	if in {
		to, from = from, to
	}
	n.emitter.Line("move_<%d>(%s, %s);", r.vector*n.kernel.Params[a.access.Param].DType().Size(), to, from)
	n.Close()
}

// stage writes one over the parts of a thread.
func (r *rowEmitter) stage(i int, st loop.Stage) {
	n := r.nestEmitter
	n.sweep = func(body func()) {
		r.overParts()
		n.emitter.Line("_Pragma(\"unroll\")")
		n.Open("for (int l = 0; l < %d; l++)", r.vector)
		n.emitter.Line("const %s %s = first + l;", n.index, n.vars[r.last])
		body()
		n.Close()
		n.Close()
	}
	n.stage(i, st)
}

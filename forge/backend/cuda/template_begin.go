package cuda

import (
	"fmt"
	"slices"

	"forgekernel/forge/backend/code"
	"forgekernel/forge/backend/cuda/gemm"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// beginning is a node whose result only a product of a row reads, as its first operand: a
// norm, or a gate. Each block of the product's kernel computes what it needs of it, which
// takes less time than one more kernel between two that wait for one another.
type beginning struct {
	node   *ir.Node
	kernel *loop.Kernel // its parameters are numbered from those of the product on
	first  int          // its first parameter
}

// beginning finds that of the product k; nil where there is none.
func (p *program) beginning(k *loop.Kernel) *beginning {
	c := k.Contraction
	v := k.Params[c.A.Param].Value
	if c.M != 1 || product(c.Batch) != 1 || v == nil || v.Spec.DType != tensor.F32 || c.A.Offset != 0 || c.A.Strides[len(c.Batch)+1] != 1 {
		return nil
	}
	for p.uses[v] == 1 && p.IsView(v) {
		v = v.Def.In[0]
	}
	m := v.Def
	if m == nil || p.uses[v] != 1 || len(m.Out) != 1 || p.IsView(v) || v.Spec.Elements() != c.K || !p.alone(m) {
		return nil
	}
	kernels, err := loop.LowerWide(m, p.Strides)
	if err != nil || len(kernels) != 1 || kernels[0].Nest == nil || kernels[0].CanFault() {
		return nil
	}
	b := &beginning{node: m, first: len(k.Params), kernel: shifted(kernels[0], len(k.Params))}
	if !b.fits(c.K) {
		return nil
	}
	return b
}

// alone reports whether a node has one kernel, a loop nest, that computes nothing else.
func (p *program) alone(m *ir.Node) bool {
	if p.Idle(m) != "" || p.covered[m] != nil || p.appends[m] != nil || p.gates[m] != nil {
		return false
	}
	steps := 0
	for _, s := range p.steps {
		if s.node == m {
			steps++
			if s.call != nil || s.machine != nil {
				return false
			}
		}
	}
	return steps == 1
}

// shifted is a kernel whose accesses are to later parameters.
func shifted(k *loop.Kernel, by int) *loop.Kernel {
	moved := func(a *loop.Access) *loop.Access {
		b := *a
		b.Param += by
		return &b
	}
	s := *k
	nest := *k.Nest
	s.Nest, s.Params = &nest, append(make([]loop.Param, by), k.Params...)
	nest.Stages = slices.Clone(nest.Stages)
	for i := range nest.Stages {
		st := &nest.Stages[i]
		st.Expr = st.Expr.WithAccesses(moved)
		if st.Store != nil {
			st.Store = moved(st.Store)
		}
	}
	return &s
}

// fits reports whether the nest folds a row of so many elements, or visits them, and stores
// them side by side, without conditions.
func (b *beginning) fits(count int) bool {
	nest := b.kernel.Nest
	dims := slices.Concat(nest.Outer, nest.Line)
	stages, plain := nest.Stages, true
	access := func(a *loop.Access) { plain = plain && len(a.Guards) == 0 && len(a.Gathers) == 0 }
	for i, st := range stages {
		last := i == len(stages)-1
		plain = plain && !st.Require && !st.Ordered && st.Running == loop.NotRunning && st.When == nil && last == (st.Store != nil) && st.Expr != nil
		if plain {
			st.Expr.Walk(func(x *loop.Expr) {
				if x.Op == loop.Load {
					access(x.Access)
				}
			})
		}
	}
	last := stages[len(stages)-1]
	if !plain || last.Once || last.Reduce != loop.NoReduction || last.Expr.Type != tensor.F32 {
		return false
	}
	access(last.Store)
	side := tensor.Strides(dims)
	for i, d := range dims {
		plain = plain && (d == 1 || last.Store.Strides[i] == side[i])
	}
	folds := len(stages) > 1
	return plain && last.Store.Offset == 0 && product(dims) == count && (!folds || product(nest.Outer) == 1)
}

// begins is how a kernel of the product makes the elements, and the places of what it
// reads.
func (p *program) begins(b *beginning) (gemm.Begin, []planned.Place) {
	var begin gemm.Begin
	var places []planned.Place
	for i, q := range b.kernel.Params[b.first:] {
		if !q.Written {
			begin.Params = append(begin.Params, fmt.Sprintf("const %s *p%d", forms[q.DType()].elem, b.first+i))
			places = append(places, p.Place(q.Value))
			dims := slices.Concat(b.kernel.Nest.Outer, b.kernel.Nest.Line)
			if p.still(p.Place(q.Value)) && q.Value.Spec.Elements() == product(dims) {
				begin.Ahead += fmt.Sprintf("    for (int k = k0 + (int)threadIdx.x * %[1]d; k < k1; k += threads * %[1]d) asm volatile(\"prefetch.global.L2 [%%0];\" ::\"l\"(p%[2]d + k));\n", 128/q.DType().Size(), b.first+i)
			}
		}
	}
	begin.Body = func(threads int) string { return b.text(threads, p.unit.target) }
	return begin, places
}

// text is the body of the function that fills a slice of k; see [gemm.Begin].
func (b *beginning) text(threads int, t target) string {
	e := &emitter{kernel: b.kernel, Writer: code.Writer{Depth: 2}, target: t, index: "i64"}
	nest := b.kernel.Nest
	n := &nestEmitter{emitter: e, nest: nest, group: threads}
	for i := range nest.Outer {
		n.vars = append(n.vars, fmt.Sprintf("i%d", i))
	}
	for i := range nest.Line {
		n.vars = append(n.vars, fmt.Sprintf("j%d", i))
	}
	if n.small() {
		e.index = "i32"
	}
	outer, last := len(nest.Outer), len(nest.Stages)-1
	n.sweep = func(body func()) {
		n.Line("_Pragma(\"unroll 16\")")
		n.stride(body)
	}
	const parts = "(slice + threads - 1) / threads"
	eachPart := func(body func()) {
		n.Line("_Pragma(\"unroll\")")
		n.Open("for (int i = 0; i < %s; i++)", parts)
		n.Line("const %s k = k0 + i * threads + lane;", e.index)
		body()
		n.Close()
	}
	coordinates := func() {
		if last > 0 {
			n.coordinates("k", n.vars[outer:], nest.Line)
		} else {
			n.coordinates("k", n.vars, slices.Concat(nest.Outer, nest.Line))
		}
	}
	n.Line("const int lane = threadIdx.x;")
	if last > 0 {
		n.coordinates("0", n.vars[:outer], nest.Outer)
	}
	// All that the last stage reads is asked for at once, before what it waits for.
	reads := make(map[*loop.Access]held)
	final := nest.Stages[last].Expr
	final.Walk(func(x *loop.Expr) {
		if _, known := reads[x.Access]; x.Op != loop.Load || known {
			return
		}
		name := n.array(x.Access.Param, parts)
		eachPart(func() {
			coordinates()
			at, _ := n.locate(n.vars, x.Access, nil)
			n.Line("if (k < k1) %s[i] = *(%s);", name, at)
		})
		reads[x.Access] = held{at: name + " + i"}
	})
	for i, st := range nest.Stages[:last] {
		n.stage(i, st)
	}
	n.Line("float made[%s];", parts)
	n.held = reads
	eachPart(func() {
		coordinates()
		n.Line("made[i] = lane0_f32(%s);", n.expr(n.vars, final))
		n.Line("if (k >= k1) made[i] = 0;")
	})
	eachPart(func() { n.Line("if (i * threads + lane < slice) to[k - k0] = made[i];") })
	return e.String()
}

// writes are the results of a node, and of those that its kernel computes, too.
func (p *program) writes(m *ir.Node) []*ir.Value {
	list := slices.Clone(m.Out)
	for n, by := range p.covered {
		if by == m {
			list = append(list, n.Out...)
		}
	}
	return list
}

// clear reports whether what a beginning reads still stands where it did when the product
// n runs, which writes to out; where the product alone writes over it, out can have memory
// of its own, which moves says.
func (p *program) clear(b *beginning, n *ir.Node, out *ir.Value) (ok, moves bool) {
	type span struct {
		buffer   int
		from, to int64
	}
	of := func(v *ir.Value) span {
		at := p.Place(p.owner(v))
		return span{at.Buffer, at.Offset, at.Offset + p.owner(v).Spec.Bytes()}
	}
	var read []span
	for _, v := range b.node.In {
		read = append(read, of(v))
	}
	over := func(v *ir.Value) bool {
		w := of(v)
		return slices.ContainsFunc(read, func(r span) bool { return r.buffer == w.buffer && r.from < w.to && w.from < r.to })
	}
	nodes := p.Graph.Nodes
	for _, m := range nodes[slices.Index(nodes, b.node)+1 : slices.Index(nodes, n)] {
		for _, v := range p.writes(m) {
			if p.Idle(m) == "" && over(v) {
				return false, false
			}
		}
	}
	if !over(out) {
		return true, false
	}
	place := p.Place(out)
	own := place.Buffer >= 0 && p.Buffers[place.Buffer].Slot >= 0 && !p.IsView(out) && !p.Graph.IsOutput(out)
	return own, own
}

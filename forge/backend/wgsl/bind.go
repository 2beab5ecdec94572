package wgsl

import (
	"fmt"
	"slices"

	"forgekernel/forge/loop"
)

// binding is an array of a module with the part of a buffer behind it.
type binding struct {
	Binding
	array string
	elem  string // its type
}

// span is a range of elements.
type span struct{ first, end int }

// touched is the range of a walk over dims that begins at start.
func touched(a *loop.Access, dims []int, start int) span {
	low, high := start+a.Offset, start+a.Offset
	reach := func(steps, dims []int) {
		for i, s := range steps {
			far := s * max(0, dims[i]-1)
			low, high = low+min(0, far), high+max(0, far)
		}
	}
	reach(a.Strides, dims)
	for _, g := range a.Gathers {
		reach([]int{g.Step}, []int{g.Size})
	}
	return span{low, high + 1}
}

// walk is an access with the dimensions of the loops around it.
type walk struct {
	*loop.Access
	dims []int
}

// walks are the accesses of a kernel.
func walks(k *loop.Kernel) []walk {
	var list []walk
	add := func(a *loop.Access, dims ...int) {
		if a != nil {
			list = append(list, walk{a, dims})
		}
	}
	expr := func(x *loop.Expr, dims ...int) {
		if x != nil {
			x.Walk(func(y *loop.Expr) {
				if y.Op == loop.Load {
					add(y.Access, dims...)
				}
			})
		}
	}
	switch {
	case k.Nest != nil:
		dims := slices.Concat(k.Nest.Outer, k.Nest.Line)
		for _, st := range k.Nest.Stages {
			expr(st.Expr, dims...)
			expr(st.When, dims...)
			if st.Store != nil {
				add(st.Store, dims...)
				for _, g := range st.Store.Gathers {
					expr(g.Index, dims...)
				}
			}
		}
	case k.Contraction != nil:
		c := k.Contraction
		over := func(more ...int) []int { return append(slices.Clone(c.Batch), more...) }
		add(&c.A, over(c.M, c.K)...)
		add(&c.B, over(c.K, c.N)...)
		for _, a := range []*loop.Access{&c.Out, c.Bias} {
			add(a, over(c.M, c.N)...)
		}
		expr(c.Epilogue, over(c.M, c.N)...)
	case k.Convolution != nil:
		c := k.Convolution
		result := []int{c.Images, c.Groups * c.Outputs, c.V.Out, c.H.Out}
		add(&c.X, c.Images, c.Groups*c.Inputs, c.V.In, c.H.In)
		add(&c.W, c.Groups*c.Outputs, c.Inputs, c.V.Taps, c.H.Taps)
		for _, a := range []*loop.Access{&c.Out, c.Bias} {
			add(a, result...)
		}
		expr(c.Epilogue, result...)
	case k.Attention != nil:
		a := k.Attention
		batches, rows := a.Batches, a.Keys
		if c := a.Cache; c != nil {
			add(&c.Pos, a.Batches)
			add(c.Length, a.Batches)
			if c.Table != nil {
				add(c.Table, a.Batches, a.Keys/c.Block)
				batches, rows = c.Blocks, c.Block
			}
		}
		add(&a.Q, a.Batches, a.Heads, a.Queries, a.D)
		add(&a.K, batches, a.Groups, rows, a.D)
		add(&a.V, batches, a.Groups, rows, a.E)
		add(&a.Out, a.Batches, a.Heads, a.Queries, a.E)
		add(a.Mask, a.Batches, a.Heads, a.Queries, a.Keys)
	}
	return list
}

// spans are the elements of buffers that a kernel touches, by parameter.
func spans(k *loop.Kernel, places []place) []span {
	list := make([]span, len(places))
	for _, w := range walks(k) {
		at := places[w.Param]
		s := touched(w.Access, w.dims, at.start)
		s = span{max(s.first, at.first), min(s.end, at.end)}
		if s.first >= s.end { // only guards keep it from what is not there
			continue
		}
		if all := list[w.Param]; all.end > 0 {
			s = span{min(all.first, s.first), max(all.end, s.end)}
		}
		list[w.Param] = s
	}
	for i, s := range list {
		if s.end == 0 {
			list[i] = span{places[i].first, places[i].first + 1}
		}
	}
	return list
}

// fours are the types of four neighbours in memory.
var fours = map[Elem]string{ElemF32: "vec4f", ElemHalves: "vec2u", ElemBHalves: "vec2u"}

// arrayKey says which array of a module a parameter is in: that of its buffer, or of the
// buffer in vectors.
type arrayKey struct {
	buffer int
	vector bool
}

// bind makes one array of the parameters in each buffer, and tells the emitter where they
// stand in it. Matrices that are read four elements at a time have an array of vectors.
func (p *Program) bind(e *emitter, places []place) ([]binding, error) {
	keys := e.arrays(places)
	index := make(map[arrayKey]int)
	var list []binding
	for i, s := range spans(e.kernel, places) {
		key, used := keys[i]
		if !used { // by another kernel of the node
			continue
		}
		at := places[i]
		first, end := int64(s.first*at.elem.Size()), int64(s.end*at.elem.Size())
		k, known := index[key]
		if !known {
			k = len(list)
			index[key] = k
			elem := arrays[at.elem]
			if key.vector {
				elem = fours[at.elem]
			}
			list = append(list, binding{Binding{Buffer: at.buffer, Offset: first, Size: end}, fmt.Sprintf("p%d", i), fmt.Sprintf("array<%s>", elem)})
		}
		b := &list[k]
		b.Offset, b.Size = min(b.Offset, first), max(b.Size, end) // its end, for now
		b.Write = b.Write || e.writes(places, at.buffer)
	}
	for k := range list {
		if err := p.window(&list[k]); err != nil {
			return nil, err
		}
	}
	e.operands = make([]operand, len(places))
	for i, key := range keys {
		at, b := places[i], list[index[key]]
		base := at.start - int(b.Offset)/at.elem.Size()
		e.operands[i] = operand{array: b.array, base: base, elem: at.elem, dtype: e.kernel.Params[i].DType(), vector: key.vector}
	}
	return list, nil
}

// arrays says which array each parameter that the kernel uses is in.
func (e *emitter) arrays(places []place) map[int]arrayKey {
	keys := make(map[int]arrayKey)
	for _, w := range walks(e.kernel) {
		at := places[w.Param]
		vector := fours[at.elem] != "" && at.start%4 == 0 && !e.writes(places, at.buffer) && asVectors(e.kernel, w.Param)
		keys[w.Param] = arrayKey{at.buffer, vector}
	}
	return keys
}

// writes reports whether the kernel writes into a buffer.
func (e *emitter) writes(places []place, buffer int) bool {
	for i, q := range e.kernel.Params {
		if q.Written && places[i].buffer == buffer {
			return true
		}
	}
	return false
}

// window makes an offset and a size of what a binding has to show, which are its first
// byte and its end.
func (p *Program) window(b *binding) error {
	all := &p.Plan.Buffers[b.Buffer]
	b.Offset -= b.Offset % p.target.Limits.OffsetAlignment
	b.Size = min((b.Size+15)/16*16, all.Bytes) - b.Offset
	if most := p.target.Limits.BindingBytes; b.Size > most {
		return fmt.Errorf("it touches %d bytes of %s; maxStorageBufferBindingSize is %d", b.Size, all.Name, most)
	}
	return nil
}

// asVectors reports whether a parameter is a matrix of a contraction, and nothing else,
// whose rows can be read four elements at a time.
func asVectors(k *loop.Kernel, param int) bool {
	c := k.Contraction
	if c == nil {
		return false
	}
	uses := 0
	for _, w := range walks(k) {
		if w.Param == param {
			uses++
		}
	}
	return uses == 1 && (c.A.Param == param && vectors(&c.A, c.K) || c.B.Param == param && vectors(&c.B, c.N))
}

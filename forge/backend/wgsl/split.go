package wgsl

import (
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
)

// widest is the most bytes of one buffer that a kernel touches.
func (p *Program) widest(k *loop.Kernel, places []place) int64 {
	type reach struct{ first, end int64 }
	all := make(map[int]reach)
	for i, s := range spans(k, places) {
		size := int64(places[i].elem.Size())
		r := reach{int64(s.first) * size, int64(s.end) * size}
		if o, known := all[places[i].buffer]; known {
			r = reach{min(r.first, o.first), max(r.end, o.end)}
		}
		all[places[i].buffer] = r
	}
	most := int64(0)
	for _, r := range all {
		most = max(most, r.end-r.first)
	}
	return most
}

// split emits a kernel in two halves, along the dimension that makes them touch least,
// and says whether there is one.
func (p *Program) split(n *ir.Node, k *loop.Kernel, places []place) (bool, error) {
	least, halves := p.widest(k, places), []*loop.Kernel(nil)
	for dim, size := range dividable(k) {
		if size < 2 {
			continue
		}
		pair := []*loop.Kernel{slice(k, dim, 0, size/2), slice(k, dim, size/2, size)}
		if most := max(p.widest(pair[0], places), p.widest(pair[1], places)); most < least {
			least, halves = most, pair
		}
	}
	for _, k := range halves {
		if err := p.emit(n, k, places); err != nil {
			return true, err
		}
	}
	return halves != nil, nil
}

// dividable are the sizes of the leading dimensions of a kernel whose points are
// independent of one another.
func dividable(k *loop.Kernel) []int {
	switch {
	case k.Nest != nil:
		dims := slices.Clone(k.Nest.Outer)
		if st := k.Nest.Stages; len(st) == 1 && !st[0].Once && st[0].Reduce == loop.NoReduction && !st[0].Ordered {
			dims = append(dims, k.Nest.Line...)
		}
		return dims
	case k.Contraction != nil:
		return append(slices.Clone(k.Contraction.Batch), k.Contraction.M)
	case k.Convolution != nil:
		return []int{k.Convolution.Images}
	}
	return []int{k.Attention.Batches}
}

// slice is the part of a kernel from one point of a dimension to another.
func slice(k *loop.Kernel, dim, low, high int) *loop.Kernel {
	s := &slicer{dim: dim, by: low, done: make(map[*loop.Expr]*loop.Expr)}
	part := *k
	switch {
	case k.Nest != nil:
		nest := *k.Nest
		nest.Outer, nest.Line = slices.Clone(nest.Outer), slices.Clone(nest.Line)
		if dim < len(nest.Outer) {
			nest.Outer[dim] = high - low
		} else {
			nest.Line[dim-len(nest.Outer)] = high - low
		}
		nest.Stages = slices.Clone(nest.Stages)
		for i := range nest.Stages {
			st := &nest.Stages[i]
			st.Expr, st.When, st.Store = s.expr(st.Expr), s.expr(st.When), s.access(st.Store)
		}
		part.Nest = &nest
	case k.Contraction != nil:
		c := *k.Contraction
		c.Batch = slices.Clone(c.Batch)
		c.A = *s.access(&c.A)
		if dim < len(c.Batch) {
			c.Batch[dim] = high - low
			c.B = *s.access(&c.B)
		} else {
			c.M = high - low
		}
		c.Out, c.Bias, c.Epilogue = *s.access(&c.Out), s.access(c.Bias), s.expr(c.Epilogue)
		part.Contraction = &c
	case k.Convolution != nil:
		c := *k.Convolution
		c.Images = high - low
		c.X, c.Out, c.Bias, c.Epilogue = *s.access(&c.X), *s.access(&c.Out), s.access(c.Bias), s.expr(c.Epilogue)
		part.Convolution = &c
	default:
		a := *k.Attention
		a.Batches = high - low
		a.Q, a.Out, a.Mask = *s.access(&a.Q), *s.access(&a.Out), s.access(a.Mask)
		if c := a.Cache; c != nil {
			a.Cache = &loop.Cache{Pos: *s.access(&c.Pos), Length: s.access(c.Length), Table: s.access(c.Table), Block: c.Block, Blocks: c.Blocks}
		}
		if a.Cache == nil || a.Cache.Table == nil {
			a.K, a.V = *s.access(&a.K), *s.access(&a.V)
		}
		part.Attention = &a
	}
	return &part
}

// slicer moves the beginning of a dimension.
type slicer struct {
	dim, by int
	done    map[*loop.Expr]*loop.Expr
}

func (s *slicer) affine(a loop.Affine) loop.Affine {
	a.Offset += s.by * a.Strides[s.dim]
	return a
}

func (s *slicer) access(a *loop.Access) *loop.Access {
	if a == nil {
		return nil
	}
	moved := *a
	moved.Offset += s.by * a.Strides[s.dim]
	moved.Guards, moved.Gathers = slices.Clone(a.Guards), slices.Clone(a.Gathers)
	for i := range moved.Guards {
		moved.Guards[i].Affine = s.affine(moved.Guards[i].Affine)
	}
	for i := range moved.Gathers {
		moved.Gathers[i].Index = s.expr(moved.Gathers[i].Index)
	}
	return &moved
}

func (s *slicer) expr(x *loop.Expr) *loop.Expr {
	if x == nil {
		return nil
	}
	if s.done[x] == nil {
		moved := *x
		moved.Args = make([]*loop.Expr, len(x.Args))
		for i, a := range x.Args {
			moved.Args[i] = s.expr(a)
		}
		switch x.Op {
		case loop.Load:
			moved.Access = s.access(x.Access)
		case loop.Index, loop.Inside:
			moved.Affine = s.affine(x.Affine)
		}
		s.done[x] = &moved
	}
	return s.done[x]
}

package fuzz

import (
	"context"
	"fmt"
	"math"
	"slices"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// values are tensors by the names of their values, which passes keep.
type values map[string]*tensor.Tensor

// valuesOf runs a program and keeps every value.
func valuesOf(ctx context.Context, g *ir.Graph, inputs []*tensor.Tensor) (values, error) {
	all := make(values)
	for i, v := range g.Inputs {
		all[v.Name] = inputs[i]
	}
	for _, n := range g.Nodes {
		if err := all.add(ctx, n, false); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// add evaluates a node on the values.
func (a values) add(ctx context.Context, n *ir.Node, wide bool) error {
	out, err := interp.Node(ctx, n, wide, a.of(n.In)...)
	for i, t := range out {
		a[n.Out[i].Name] = t
	}
	return err
}

func (a values) of(list []*ir.Value) []*tensor.Tensor {
	tensors := make([]*tensor.Tensor, len(list))
	for i, v := range list {
		tensors[i] = a[v.Name]
	}
	return tensors
}

// compareSites compares, on equal operands, the nodes that a pass changed. At
// the given sites its rules may round differently, everywhere else they keep
// all bits. It returns what is wrong.
func compareSites(ctx context.Context, t trial, before, after *ir.Graph, sites map[string]string) string {
	was, err := valuesOf(ctx, before, t.Inputs)
	if err != nil {
		return err.Error()
	}
	now := make(values)
	for name, x := range was {
		now[name] = x
	}
	made := nodesByName(before)
	for _, n := range after.Nodes {
		if old := made[n.Out[0].Name]; old != nil && sameNode(old, n) {
			continue
		}
		out, err := interp.Node(ctx, n, false, now.of(n.In)...)
		if err != nil {
			return err.Error()
		}
		for i, v := range n.Out {
			old := was[v.Name]
			if old == nil { // a new value: what reads it is compared
				now[v.Name] = out[i]
				continue
			}
			detail := ""
			if rule := sites[v.Name]; rule != "" {
				s := site{ctx, before, v, was, now, rule}
				detail = s.compare(out[i], old)
			} else {
				detail = compareBits(out[i], old)
			}
			if detail != "" {
				return fmt.Sprintf("%v = %s: %s", v, n.Op.Name, detail)
			}
		}
	}
	return ""
}

func nodesByName(g *ir.Graph) map[string]*ir.Node {
	made := make(map[string]*ir.Node)
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			made[v.Name] = n
		}
	}
	return made
}

// sameNode reports whether two nodes apply one operator to values of the same
// names.
func sameNode(a, b *ir.Node) bool {
	return a.Op == b.Op && a.Body == nil && b.Body == nil && a.Attrs.Equal(b.Attrs) &&
		slices.EqualFunc(a.In, b.In, func(v, w *ir.Value) bool { return v.Name == w.Name }) &&
		slices.EqualFunc(a.Out, b.Out, func(v, w *ir.Value) bool { return v.Name == w.Name })
}

// site is a value that a rule computes in another way.
type site struct {
	ctx    context.Context
	before *ir.Graph
	value  *ir.Value // after the rule
	was    values    // of the program before
	now    values    // and those that the pass added
	rule   string
}

// compare says what is wrong with the elements got, which were old.
func (s *site) compare(got, old *tensor.Tensor) string {
	exact, err := s.exact()
	if err != nil {
		return err.Error()
	}
	bound, ok := s.bound()
	if !ok {
		return fmt.Sprintf("there is no bound for the rule %s", s.rule)
	}
	for i := range old.Len() {
		if detail := outOfBound(got.Elem(i), old.Elem(i), exact.Elem(i), bound); detail != "" {
			return fmt.Sprintf("element %d is %v, was %v: %s", i, got.Elem(i), old.Elem(i), detail)
		}
	}
	return ""
}

// outOfBound says what is wrong with an element.
func outOfBound(got, was, exact, bound float64) string {
	switch {
	case math.IsNaN(got) != math.IsNaN(was):
		return "one is NaN, the other is not"
	case math.IsNaN(got):
		return ""
	case math.IsInf(got, 0) || math.IsInf(was, 0):
		if got != was {
			return "one is infinite, the other is not"
		}
		return ""
	}
	if d, d0 := math.Abs(got-exact), math.Abs(was-exact); d > d0+bound {
		return fmt.Sprintf("it is %g from the exact %v, where it was %g: more than %g further", d, exact, d0, bound)
	}
	return ""
}

// exact is the value as the program before computes it, in float64 from the
// operands that the new nodes read.
func (s *site) exact() (*tensor.Tensor, error) {
	leaves := make(map[string]bool)
	s.leaves(s.value, leaves)
	wide := make(values)
	var compute func(v *ir.Value) error
	compute = func(v *ir.Value) error {
		if wide[v.Name] != nil {
			return nil
		}
		if v.Def == nil || leaves[v.Name] {
			t := s.was[v.Name]
			if t.DType().IsFloat() {
				var err error
				if t, err = t.Convert(tensor.F64); err != nil {
					return err
				}
			}
			wide[v.Name] = t
			return nil
		}
		for _, u := range v.Def.In {
			if err := compute(u); err != nil {
				return err
			}
		}
		return wide.add(s.ctx, v.Def, true)
	}
	for v := range s.before.Values {
		if v.Name == s.value.Name {
			err := compute(v)
			return wide[v.Name], err
		}
	}
	return nil, fmt.Errorf("%v is not a value of the program before", s.value)
}

// leaves collects the old values that the new node of v, with the new nodes
// that it reads, takes as operands.
func (s *site) leaves(v *ir.Value, into map[string]bool) {
	for _, u := range v.Def.In {
		if s.was[u.Name] != nil {
			into[u.Name] = true
		} else {
			s.leaves(u, into)
		}
	}
}

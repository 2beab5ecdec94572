// Package rows proves that a program computes the rows of its inputs apart from one
// another, so that a program for more rows than are asked for gives the same results
// for those that are.
//
// The proof is about two programs: one model imported for two numbers of rows. It walks
// through both side by side and follows the dimension of rows from the inputs on. Every
// node must be the same in both but for that dimension, and must keep rows apart: a
// product may not sum over it, a normalisation not normalise along it, a constant not
// differ from row to row. What is not known to keep rows apart is taken to mix them.
package rows

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// axis says where rows stand in a value: row r is elements r*block to (r+1)*block-1 of
// a dimension. A value that is the same for all rows has no dimension, -1.
type axis struct{ dim, block int }

var none = axis{dim: -1}

// Apart proves that small and large, one model for n and for m rows, compute each row
// from the same row of the inputs, in the same way. inputs has the dimension of rows of
// each input, or -1 for one that has none. The result has those of the outputs. The error
// names the first node that stands in the way.
func Apart(small, large *ir.Graph, n, m int, inputs []int) (outputs []int, err error) {
	if n < 1 || m <= n || len(small.Inputs) != len(inputs) || len(large.Inputs) != len(inputs) || len(small.Nodes) != len(large.Nodes) || len(small.Outputs) != len(large.Outputs) {
		return nil, fmt.Errorf("the programs for %d and for %d rows differ", n, m)
	}
	p := &proof{n: n, m: m, of: make(map[*ir.Value]axis), twin: make(map[*ir.Value]*ir.Value)}
	for i, v := range small.Inputs {
		at := none
		if inputs[i] >= 0 {
			at = axis{inputs[i], 1}
		}
		if err := p.set(v, large.Inputs[i], at); err != nil {
			return nil, fmt.Errorf("input %v: %w", v, err)
		}
	}
	for i, a := range small.Nodes {
		if err := p.node(a, large.Nodes[i]); err != nil {
			return nil, fmt.Errorf("%v = %s: %w", a.Out[0], a.Op.Name, err)
		}
	}
	for i, v := range small.Outputs {
		at := p.of[v]
		if at.block > 1 || p.twin[v] != large.Outputs[i] {
			return nil, fmt.Errorf("output %v: rows are joined with other dimensions", v)
		}
		outputs = append(outputs, at.dim)
	}
	return outputs, nil
}

// proof is what is known of the values of the smaller program.
type proof struct {
	n, m int
	of   map[*ir.Value]axis
	twin map[*ir.Value]*ir.Value // in the larger one
}

// set notes where the rows of a value stand, after the shapes agree with that.
func (p *proof) set(a, b *ir.Value, at axis) error {
	x, y := a.Spec.Shape, b.Spec.Shape
	if a.Spec.DType != b.Spec.DType || len(x) != len(y) || at.dim >= len(x) {
		return fmt.Errorf("it is %v and %v", a.Spec, b.Spec)
	}
	for i := range x {
		if i == at.dim && (x[i] != p.n*at.block || y[i] != p.m*at.block) || i != at.dim && x[i] != y[i] {
			return fmt.Errorf("it is %v for %d rows and %v for %d, which is more than other rows", a.Spec, p.n, b.Spec, p.m)
		}
	}
	p.of[a], p.twin[a] = at, b
	return nil
}

// node follows the rows through a node.
func (p *proof) node(a, b *ir.Node) error {
	if a.Op != b.Op || len(a.In) != len(b.In) {
		return fmt.Errorf("the program for %d rows has %s in its place", p.m, b.Op.Name)
	}
	for i, v := range a.In {
		if p.twin[v] != b.In[i] {
			return fmt.Errorf("the program for %d rows reads %v in the place of %v", p.m, b.In[i], v)
		}
	}
	if a.Op.Effect || a.Op.Donates {
		return fmt.Errorf("it changes something that lasts")
	}
	at, err := p.result(a, b)
	if err != nil {
		return err
	}
	for i, v := range a.Out {
		if err := p.set(v, b.Out[i], at); err != nil {
			return err
		}
	}
	return nil
}

// shaped are the operators whose attributes are shapes, which differ in the rows.
var shaped = map[string]bool{"reshape": true, "expand": true, "const": true}

// result is where the rows of the results of a node stand.
func (p *proof) result(a, b *ir.Node) (axis, error) {
	if !shaped[a.Op.Name] && !a.Attrs.Equal(b.Attrs) {
		return none, fmt.Errorf("its attributes depend on the number of rows")
	}
	switch a.Op.Name {
	case "const":
		return p.constant(a.Tensor("value"), b.Tensor("value"))
	case "expand":
		return p.expand(a, b)
	case "reshape":
		return p.reshape(a, b)
	}
	if !slices.ContainsFunc(a.In, func(v *ir.Value) bool { return p.of[v].dim >= 0 }) {
		return none, nil // the same operator on the same values
	}
	if a.Op.Class == ir.Elementwise {
		return p.broadcast(a, a.In)
	}
	if rule := rules[a.Op.Name]; rule != nil {
		return rule(p, a)
	}
	return none, fmt.Errorf("%s is not known to keep rows apart", a.Op.Name)
}

// constant allows a constant that is the same, or the same in all rows.
func (p *proof) constant(x, y *tensor.Tensor) (axis, error) {
	if tensor.Identical(x, y) {
		return none, nil
	}
	at := p.differs(x.Shape(), y.Shape())
	if at.dim < 0 || x.DType() != y.DType() {
		return none, fmt.Errorf("its elements depend on the number of rows")
	}
	inner := at.block
	for _, d := range x.Shape()[at.dim+1:] {
		inner *= d
	}
	for _, t := range []struct {
		of   *tensor.Tensor
		rows int
	}{{x, p.n}, {y, p.m}} {
		for i := range t.of.Len() {
			first := i/(inner*t.rows)*inner*p.n + i%inner
			if u, v := t.of.Elem(i), x.Elem(first); u != v && (u == u || v == v) {
				return none, fmt.Errorf("its elements depend on the row")
			}
		}
	}
	return at, nil
}

// differs is the one dimension in which shapes differ as rows do.
func (p *proof) differs(x, y []int) axis {
	at := none
	for i := range min(len(x), len(y)) {
		if x[i] == y[i] {
			continue
		}
		if at.dim >= 0 || x[i]%p.n != 0 || y[i]%p.m != 0 || x[i]/p.n != y[i]/p.m {
			return none
		}
		at = axis{i, x[i] / p.n}
	}
	return at
}

// expand gives all rows the same elements where there were no rows.
func (p *proof) expand(a, b *ir.Node) (axis, error) {
	x, in := a.Out[0].Spec.Shape, a.In[0].Spec.Shape
	at := p.of[a.In[0]]
	if at.dim >= 0 {
		return axis{at.dim + len(x) - len(in), at.block}, nil
	}
	return p.differs(x, b.Out[0].Spec.Shape), nil
}

// reshape keeps rows where the dimensions before them have the same number of
// elements: a row is then as many neighbouring elements as before.
func (p *proof) reshape(a, b *ir.Node) (axis, error) {
	from := p.of[a.In[0]]
	to := p.differs(a.Out[0].Spec.Shape, b.Out[0].Spec.Shape)
	if from.dim < 0 || to.dim < 0 {
		return none, nil
	}
	if product(a.In[0].Spec.Shape[:from.dim]) != product(a.Out[0].Spec.Shape[:to.dim]) {
		return none, fmt.Errorf("it takes rows apart")
	}
	return to, nil
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// broadcast aligns operands at the right: all that have rows must have them in the
// same place, where the others repeat one element.
func (p *proof) broadcast(a *ir.Node, operands []*ir.Value) (axis, error) {
	rank := a.Out[0].Spec.Rank()
	at := none
	for _, v := range operands {
		u := p.of[v]
		if u.dim < 0 {
			continue
		}
		u.dim += rank - v.Spec.Rank()
		if at.dim >= 0 && u != at {
			return none, fmt.Errorf("the rows of %v meet others than their own", v)
		}
		at = u
	}
	for _, v := range operands {
		if i := at.dim - rank + v.Spec.Rank(); p.of[v].dim < 0 && i >= 0 && v.Spec.Shape[i] != 1 {
			return none, fmt.Errorf("%v, which has no rows, meets them", v)
		}
	}
	return at, nil
}

package loop

import (
	"fmt"

	"forgekernel/forge/tensor"
)

// linear lowers x @ w + bias.
func (l *lowering) linear() error {
	n := l.node
	rank := n.Out[0].Spec.Rank()
	out := l.out()
	c := &Contraction{
		K: n.In[1].Spec.Shape[0], N: n.In[1].Spec.Shape[1], Out: *out,
		A: Access{Param: l.param(n.In[0], false), Strides: l.layout(n.In[0])},
		B: Access{Param: l.param(n.In[1], false), Strides: append(make([]int, rank-1), l.layout(n.In[1])...)},
	}
	if len(n.In) > 2 {
		c.Bias = l.operand(2, n.Out[0].Spec.Shape)
	}
	return l.finish(c, 3)
}

// matmul lowers a product of two stacks of matrices.
func (l *lowering) matmul() error {
	n := l.node
	rank := n.Out[0].Spec.Rank()
	out := l.out()
	steps := func(i int) Access {
		s, strides := n.In[i].Spec.Shape, l.layout(n.In[i])
		k := len(s) - 2
		return Access{Param: l.param(n.In[i], false), Strides: append(broadcast(s[:k], strides[:k], rank-2), strides[k:]...)}
	}
	c := &Contraction{K: n.In[0].Spec.Shape[len(n.In[0].Spec.Shape)-1], N: n.Out[0].Spec.Shape[rank-1], A: steps(0), B: steps(1), Out: *out}
	c.B.Strides = append(append(c.B.Strides[:rank-2:rank-2], 0), c.B.Strides[rank-2:]...) // a step of rows
	return l.finish(c, 2)
}

// finish adds the activation and the residual, which is operand i, and splits the leading dimensions of the result into
// batches and rows. Until here A has steps over them and K, B over them, K and N,
// and the others over them and N.
func (l *lowering) finish(c *Contraction, i int) error {
	c.Elem, c.Weight = l.node.Out[0].Spec.DType, l.node.In[1].Spec.DType
	var err error
	if c.Epilogue, err = l.activation(); err != nil {
		return err
	}
	var residuals []*Access
	if i < len(l.node.In) {
		sum := c.Epilogue
		if sum == nil {
			sum = &Expr{Op: Acc, Type: computed(c.Elem)}
		}
		residual := l.operand(i, l.node.Out[0].Spec.Shape)
		c.Epilogue = apply("add", sum, l.load(residual))
		residuals = append(residuals, residual)
	}
	c.foldRows(l.node.Out[0].Spec.Shape, residuals)
	c.Out.Strides[len(c.Out.Strides)-1] = 1
	l.kernel.Contraction = c
	return nil
}

// foldRows makes neighbouring dimensions one where a single step covers them.
// Those that B does not depend on are rows, so that a stack of matrices by one
// matrix is one product. The loads are those of the epilogue.
func (c *Contraction) foldRows(shape []int, loads []*Access) {
	lead := len(shape) - 1
	all := []*Access{&c.A, &c.B, &c.Out}
	if c.Bias != nil {
		all = append(all, c.Bias)
	}
	all = append(all, loads...)
	heads, tails := make([]*[]int, len(all)), make([][]int, len(all))
	for i, a := range all {
		head := a.Strides[:lead:lead]
		heads[i], tails[i] = &head, a.Strides[lead:]
	}
	dims := merge(shape[:lead], heads)
	rows := len(dims) - 1
	if b := *heads[1]; b[rows] != 0 && dims[rows] > 1 { // the last dimension has a matrix for each point
		dims = append(dims, 1)
		for _, h := range heads {
			*h = append(*h, 0)
		}
		rows++
	}
	*heads[1] = (*heads[1])[:rows]
	for i, a := range all {
		a.Strides = append(append([]int{}, *heads[i]...), tails[i]...)
	}
	c.Batch, c.M = dims[:rows], dims[rows]
}

// activation is that of the node applied to a sum; nil for none.
func (l *lowering) activation() (*Expr, error) {
	dtype := l.node.Out[0].Spec.DType
	switch act := l.node.Str("act"); {
	case act == "none":
		return nil, nil
	case !l.wide && dtype == tensor.F64 && act != "relu":
		return nil, fmt.Errorf("%s of f64 has no scalar form; it is the reference itself", act)
	default:
		return apply(Opcode(act), &Expr{Op: Acc, Type: computed(dtype)}), nil
	}
}

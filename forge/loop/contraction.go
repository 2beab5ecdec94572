package loop

import "forgekernel/forge/tensor"

// linear lowers x @ w + bias. The dimensions of x before the last are rows of one
// matrix where one step covers them, and batches otherwise.
func (l *lowering) linear() error {
	n := l.node
	shape := n.Out[0].Spec.Shape
	w := n.In[1].Spec.Shape
	out := l.out()
	x := &Access{Param: l.param(n.In[0], false), Strides: l.layout(n.In[0])}
	last := len(shape) - 1
	rows := &Access{Strides: x.Strides[:last]}
	target := &Access{Strides: out.Strides[:last]}
	dims := merge(shape[:last], []*[]int{&rows.Strides, &target.Strides})
	m := len(dims) - 1
	c := &Contraction{
		Batch: dims[:m], M: dims[m], N: w[1], K: w[0],
		A:   Access{Param: x.Param, Strides: append(rows.Strides, x.Strides[last])},
		Out: Access{Param: out.Param, Strides: append(target.Strides, 1)},
		B:   Access{Param: l.param(n.In[1], false), Strides: append(make([]int, m), l.layout(n.In[1])...)},
	}
	if len(n.In) > 2 {
		c.Bias = &Access{Param: l.param(n.In[2], false), Strides: l.layout(n.In[2])}
	}
	l.finish(c)
	return nil
}

// matmul lowers a product of two stacks of matrices.
func (l *lowering) matmul() error {
	n := l.node
	shape := n.Out[0].Spec.Shape
	rank := len(shape)
	out := l.out()
	steps := func(i int) Access {
		s, strides := n.In[i].Spec.Shape, l.layout(n.In[i])
		k := len(s) - 2
		lead := broadcast(s[:k], strides[:k], rank-2)
		return Access{Param: l.param(n.In[i], false), Strides: append(lead, strides[k:]...)}
	}
	l.finish(&Contraction{
		Batch: shape[:rank-2], M: shape[rank-2], N: shape[rank-1], K: n.In[0].Spec.Shape[len(n.In[0].Spec.Shape)-1],
		A: steps(0), B: steps(1), Out: Access{Param: out.Param, Strides: append(tensor.Strides(shape)[:rank-1:rank-1], 1)},
	})
	return nil
}

// finish adds the activation.
func (l *lowering) finish(c *Contraction) {
	if act := l.node.Str("act"); act != "none" {
		c.Epilogue = apply(Opcode(act), &Expr{Op: Acc, Type: tensor.F32})
	}
	l.kernel.Contraction = c
}

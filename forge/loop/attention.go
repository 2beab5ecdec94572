package loop

import (
	"errors"
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// MaxKeys is the most keys of an attention whose scores a kernel keeps beside its
// registers.
const MaxKeys = 1024

// Attention is Out = softmax(Scale * Q K^T) V for each of the batches and heads.
// Heads neighbouring query heads share one of Groups key heads. Keys after the
// query are left out, and not read, when it is Causal. A query whose scores are all
// -inf gives zeros.
type Attention struct {
	Batches, Heads, Groups int
	Queries, Keys          int
	D, E                   int // channels of queries and keys, and of values
	Causal                 bool
	Scale                  float32
	Q, K, V, Out           Access // over batch, head, row and channel
}

// attention lowers sdpa.
func (l *lowering) attention() error {
	n := l.node
	q, k, v := n.In[0].Spec.Shape, n.In[1].Spec.Shape, n.In[2].Spec.Shape
	switch {
	case len(n.In) > 3:
		return errors.New("sdpa with a mask has no loop form yet")
	case n.Bool("strict"):
		return errors.New("sdpa that keeps every NaN has no loop form yet")
	case k[2] > MaxKeys:
		return errors.New("sdpa over more than 1024 keys has no loop form yet")
	}
	a := &Attention{
		Batches: q[0], Heads: q[1], Groups: k[1], Queries: q[2], Keys: k[2], D: q[3], E: v[3],
		Causal: n.Bool("causal"), Scale: float32(n.Float("scale")),
	}
	if a.Scale == 0 {
		a.Scale = float32(1 / math.Sqrt(float64(a.D)))
	}
	a.Out = *l.out()
	operand := func(v *ir.Value) Access { return Access{Param: l.param(v, false), Strides: l.layout(v)} }
	a.Q, a.K, a.V = operand(n.In[0]), operand(n.In[1]), operand(n.In[2])
	a.Out.Strides = tensor.Strides(n.Out[0].Spec.Shape)
	l.kernel.Attention = a
	return nil
}

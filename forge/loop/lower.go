package loop

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Layout gives the steps, in elements, between the neighbours of a value in each
// dimension.
type Layout func(*ir.Value) []int

// lowerings has what lowers the operators that are no scalar operation.
var lowerings = map[string]func(*lowering) error{
	"fused":       (*lowering).fused,
	"linear":      inSingle((*lowering).linear),
	"matmul":      inSingle((*lowering).matmul),
	"sum":         (*lowering).reduction,
	"mean":        (*lowering).reduction,
	"max":         (*lowering).reduction,
	"min":         (*lowering).reduction,
	"softmax":     (*lowering).softmax,
	"log_softmax": (*lowering).softmax,
	"layer_norm":  (*lowering).norm,
	"rms_norm":    (*lowering).norm,
	"sdpa":        inSingle((*lowering).attention),
}

// Lower returns the kernel of a node whose values lie as the layout says; the
// results are dense. The error says why there is no kernel.
func Lower(n *ir.Node, layout Layout) (*Kernel, error) {
	lower := lowerings[n.Op.Name]
	if lower == nil && n.Op.Class == ir.Elementwise {
		lower = (*lowering).elementwise
	}
	switch {
	case n.Op.View:
		lower = (*lowering).copyView
	case lower == nil:
		return nil, fmt.Errorf("%s has no loop form yet", n.Op.Name)
	}
	l := &lowering{node: n, layout: layout, kernel: &Kernel{Op: n.Op.Name}}
	if err := lower(l); err != nil {
		return nil, err
	}
	return l.kernel, nil
}

// inSingle is a lowering for nodes all of whose values are f32.
func inSingle(lower func(*lowering) error) func(*lowering) error {
	return func(l *lowering) error {
		for _, v := range slices.Concat(l.node.In, l.node.Out) {
			if v.Spec.DType != tensor.F32 {
				return fmt.Errorf("%v is %v; kernels of %s compute in f32", v, v.Spec.DType, l.node.Op.Name)
			}
		}
		return lower(l)
	}
}

// lowering is the state of [Lower].
type lowering struct {
	node   *ir.Node
	layout Layout
	kernel *Kernel
}

func (l *lowering) param(v *ir.Value, written bool) int {
	l.kernel.Params = append(l.kernel.Params, Param{v, written})
	return len(l.kernel.Params) - 1
}

// out is the access to the first result over its own dimensions.
func (l *lowering) out() *Access {
	v := l.node.Out[0]
	return &Access{Param: l.param(v, true), Strides: tensor.Strides(v.Spec.Shape)}
}

// operand is the access to operand i over the dimensions of shape, which it
// broadcasts to.
func (l *lowering) operand(i int, shape []int) *Access {
	v := l.node.In[i]
	return &Access{Param: l.param(v, false), Strides: broadcast(v.Spec.Shape, l.layout(v), len(shape))}
}

// load is an element as it is computed with.
func (l *lowering) load(a *Access) *Expr {
	return &Expr{Op: Load, Type: computed(l.kernel.Params[a.Param].Value.Spec.DType), Access: a}
}

// move is an element as it is stored.
func (l *lowering) move(a *Access) *Expr {
	a.Bits = isHalf(l.kernel.Params[a.Param].Value.Spec.DType)
	return &Expr{Op: Load, Type: l.kernel.Params[a.Param].Value.Spec.DType, Access: a}
}

// broadcast gives a step for each of rank dimensions; stretched ones have 0.
func broadcast(shape, strides []int, rank int) []int {
	steps := make([]int, rank)
	for i, d := range shape {
		if d != 1 {
			steps[rank-len(shape)+i] = strides[i]
		}
	}
	return steps
}

// copyView copies the elements of a view that no strides over its operand can
// express, as a reshape of a transposed value: by way of the dimensions of the
// operand, in whose order the result is dense.
func (l *lowering) copyView() error {
	if l.node.Op.Name != "reshape" {
		return fmt.Errorf("only a reshape is copied, not %s", l.node.Op.Name)
	}
	shape := l.node.In[0].Spec.Shape
	out := &Access{Param: l.param(l.node.Out[0], true), Strides: tensor.Strides(shape)}
	x := l.move(l.operand(0, shape))
	out.Bits = x.Access.Bits
	l.pointwise(shape, out, x)
	return nil
}

// merge joins neighbouring dimensions where every access allows it, and leaves at
// least one.
func merge(shape []int, accesses []*Access) []int {
	var dims []int
	steps := make([][]int, len(accesses))
	for i, d := range shape {
		if d == 1 {
			continue
		}
		last := len(dims) - 1
		joins := last >= 0
		for k, a := range accesses {
			joins = joins && steps[k][last] == a.Strides[i]*d
		}
		if joins {
			dims[last] *= d
		} else {
			dims = append(dims, d)
			last++
		}
		for k, a := range accesses {
			steps[k] = append(steps[k][:last], a.Strides[i])
		}
	}
	if len(dims) == 0 {
		dims = []int{1}
		for k := range steps {
			steps[k] = []int{0}
		}
	}
	for k, a := range accesses {
		a.Strides = steps[k]
	}
	return dims
}

package loop

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
)

// Layout gives the steps, in elements, between the neighbours of a value in each
// dimension.
type Layout func(*ir.Value) []int

// lowerings has what lowers the operators that are no scalar operation.
var lowerings = map[string]func(*lowering) error{
	"fused":           (*lowering).fused,
	"linear":          (*lowering).linear,
	"matmul":          (*lowering).matmul,
	"conv2d":          (*lowering).convolution,
	"sum":             (*lowering).reduction,
	"mean":            (*lowering).reduction,
	"max":             (*lowering).reduction,
	"min":             (*lowering).reduction,
	"softmax":         (*lowering).softmax,
	"log_softmax":     (*lowering).softmax,
	"layer_norm":      (*lowering).norm,
	"rms_norm":        (*lowering).norm,
	"argmax":          (*lowering).arg,
	"argmin":          (*lowering).arg,
	"gather":          (*lowering).gather,
	"concat":          (*lowering).concat,
	"pad":             (*lowering).pad,
	"max_pool2d":      (*lowering).pool,
	"avg_pool2d":      (*lowering).pool,
	"kv_append":       (*lowering).append,
	"paged_kv_append": (*lowering).pagedAppend,
	"rope":            (*lowering).rope,
	"sdpa":            (*lowering).attention,

	"cached_attention": (*lowering).attention,
	"paged_attention":  (*lowering).attention,
}

// Lower returns the kernels of a node whose values lie as the layout says, to run one
// after another. Results are dense but for those of elementwise and fused nodes. The
// error says why there are none.
//
// In f64, the reference, only what every backend computes alike has kernels; see
// [LowerWide].
func Lower(n *ir.Node, layout Layout) ([]*Kernel, error) {
	return (&lowering{node: n, layout: layout}).lower()
}

// LowerWide is [Lower] with forms that not every backend prints: elementary functions of
// f64 and sums of it, whose order may be another than that of the reference, products of
// lines, and stages that are running or ordered.
func LowerWide(n *ir.Node, layout Layout) ([]*Kernel, error) {
	return (&lowering{node: n, layout: layout, wide: true}).lower()
}

func (l *lowering) lower() ([]*Kernel, error) {
	n := l.node
	lower := lowerings[n.Op.Name]
	if lower == nil && l.wide {
		lower = wideLowerings[n.Op.Name]
	}
	if lower == nil && n.Op.Class == ir.Elementwise {
		lower = (*lowering).elementwise
	}
	switch {
	case n.Op.View:
		lower = (*lowering).copyView
	case lower == nil:
		return nil, fmt.Errorf("%s has no loop form yet", n.Op.Name)
	}
	l.begin()
	if err := lower(l); err != nil {
		return nil, err
	}
	return l.kernels, nil
}

// lowering is the state of [Lower].
type lowering struct {
	node    *ir.Node
	layout  Layout
	wide    bool // the forms of LowerWide are known
	kernels []*Kernel
	kernel  *Kernel // the last one
}

// begin starts the next kernel.
func (l *lowering) begin() {
	l.kernel = &Kernel{Op: l.node.Op.Name}
	l.kernels = append(l.kernels, l.kernel)
}

func (l *lowering) param(v *ir.Value, written bool) int {
	return l.addParam(Param{Value: v, Written: written})
}

func (l *lowering) addParam(p Param) int {
	l.kernel.Params = append(l.kernel.Params, p)
	return len(l.kernel.Params) - 1
}

// out is the access to the first result over its own dimensions.
func (l *lowering) out() *Access {
	v := l.node.Out[0]
	return &Access{Param: l.param(v, true), Strides: slices.Clone(l.layout(v))}
}

// operand is the access to operand i over the dimensions of shape, which it
// broadcasts to.
func (l *lowering) operand(i int, shape []int) *Access {
	v := l.node.In[i]
	return &Access{Param: l.param(v, false), Strides: broadcast(v.Spec.Shape, l.layout(v), len(shape))}
}

// load is an element as it is computed with.
func (l *lowering) load(a *Access) *Expr {
	return &Expr{Op: Load, Type: computed(l.kernel.Params[a.Param].DType()), Access: a}
}

// move is an element as it is stored.
func (l *lowering) move(a *Access) *Expr {
	a.Bits = isHalf(l.kernel.Params[a.Param].DType())
	return &Expr{Op: Load, Type: l.kernel.Params[a.Param].DType(), Access: a}
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

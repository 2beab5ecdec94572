package loop

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Layout gives the steps, in elements, between the neighbours of a value in each
// dimension.
type Layout func(*ir.Value) []int

// lowerings has what lowers the operators that are no scalar operation.
var lowerings = map[string]func(*lowering) error{
	"fused":      (*lowering).fused,
	"linear":     (*lowering).linear,
	"matmul":     (*lowering).matmul,
	"sum":        (*lowering).reduction,
	"mean":       (*lowering).reduction,
	"max":        (*lowering).reduction,
	"min":        (*lowering).reduction,
	"softmax":    (*lowering).softmax,
	"layer_norm": (*lowering).norm,
	"rms_norm":   (*lowering).norm,
	"sdpa":       (*lowering).attention,
}

// Lower returns the kernel of a node whose values lie as the layout says. Results
// are dense but for those of elementwise and fused nodes. The error says why there
// is no kernel.
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
	for _, list := range [][]*ir.Value{n.In, n.Out} {
		for _, v := range list {
			if v.Spec.DType != tensor.F32 {
				return nil, fmt.Errorf("%v is %v; kernels compute in f32", v, v.Spec.DType)
			}
		}
	}
	l := &lowering{node: n, layout: layout, kernel: &Kernel{Op: n.Op.Name}}
	if err := lower(l); err != nil {
		return nil, err
	}
	return l.kernel, nil
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
	return &Access{l.param(v, true), l.layout(v)}
}

// operand is the access to operand i over the dimensions of shape, which it
// broadcasts to.
func (l *lowering) operand(i int, shape []int) *Access {
	v := l.node.In[i]
	return &Access{l.param(v, false), broadcast(v.Spec.Shape, l.layout(v), len(shape))}
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
	out := &Access{l.param(l.node.Out[0], true), tensor.Strides(shape)}
	l.pointwise(shape, out, &Expr{Op: Load, Access: l.operand(0, shape)})
	return nil
}

// elementwise lowers a scalar operator over broadcast operands.
func (l *lowering) elementwise() error {
	shape := l.node.Out[0].Spec.Shape
	out := l.out()
	var args []*Expr
	for i := range l.node.In {
		args = append(args, &Expr{Op: Load, Access: l.operand(i, shape)})
	}
	e, err := scalar(l.node, args)
	if err != nil {
		return err
	}
	l.pointwise(shape, out, e)
	return nil
}

// fused lowers a region to the expression of its body.
func (l *lowering) fused() error {
	shape, body := l.node.Out[0].Spec.Shape, l.node.Body
	out := l.out()
	value := make(map[*ir.Value]*Expr)
	for i, v := range body.Inputs {
		value[v] = &Expr{Op: Load, Access: l.operand(i, shape)}
	}
	for _, m := range body.Nodes {
		v := m.Out[0]
		if m.Op.Class == ir.Constant {
			if v.Spec.DType != tensor.F32 {
				return fmt.Errorf("the constant %v of the region is %v; kernels compute in f32", v, v.Spec.DType)
			}
			value[v] = number(float32(m.Tensor("value").Elem(0)))
			continue
		}
		var args []*Expr
		for _, u := range m.In {
			args = append(args, value[u])
		}
		e, err := scalar(m, args)
		if err != nil {
			return err
		}
		value[v] = e
	}
	l.pointwise(shape, out, value[body.Outputs[0]])
	return nil
}

// scalars are the operators that are an operation of the same name.
var scalars = map[string]bool{
	"add": true, "sub": true, "mul": true, "div": true, "maximum": true, "minimum": true, "neg": true, "abs": true,
	"sqrt": true, "rsqrt": true, "exp": true, "log": true, "tanh": true, "sigmoid": true, "relu": true, "silu": true, "erf": true,
	"gelu": true, "eq": true, "ne": true, "lt": true, "le": true, "gt": true, "ge": true, "and": true, "or": true, "not": true, "where": true,
}

// scalar is the expression of an elementwise operator. Values that it computes
// with are f32, and those that it decides by are bool.
func scalar(n *ir.Node, args []*Expr) (*Expr, error) {
	op := Opcode(n.Op.Name)
	if !scalars[n.Op.Name] {
		return nil, fmt.Errorf("%s has no scalar form yet", op)
	}
	for i, v := range n.In {
		wantsBool := op == "and" || op == "or" || op == "not" || op == "where" && i == 0
		if d := v.Spec.DType; wantsBool != (d == tensor.Bool) || !wantsBool && d != tensor.F32 {
			return nil, fmt.Errorf("%s of %v has no scalar form yet", op, d)
		}
	}
	if op == "gelu" && n.Str("approximate") == "tanh" {
		op = "gelu_tanh"
	}
	return apply(op, args...), nil
}

// pointwise makes a nest of one stage. Dimensions that all accesses cross with
// one step are merged, so that the line is long.
func (l *lowering) pointwise(shape []int, out *Access, e *Expr) {
	accesses := []*Access{out}
	e.Walk(func(x *Expr) {
		if x.Op == Load {
			accesses = append(accesses, x.Access)
		}
	})
	dims := merge(shape, accesses)
	last := len(dims) - 1
	l.kernel.Nest = &Nest{Outer: dims[:last], Line: dims[last:], Stages: []Stage{{Expr: e, Store: out}}}
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

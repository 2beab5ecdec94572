package loop

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var (
	floats   = []tensor.DType{tensor.F32, tensor.F64}
	integers = []tensor.DType{tensor.I64, tensor.I32}
	numbers  = slices.Concat(floats, integers)
	anyType  = append(slices.Clone(numbers), tensor.Bool)
	single   = floats[:1]
	booleans = anyType[4:]
)

// scalars are the operators that are an operation of the same name, with the
// types in which it is computed. The elementary functions are polynomials of
// package mathf, which has them in f32 only.
var scalars = map[string][]tensor.DType{
	"add": numbers, "sub": numbers, "mul": numbers, "div": numbers, "maximum": numbers, "minimum": numbers, "neg": numbers, "abs": numbers,
	"sqrt": floats, "rsqrt": floats, "relu": floats, "floor": floats, "ceil": floats, "round": floats,
	"exp": single, "log": single, "tanh": single, "sigmoid": single, "silu": single, "erf": single, "gelu": single, "sin": single, "cos": single, "pow": single, "atan": single,
	"eq": anyType, "ne": anyType, "lt": numbers, "le": numbers, "gt": numbers, "ge": numbers,
	"and": booleans, "or": booleans, "not": booleans, "where": anyType,
}

// exact operations give results of half precision from operands of it.
var exact = []string{"maximum", "minimum", "neg", "abs", "relu", "where"}

// scalar is the expression of an elementwise operator, rounded to the type of its
// result.
func (l *lowering) scalar(n *ir.Node, args []*Expr) (*Expr, error) {
	to := n.Out[0].Spec.DType
	op := Opcode(n.Op.Name)
	switch {
	case op == Cast:
		return convert(n.In[0].Spec.DType, to, args[0]), nil
	case op == "gelu" && n.Str("approximate") == "tanh":
		op = "gelu_tanh"
	}
	types, known := scalars[n.Op.Name]
	if !known {
		return nil, fmt.Errorf("%s has no scalar form yet", op)
	}
	if t := args[len(args)-1].Type; !slices.Contains(types, t) && !(l.wide && t == tensor.F64) {
		return nil, fmt.Errorf("%s of %v has no scalar form: its elementary function exists in f32 only", op, t)
	}
	e := apply(op, args...)
	if slices.Contains(exact, n.Op.Name) {
		return e, nil
	}
	return round(to, e), nil
}

// convert casts between stored types. A type that holds more than f32 does must
// not be rounded twice on its way to half precision.
func convert(from, to tensor.DType, x *Expr) *Expr {
	if isHalf(to) && from != tensor.Bool && !isHalf(from) && from != tensor.F32 {
		return round(to, &Expr{Op: Odd, Type: tensor.F32, Args: []*Expr{x}})
	}
	return round(to, cast(computed(to), x))
}

// elementwise lowers a scalar operator over broadcast operands.
func (l *lowering) elementwise() error {
	shape := l.node.Out[0].Spec.Shape
	out := l.out()
	var args []*Expr
	for i := range l.node.In {
		args = append(args, l.load(l.operand(i, shape)))
	}
	e, err := l.scalar(l.node, args)
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
		value[v] = l.load(l.operand(i, shape))
	}
	for _, m := range body.Nodes {
		v := m.Out[0]
		if m.Op.Class == ir.Constant {
			value[v] = constant(m.Tensor("value"))
			continue
		}
		var args []*Expr
		for _, u := range m.In {
			args = append(args, value[u])
		}
		e, err := l.scalar(m, args)
		if err != nil {
			return err
		}
		value[v] = e
	}
	l.pointwise(shape, out, value[body.Outputs[0]])
	return nil
}

// constant is the only element of a tensor.
func constant(t *tensor.Tensor) *Expr {
	if t.DType() == tensor.I64 { // beyond 2^53 a float64 has not all of it
		return &Expr{Op: Const, Type: tensor.I64, Int: t.Int64()[0]}
	}
	return number(computed(t.DType()), t.Elem(0))
}

// pointwise makes a nest of one stage. Dimensions that all accesses cross with
// one step are merged, so that the line is long. A short line changes places with
// a longer dimension around it along which some access has its neighbours.
func (l *lowering) pointwise(shape []int, out *Access, e *Expr) {
	if isHalf(l.kernel.Params[out.Param].DType()) && (e.Op == RoundF16 || e.Op == RoundBF16) {
		e = e.Args[0] // the store rounds
	}
	st := Stage{Expr: e, Store: out}
	dims := merge(shape, st.steps())
	last := len(dims) - 1
	adjacent := func(w *[]int) bool { return (*w)[last-1] == 1 }
	if last > 0 && dims[last] < shortLine && dims[last-1] > dims[last] && slices.ContainsFunc(st.steps(), adjacent) {
		dims[last-1], dims[last] = dims[last], dims[last-1]
		swap(st.steps(), last)
	}
	l.kernel.Nest = &Nest{Outer: dims[:last], Line: dims[last:], Stages: []Stage{st}}
}

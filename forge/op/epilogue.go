package op

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// actAttr is the activation that a contraction applies to its results.
var actAttr = ir.AttrDecl{
	Name: "act", Kind: ir.StringAttr, Default: "none", OneOf: []string{"none", "relu", "gelu", "gelu_tanh", "silu"},
	Doc: "the activation of the result: the operator of that name; gelu_tanh is gelu by its tanh approximation",
}

// Activation returns the value of the act attribute that stands for an
// elementwise node, and whether there is one.
func Activation(n *ir.Node) (act string, ok bool) {
	name := n.Op.Name
	if name == "gelu" && n.Str("approximate") == "tanh" {
		name = "gelu_tanh"
	}
	return name, n.Op.Class == ir.Elementwise && slices.Contains(actAttr.OneOf, name)
}

// activation is the elementwise node that the act attribute of n stands for;
// nil when it is none.
func activation(n *ir.Node) *ir.Node {
	act := &ir.Node{Out: n.Out}
	name := n.Str("act")
	switch name {
	case "none":
		return nil
	case "gelu_tanh":
		name, act.Attrs = "gelu", ir.Attrs{"approximate": "tanh"}
	}
	i := slices.IndexFunc(activations, func(o *ir.Op) bool { return o.Name == name })
	act.Op = activations[i]
	return act
}

// checkResidual checks operand i, if there is one: a number per result.
func checkResidual(n *ir.Node, i int, result []int) error {
	if i < len(n.In) && !tensor.ShapeEqual(n.In[i].Spec.Shape, result) {
		return fmt.Errorf("the residual has the shape %s; the results have %s", tensor.FormatShape(n.In[i].Spec.Shape), tensor.FormatShape(result))
	}
	return nil
}

// residualFLOPs is an addition for each result, if operand i is there.
func residualFLOPs(n *ir.Node, i int) int64 {
	if i < len(n.In) {
		return int64(n.Out[0].Spec.Elements())
	}
	return 0
}

// actFLOPs is the work of the activation on all results.
func actFLOPs(n *ir.Node) int64 {
	if act := activation(n); act != nil {
		return act.Op.FLOPs.Of(act)
	}
	return 0
}

// epilogue is what a contraction does to its sums before it stores them: it adds
// the bias, which is one more rounding, applies the activation, and adds the
// residual, which is another. The results are those of separate operators to the
// last bit.
type epilogue[T float] struct {
	bias     []T // one per column; nil for none
	act      ir.Kernel
	residual []T // one per result; nil for none
}

func newEpilogue[T float](n *ir.Node, bias, residual []T) epilogue[T] {
	e := epilogue[T]{bias: bias, residual: residual}
	if act := activation(n); act != nil {
		dtype := dtypeOf[T]()
		e.act = act.Op.Scalar(act, []tensor.DType{dtype}, dtype)
	}
	return e
}

// apply finishes the sums of one row from column j on, which are the results from
// at on.
func (e *epilogue[T]) apply(sums []T, at, j int) error {
	if e.bias != nil {
		for i, b := range e.bias[j : j+len(sums)] {
			sums[i] += b
		}
	}
	if e.act != nil {
		if err := e.act(vectorOf(sums), 0, []int{0}); err != nil {
			return err
		}
	}
	if e.residual != nil {
		for i, r := range e.residual[at : at+len(sums)] {
			sums[i] += r
		}
	}
	return nil
}

// vectorOf is a set of one vector.
func vectorOf[T float](x []T) *ir.Vectors {
	if narrow, ok := any(x).([]float32); ok {
		return &ir.Vectors{F32: [][]float32{narrow}}
	}
	return &ir.Vectors{F64: [][]float64{any(x).([]float64)}}
}

func dtypeOf[T float]() tensor.DType {
	if _, ok := any(T(0)).(float32); ok {
		return tensor.F32
	}
	return tensor.F64
}

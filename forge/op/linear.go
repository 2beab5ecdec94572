package op

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var linears = []*ir.Op{{
	Name:     "linear",
	Doc:      "x @ w + bias over the last dimension of x: [..., in] @ [in, out] + [out]. Sums run in order of the input channel, each step one fused multiply-add; the bias is added to the rounded sum, the activation applied to that, and the residual, which has the shape of the result, added last. Where the others are f32, w may be f16 or bf16: it is widened, which is exact.",
	Class:    ir.Contraction,
	Operands: []string{"x", "w", "bias", "residual"},
	Types:    floats.String(),
	Optional: 2,
	Attrs:    []ir.AttrDecl{actAttr},
	Infer:    inferLinear,
	Eval: byType(
		func(c *ir.Call) error { return linear(c, axpy32) },
		func(c *ir.Call) error { return linear(c, axpy64) },
	),
	FLOPs: ir.FLOPs{
		Doc: "2in per output, 1 per output each for the bias and the residual, and those of the activation",
		Of: func(n *ir.Node) int64 {
			perOutput := 2*n.In[1].Spec.Shape[0] + len(n.In) - 2
			return int64(perOutput)*int64(n.Out[0].Spec.Elements()) + actFLOPs(n)
		},
	},
}}

func inferLinear(n *ir.Node) ([]ir.Spec, error) {
	dtype, err := productType(n)
	if err != nil {
		return nil, err
	}
	x, w := n.In[0].Spec.Shape, n.In[1].Spec.Shape
	if len(x) == 0 {
		return nil, fmt.Errorf("x is a scalar; it needs a dimension of input channels")
	}
	if len(w) != 2 {
		return nil, fmt.Errorf("w must have the shape [in, out], not rank %d", len(w))
	}
	if in := x[len(x)-1]; in != w[0] {
		return nil, fmt.Errorf("x has %d input channels, w[in, out] has %d", in, w[0])
	}
	if err := checkBias(n, w[1]); err != nil {
		return nil, err
	}
	shape := slices.Clone(x)
	shape[len(shape)-1] = w[1]
	return []ir.Spec{{DType: dtype, Shape: shape}}, checkResidual(n, 3, shape)
}

// productType is the type of a product: that of all operands, but that the second may
// have half precision where it is f32.
func productType(n *ir.Node) (tensor.DType, error) {
	operands := n.In
	if n.In[0].Spec.DType == tensor.F32 && isHalf(n.In[1].Spec.DType) {
		operands = slices.Delete(slices.Clone(operands), 1, 2)
	}
	return sameType(operands, floats)
}

// checkBias checks the third operand, if there is one: a number per output
// channel.
func checkBias(n *ir.Node, channels int) error {
	if len(n.In) < 3 {
		return nil
	}
	if bias := n.In[2].Spec.Shape; len(bias) != 1 || bias[0] != channels {
		return fmt.Errorf("bias has the shape %s; %d output channels need [%d]", tensor.FormatShape(bias), channels, channels)
	}
	return nil
}

func linear[T float](c *ir.Call, step axpy[T]) error {
	x, w := data[T](c.In[0]), data[T](c.In[1])
	k := c.In[1].Dim(0)
	p := rowProduct[T]{
		k: k, cols: c.In[1].Dim(1), step: step, epilogue: newEpilogue(c.Node, optional[T](c, 2), optional[T](c, 3)),
		row:    func(r int) []T { return x[r*k:][:k] },
		matrix: func(int) []T { return w },
	}
	return p.run(c, data[T](c.Out[0]))
}

// optional is the storage of operand i, nil when it is left out.
func optional[T float](c *ir.Call, i int) []T {
	if i >= len(c.In) {
		return nil
	}
	return data[T](c.In[i])
}

package op

import (
	"errors"
	"fmt"

	"forgekernel/forge/ir"
)

var fusedOps = []*ir.Op{{
	Name:     "fused",
	Doc:      "A scalar program applied to every element of the broadcast operands: one kernel for several elementwise operators.",
	Class:    ir.Fused,
	Operands: []string{"x"},
	Variadic: true,
	PassOnly: true,
	Types:    anyType.String(),
	Infer:    inferFused,
	Eval: func(c *ir.Call) error {
		p, err := bodyProgram(c)
		if err != nil {
			return err
		}
		return p.run(c)
	},
	FLOPs: ir.FLOPs{
		Doc: "those of the body per output",
		Of:  func(n *ir.Node) int64 { return n.Body.Cost().FLOPs * int64(n.Out[0].Spec.Elements()) },
	},
}}

// Fused is the operator that holds a scalar program.
func Fused() *ir.Op { return fusedOps[0] }

// inferFused checks that the body is a scalar program over the operands:
// elementwise operators and scalar constants, one scalar input per operand with
// its type, all on the device of the operands.
func inferFused(n *ir.Node) ([]ir.Spec, error) {
	if n.Body == nil {
		return nil, errors.New("needs a body")
	}
	body := n.Body
	if len(body.Inputs) != len(n.In) {
		return nil, fmt.Errorf("the body has %d inputs for %d operands", len(body.Inputs), len(n.In))
	}
	if len(body.Outputs) != 1 {
		return nil, fmt.Errorf("the body has %d outputs; one is needed", len(body.Outputs))
	}
	result := ir.Spec{DType: body.Outputs[0].Spec.DType, Device: body.Outputs[0].Spec.Device}
	if len(n.In) > 0 { // a kernel of constants alone has no operands
		var err error
		if result.Shape, err = broadcastAll(n.In); err != nil {
			return nil, err
		}
		result.Device = n.In[0].Spec.Device
	}
	for i, v := range body.Inputs {
		if d := n.In[i].Spec.DType; v.Spec.DType != d {
			return nil, fmt.Errorf("body value %v is %v for operand %v of type %v", v, v.Spec, n.In[i], d)
		}
	}
	for v := range body.Values {
		if v.Spec.Rank() != 0 {
			return nil, fmt.Errorf("body value %v is %v, not a scalar", v, v.Spec)
		}
		if v.Spec.Device != result.Device {
			return nil, fmt.Errorf("body value %v is on device %v, the kernel on %v", v, v.Spec.Device, result.Device)
		}
	}
	for _, m := range body.Nodes {
		if m.Op.Class != ir.Elementwise && m.Op.Class != ir.Constant {
			return nil, fmt.Errorf("body node %s is neither elementwise nor a constant", m.Op.Name)
		}
	}
	return []ir.Spec{result}, nil
}

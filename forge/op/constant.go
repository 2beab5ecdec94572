package op

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var constants = []*ir.Op{{
	Name:  "const",
	Doc:   "A constant tensor.",
	Class: ir.Constant,
	Attrs: []ir.AttrDecl{
		{Name: "value", Kind: ir.TensorAttr, Required: true, Doc: "the tensor"},
		{Name: "device", Kind: ir.StringAttr, Doc: "where it lives; the host when absent"},
	},
	Infer: func(n *ir.Node) ([]ir.Spec, error) {
		t := n.Tensor("value")
		if t == nil {
			return nil, fmt.Errorf("attribute value is nil")
		}
		return []ir.Spec{ir.SpecOf(t)}, nil // the device attribute adds the place
	},
	Eval: func(c *ir.Call) error {
		value := c.Node.Tensor("value")
		if want := c.Out[0].DType(); value.DType() != want {
			wide, err := value.Convert(want)
			if err != nil {
				return err
			}
			value = wide
		}
		return tensor.Copy(c.Out[0], value)
	},
	FLOPs: noFLOPs,
}}

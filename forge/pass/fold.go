package pass

import (
	"context"
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// Limits of what one folded node may cost at compile time.
const (
	MaxFoldBytes = 64 << 20 // of its result
	MaxFoldFLOPs = 1 << 28
)

// MaxWeightCopy bounds the weight of a product that is copied in another order or
// type when a program is compiled. A larger one stays what it was made from, which
// all programs on it share: a copy for each would take more than it saves.
const MaxWeightCopy = 64 << 10

var foldRule = Rule{"fold", true, "the value is computed by the evaluation that would run the node"}

// foldConstants replaces a node whose operands are constants by its value,
// computed by the same evaluation that would run it.
func foldConstants(g *ir.Graph, r *report) error {
	if err := narrowWeights(g, r); err != nil {
		return err
	}
	readers := g.Uses()
	for _, n := range g.Nodes {
		if len(n.In) == 0 || n.Op.Effect || !allConstant(n.In) {
			continue
		}
		out := n.Out[0]
		if len(n.Out) != 1 {
			r.declined(&foldRule, out, fmt.Sprintf("it has %d results, and a constant has one", len(n.Out)), n.Out...)
			continue
		}
		switch bytes, flops := out.Spec.Bytes(), n.Cost().FLOPs; {
		case bytes > MaxWeightCopy && isReorder(n) && onlyWeight(g, readers, out):
			r.declined(&foldRule, out, fmt.Sprintf("products read it where %v stands; its value would be a copy of %d bytes for this program alone", n.In[0], bytes), n.In...)
			continue
		case bytes > MaxFoldBytes:
			r.declined(&foldRule, out, fmt.Sprintf("its value has %d bytes; constants made by folding have at most %d", bytes, MaxFoldBytes))
			continue
		case flops > MaxFoldFLOPs:
			r.declined(&foldRule, out, fmt.Sprintf("computing it takes %d operations; folding spends at most %d", flops, MaxFoldFLOPs))
			continue
		}
		value, err := evaluate(n)
		if err != nil {
			r.declined(&foldRule, out, fmt.Sprintf("it fails: %v; the run will say so if it gets there", err), n.In...)
			continue
		}
		constant, err := op.Registry.Lookup("const")
		if err != nil {
			return err
		}
		r.applied(&foldRule, out, "computed: all operands are constants", n.In...)
		for _, v := range n.In {
			n.Pos = mergePos(n.Pos, v.Def.Pos)
		}
		n.Op, n.In, n.Body = constant, nil, nil
		n.Attrs = constantAttrs(value, out.Spec.Device)
	}
	return nil
}

// isReorder reports whether a node gives the elements of its operand, or a part of
// them, in another order.
func isReorder(n *ir.Node) bool { return n.Op.Name == "transpose" || n.Op.Name == "narrow" }

// onlyWeight reports whether all that reads v are products, as their matrix.
func onlyWeight(g *ir.Graph, readers map[*ir.Value][]*ir.Node, v *ir.Value) bool {
	for _, n := range readers[v] {
		if w, ok := weightOf(n); !ok || w != v || n.In[0] == v {
			return false
		}
	}
	return !g.IsOutput(v)
}

// constantAttrs are the attributes of a constant on a device.
func constantAttrs(value *tensor.Tensor, device ir.Device) ir.Attrs {
	if device == ir.CPU {
		return ir.Attrs{"value": value}
	}
	return ir.Attrs{"value": value, "device": string(device)}
}

func allConstant(values []*ir.Value) bool {
	for _, v := range values {
		if v.Def == nil || v.Def.Op.Class != ir.Constant {
			return false
		}
	}
	return true
}

func evaluate(n *ir.Node) (*tensor.Tensor, error) {
	spec := n.Out[0].Spec
	out, err := tensor.Zeros(spec.DType, spec.Shape...)
	if err != nil {
		return nil, err
	}
	call := &ir.Call{Ctx: context.Background(), Node: n, Out: []*tensor.Tensor{out}, Workers: 1}
	for _, v := range n.In {
		call.In = append(call.In, v.Def.Tensor("value"))
	}
	return out, n.Op.Eval(call)
}

package op

import (
	"fmt"

	"forgekernel/forge/ir"
)

// resolveAxis turns an axis that may count from the end into an index.
func resolveAxis(axis int64, rank int) (int, error) {
	if axis < -int64(rank) || axis >= int64(rank) {
		if rank == 0 {
			return 0, fmt.Errorf("axis %d of a scalar, which has none", axis)
		}
		return 0, fmt.Errorf("axis %d is out of range for rank %d; use %d to %d", axis, rank, -rank, rank-1)
	}
	if axis < 0 {
		axis += int64(rank)
	}
	return int(axis), nil
}

// axisAttr declares an axis; without a default it must be given.
func axisAttr(doc string, standard any) ir.AttrDecl {
	return ir.AttrDecl{Name: "axis", Kind: ir.IntAttr, Required: standard == nil, Default: standard, Doc: doc}
}

// canonicalAxis counts the axis attribute of a node from the front.
func canonicalAxis(n *ir.Node, rank int) ir.Attrs {
	axis, err := resolveAxis(int64(n.Int("axis")), rank)
	if err != nil { // inference has refused it
		return n.Attrs
	}
	return withAttr(n, "axis", int64(axis))
}

func canonicalInts(n *ir.Node, name string, values []int) ir.Attrs {
	list := make([]int64, len(values))
	for i, v := range values {
		list[i] = int64(v)
	}
	return withAttr(n, name, list)
}

// withoutAttr is the attributes of a node without one that says what its absence
// says too, if it does.
func withoutAttr(n *ir.Node, name string, redundant bool) ir.Attrs {
	if !redundant || n.Attrs[name] == nil {
		return n.Attrs
	}
	attrs := n.Attrs.Clone()
	delete(attrs, name)
	return attrs
}

// withAttr is the attributes of a node with one replaced.
func withAttr(n *ir.Node, name string, v any) ir.Attrs {
	attrs := n.Attrs.Clone()
	if attrs == nil {
		attrs = make(ir.Attrs)
	}
	attrs[name] = v
	return attrs
}

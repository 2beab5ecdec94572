package interp

import (
	"fmt"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
)

// Kernels lists one reference kernel for each node; a fused region is one node.
func (x *executable) Kernels() []backend.Kernel {
	list := []backend.Kernel{}
	for _, n := range x.graph.Nodes {
		if n.Op.Class != ir.Constant {
			list = append(list, x.kernel(n))
		}
	}
	return list
}

func (x *executable) kernel(n *ir.Node) backend.Kernel {
	k := backend.Kernel{Value: n.Out[0].String(), Kernel: n.Op.Name + ", " + x.arithmetic()}
	_, shares := x.windows[n]
	switch {
	case shares:
		k.Kernel, k.Reason = "", fmt.Sprintf("a view: it lies in the storage of %v", x.owner[n.Out[0]])
	case n.Op.View:
		k.Reason = "a view whose elements do not lie in one piece: they are copied"
	case n.Body != nil:
		k.Reason = fmt.Sprintf("one sweep applies the %d operators of the region to a block of elements at a time", operators(n.Body))
	default:
		k.Reason = "every operator runs by its own definition"
	}
	return k
}

// arithmetic says in which types the kernels compute.
func (x *executable) arithmetic() string {
	if x.reference {
		return "reference in f64"
	}
	return "reference"
}

func operators(body *ir.Graph) int {
	count := 0
	for _, n := range body.Nodes {
		if n.Op.Class != ir.Constant {
			count++
		}
	}
	return count
}

package op

import (
	"errors"
	"fmt"
	"slices"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Attributes of the operators that exchange tensors between ranks.
var (
	groupAttr  = ir.AttrDecl{Name: "group", Kind: ir.StringAttr, Default: "world", Doc: "the name of the group of ranks"}
	sizeAttr   = ir.AttrDecl{Name: "size", Kind: ir.IntAttr, Required: true, Doc: "the number of ranks in the group"}
	reduceAttr = ir.AttrDecl{Name: "reduce", Kind: ir.StringAttr, Default: "sum", OneOf: []string{"sum", "max"}, Doc: "how elements of several ranks become one"}
	peerAttr   = ir.AttrDecl{Name: "peer", Kind: ir.IntAttr, Required: true, Doc: "the other rank"}
	partAttr   = axisAttr("the dimension that is divided among the ranks, negative from the end", int64(0))
)

var collectives = []*ir.Op{
	transfer("all_reduce", "The sum or maximum over all ranks of a group, in the order of the ranks, on each of them.", []string{"x"},
		[]ir.AttrDecl{reduceAttr}, inferReduce, allReduce, reduceFLOPs),
	transfer("reduce_scatter", "The sum or maximum over all ranks, of which each rank gets its part of a dimension.", []string{"x"},
		[]ir.AttrDecl{reduceAttr, partAttr}, inferScatter, reduceScatter, reduceFLOPs),
	transfer("all_gather", "The tensors of all ranks, one after another along a dimension, on each of them.", []string{"x"},
		[]ir.AttrDecl{partAttr}, inferAllGather, allGather, noFLOPs),
	transfer("broadcast", "The tensor of one rank, on each of them.", []string{"x"},
		[]ir.AttrDecl{{Name: "root", Kind: ir.IntAttr, Default: int64(0), Doc: "the rank whose tensor it is"}}, inferBroadcast, broadcast, noFLOPs),
	transfer("send", "Sends x to another rank. The result is the number of its elements.", []string{"x"},
		[]ir.AttrDecl{peerAttr}, inferSend, send, noFLOPs),
	transfer("recv", "The tensor that another rank sends.", nil, []ir.AttrDecl{
		peerAttr,
		{Name: "shape", Kind: ir.IntsAttr, Required: true, Doc: "its shape"},
		{Name: "dtype", Kind: ir.StringAttr, Default: "f32", OneOf: dtypeNames(), Doc: "its element type"},
		{Name: "device", Kind: ir.StringAttr, Doc: "where it lives; the host when absent"},
	}, inferRecv, recv, noFLOPs),
}

// reduceFLOPs counts what one rank would do alone, in any order.
var reduceFLOPs = ir.FLOPs{Doc: "size - 1 per element of x", Of: func(n *ir.Node) int64 {
	return int64(n.Int("size")-1) * int64(n.In[0].Spec.Elements())
}}

// transfer declares an operator of all ranks of a group.
func transfer(name, doc string, operands []string, attrs []ir.AttrDecl, infer func(*ir.Node) ([]ir.Spec, error),
	eval func(*ir.Call, backend.Collective) error, flops ir.FLOPs,
) *ir.Op {
	types := typeSet(anyType).String()
	if slices.ContainsFunc(attrs, func(d ir.AttrDecl) bool { return d.Name == "reduce" }) {
		types = typeSet(numbers).String()
	}
	return &ir.Op{
		Name: name, Doc: doc, Class: ir.Transfer, Effect: true,
		Operands: operands,
		Types:    types,
		Attrs:    append([]ir.AttrDecl{groupAttr, sizeAttr}, attrs...),
		Infer: func(n *ir.Node) ([]ir.Spec, error) {
			if size := n.Int("size"); size < 1 || size > maxRanks {
				return nil, fmt.Errorf("attribute size is %d; groups have 1 to %d ranks", size, maxRanks)
			}
			return infer(n)
		},
		Canonical: func(n *ir.Node) ir.Attrs {
			if n.Attr("axis") == nil {
				return n.Attrs
			}
			return canonicalAxis(n, n.In[0].Spec.Rank())
		},
		Eval: func(c *ir.Call) error {
			group, err := backend.Group(c.Ctx, c.Node.Str("group"), c.Node.Int("size"))
			if err != nil {
				return err
			}
			return eval(c, group)
		},
		FLOPs: flops,
	}
}

// maxRanks bounds the size of a group.
const maxRanks = 1 << 16

func dtypeNames() []string {
	var names []string
	for d := tensor.F32; d.Valid(); d++ {
		names = append(names, d.String())
	}
	return names
}

func inferReduce(n *ir.Node) ([]ir.Spec, error) {
	return []ir.Spec{n.In[0].Spec.Clone()}, typeSet(numbers).check(n.In[0])
}

func inferScatter(n *ir.Node) ([]ir.Spec, error) {
	specs, err := inferReduce(n)
	if err != nil {
		return nil, err
	}
	axis, err := resolveAxis(int64(n.Int("axis")), specs[0].Rank())
	if err != nil {
		return nil, err
	}
	size, d := n.Int("size"), specs[0].Shape[axis]
	if d%size != 0 {
		return nil, fmt.Errorf("dimension %d of %v does not divide among %d ranks", axis, specs[0], size)
	}
	specs[0].Shape[axis] = d / size
	return specs, nil
}

func inferAllGather(n *ir.Node) ([]ir.Spec, error) {
	x := n.In[0].Spec.Clone()
	axis, err := resolveAxis(int64(n.Int("axis")), x.Rank())
	if err != nil {
		return nil, err
	}
	x.Shape[axis] *= n.Int("size")
	return []ir.Spec{x}, nil
}

func inferBroadcast(n *ir.Node) ([]ir.Spec, error) {
	return []ir.Spec{n.In[0].Spec.Clone()}, checkRank(n, "root")
}

func inferSend(n *ir.Node) ([]ir.Spec, error) {
	return []ir.Spec{{DType: tensor.I64}}, checkPeer(n)
}

func inferRecv(n *ir.Node) ([]ir.Spec, error) {
	dtype, _ := tensor.ParseDType(n.Str("dtype"))
	s := ir.Spec{DType: dtype}
	for _, d := range n.Ints("shape") {
		if d < 0 || d > tensor.MaxElements {
			return nil, fmt.Errorf("shape has the dimension %d", d)
		}
		s.Shape = append(s.Shape, int(d))
	}
	return []ir.Spec{s}, checkPeer(n)
}

func checkPeer(n *ir.Node) error {
	if n.Int("size") < 2 {
		return errors.New("a group of one rank has nobody to talk to")
	}
	return checkRank(n, "peer")
}

func checkRank(n *ir.Node, attr string) error {
	if r, size := n.Int(attr), n.Int("size"); r < 0 || r >= size {
		return fmt.Errorf("attribute %s is %d; the group has ranks 0 to %d", attr, r, size-1)
	}
	return nil
}

func reductionOf(n *ir.Node) backend.Reduction {
	if n.Str("reduce") == "max" {
		return backend.Max
	}
	return backend.Sum
}

func allReduce(c *ir.Call, g backend.Collective) error {
	if err := tensor.Copy(c.Out[0], c.In[0]); err != nil || g == nil {
		return err
	}
	return g.AllReduce(c.Ctx, reductionOf(c.Node), c.Out[0])
}

func broadcast(c *ir.Call, g backend.Collective) error {
	if err := tensor.Copy(c.Out[0], c.In[0]); err != nil || g == nil {
		return err
	}
	return g.Broadcast(c.Ctx, c.Node.Int("root"), c.Out[0])
}

// reduceScatter first puts the parts of all ranks one after another.
func reduceScatter(c *ir.Call, g backend.Collective) error {
	if g == nil {
		return tensor.Copy(c.Out[0], c.In[0])
	}
	x := c.In[0]
	parts, err := tensor.Zeros(x.DType(), x.Shape()...)
	if err != nil {
		return err
	}
	if err := interleave(c, parts, x, c.Node.Int("axis"), g.Size(), false); err != nil {
		return err
	}
	return g.ReduceScatter(c.Ctx, reductionOf(c.Node), c.Out[0], parts)
}

// allGather receives the parts one after another and then interleaves them.
func allGather(c *ir.Call, g backend.Collective) error {
	if g == nil {
		return tensor.Copy(c.Out[0], c.In[0])
	}
	out := c.Out[0]
	if axis := c.Node.Int("axis"); product(c.Node.In[0].Spec.Shape[:axis]) == 1 { // they are so already
		return g.AllGather(c.Ctx, out, c.In[0])
	}
	parts, err := tensor.Zeros(out.DType(), out.Shape()...)
	if err != nil {
		return err
	}
	if err := g.AllGather(c.Ctx, parts, c.In[0]); err != nil {
		return err
	}
	return interleave(c, out, parts, c.Node.Int("axis"), g.Size(), true)
}

func send(c *ir.Call, g backend.Collective) error {
	c.Out[0].SetElem(0, float64(c.In[0].Len()))
	return withPeer(c, g, func(peer int) error { return g.Send(c.Ctx, peer, c.In[0]) })
}

func recv(c *ir.Call, g backend.Collective) error {
	return withPeer(c, g, func(peer int) error { return g.Recv(c.Ctx, peer, c.Out[0]) })
}

func withPeer(c *ir.Call, g backend.Collective, f func(peer int) error) error {
	peer := c.Node.Int("peer")
	if peer == g.Rank() {
		return fmt.Errorf("attribute peer is %d, the rank of this process itself", peer)
	}
	return f(peer)
}

// interleave copies a tensor that its size parts along an axis make up, between
// two forms: the whole tensor, and the parts one after another in storage. join
// says that src holds the parts.
func interleave(c *ir.Call, dst, src *tensor.Tensor, axis, size int, join bool) error {
	shape := src.Shape()
	rest := product(shape[axis:]) / size
	outer, inner := product(shape[:axis]), size // of the result's storage, in rows of rest elements
	if !join {
		outer, inner = inner, outer
	}
	rows := dst.Reshape(outer, inner, rest)
	return gatherLayout(c, rows, src, ir.Layout{Strides: []int{rest, outer * rest, 1}})
}

package pass

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

var fuseRule = Rule{"fuse", true, "a kernel applies the same operations to the same elements in the same order"}

// fuseElementwise groups elementwise nodes into kernels.
//
// A kernel has one result, that of its root, and the nodes of the kernel are
// those whose every reader is in it: such a node needs no memory of its own
// and is computed exactly once per element of the result. One walk from the
// last node to the first finds all kernels, each as large as these rules
// allow; since only the root's result leaves a kernel, kernels cannot depend on
// one another in a circle.
func fuseElementwise(g *ir.Graph, r *report) error {
	f := &fuser{g: g, r: r, uses: g.Uses(), taken: takenStorage(g), root: make(map[*ir.Node]*ir.Node),
		members: make(map[*ir.Node][]*ir.Node), copied: make(map[*ir.Node]bool), out: make(map[*ir.Value]bool)}
	for _, v := range g.Outputs {
		f.out[v] = true
	}
	verdicts := make([]func(), len(g.Nodes))
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		verdicts[i] = f.decide(g.Nodes[i])
	}
	for _, n := range g.Nodes {
		if root := f.root[n]; root != nil {
			f.members[root] = append(f.members[root], n)
		}
	}
	for _, report := range verdicts { // in program order
		report()
	}
	return f.rewrite()
}

type fuser struct {
	g     *ir.Graph
	r     *report
	uses  map[*ir.Value][]*ir.Node
	out   map[*ir.Value]bool
	taken map[*ir.Value]*ir.Node
	root  map[*ir.Node]*ir.Node // the kernel of each elementwise node, named by its root
	// members are the nodes of each kernel, known when all is decided.
	members map[*ir.Node][]*ir.Node
	copied  map[*ir.Node]bool // constants that live on in kernels alone
}

// decide puts a node into the kernel of its readers or makes it the root of a
// new one, and returns the report to make.
func (f *fuser) decide(n *ir.Node) func() {
	nothing := func() {}
	elementwise := n.Op.Class == ir.Elementwise
	if elementwise {
		f.root[n] = n
	}
	if n.Op.Class == ir.Constant {
		return func() { f.copy(n) }
	}
	v := n.Out[0]
	var kernels, others []*ir.Value // results of the kernels and other nodes that read v
	for _, u := range f.uses[v] {
		if root := f.root[u]; root != nil {
			kernels = addOnce(kernels, root.Out[0])
		} else {
			others = addOnce(others, u.Out[0])
		}
	}
	if len(kernels) == 0 {
		if !elementwise || len(others) == 0 {
			return nothing
		}
		return func() { f.r.declined(&fuseRule, v, f.notElementwise(others[0]), others...) }
	}
	switch {
	case !elementwise:
		return func() { f.r.declined(&fuseRule, v, n.Op.Name+" is not elementwise", kernels...) }
	case f.out[v]:
		return func() { f.r.declined(&fuseRule, v, "it is an output of the program and must be stored", kernels...) }
	case len(others) > 0:
		return func() { f.r.declined(&fuseRule, v, f.notElementwise(others[0])+" and needs it in memory", others...) }
	case f.takenOperand(n) != nil:
		by := f.takenOperand(n)
		return func() {
			f.r.declined(&fuseRule, v, siteName(by.Out[0])+" takes the storage of an operand before the kernel runs", by.Out...)
		}
	case len(kernels) > 1:
		return func() {
			f.r.declined(&fuseRule, v, "it has more than one consumer: fusing would compute it once in each of their kernels", kernels...)
		}
	}
	result := kernels[0]
	if !tensor.ShapeEqual(v.Spec.Shape, result.Spec.Shape) {
		return func() {
			f.r.declined(&fuseRule, v, fmt.Sprintf("it is broadcast from %s to %s: fusing would compute each element again",
				tensor.FormatShape(v.Spec.Shape), tensor.FormatShape(result.Spec.Shape)), result)
		}
	}
	f.root[n] = result.Def
	return func() { f.r.applied(&fuseRule, v, "fused into the kernel of "+result.String(), result) }
}

// copy removes a constant of which every reader has a copy in its kernel: a
// scalar is copied into each, a tensor is an operand.
func (f *fuser) copy(n *ir.Node) {
	v := n.Out[0]
	if !isCopied(v) || f.out[v] || len(f.uses[v]) == 0 {
		return
	}
	var kernels []*ir.Value
	for _, u := range f.uses[v] {
		root := f.root[u]
		if len(f.members[root]) < 2 {
			return
		}
		kernels = addOnce(kernels, root.Out[0])
	}
	f.copied[n] = true
	where := "the kernel of " + kernels[0].String()
	if len(kernels) > 1 {
		where = "each kernel that reads it"
	}
	f.r.applied(&fuseRule, v, "copied into "+where, kernels...)
}

// isCopied reports whether kernels hold a value rather than read it.
func isCopied(v *ir.Value) bool {
	return v.Def != nil && v.Def.Op.Class == ir.Constant && v.Spec.Rank() == 0
}

// takenOperand is a node that takes the storage of an operand of n; the kernel
// of n may run after it.
func (f *fuser) takenOperand(n *ir.Node) *ir.Node {
	for _, v := range n.In {
		if by := f.taken[v.Owner()]; by != nil {
			return by
		}
	}
	return nil
}

func (f *fuser) notElementwise(reader *ir.Value) string {
	return fmt.Sprintf("its consumer %v (%s) is not elementwise", reader, reader.Def.Op.Name)
}

// addOnce adds v to a list of values to report, which stays short.
func addOnce(list []*ir.Value, v *ir.Value) []*ir.Value {
	if len(list) == maxBlockers || slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// rewrite replaces each kernel of two or more nodes by a fused node in the
// place of its root.
func (f *fuser) rewrite() error {
	var nodes []*ir.Node
	for _, n := range f.g.Nodes {
		root := f.root[n]
		switch {
		case f.copied[n]:
		case root == nil || len(f.members[root]) == 1:
			nodes = append(nodes, n)
		case root == n:
			nodes = append(nodes, fuse(f.members[n]))
		}
	}
	f.g.Nodes = nodes
	return nil
}

// fuse makes the fused node of a kernel, whose last member is its root.
func fuse(kernel []*ir.Node) *ir.Node {
	root := kernel[len(kernel)-1]
	k := &kernelBody{
		node:   &ir.Node{Op: op.Fused(), Out: root.Out, Pos: slices.Clone(root.Pos)},
		body:   &ir.Graph{Name: ir.BodyName},
		scalar: make(map[*ir.Value]*ir.Value),
	}
	for _, n := range kernel {
		k.add(n)
	}
	k.body.Outputs = []*ir.Value{k.scalar[root.Out[0]]}
	k.node.Body = k.body
	root.Out[0].Def = k.node
	return k.node
}

// kernelBody builds the scalar program of a fused node.
type kernelBody struct {
	node   *ir.Node
	body   *ir.Graph
	scalar map[*ir.Value]*ir.Value // the scalar that stands for each value
}

func (k *kernelBody) add(n *ir.Node) {
	m := &ir.Node{Op: n.Op, Attrs: n.Attrs, Pos: slices.Clone(n.Pos)}
	for _, v := range n.In {
		m.In = append(m.In, k.operand(v))
	}
	k.define(m, n.Out[0])
	k.node.Pos = mergePos(k.node.Pos, n.Pos)
}

// operand returns the scalar for a value that is read in the kernel. One from
// outside becomes a scalar constant or another operand of the kernel.
func (k *kernelBody) operand(v *ir.Value) *ir.Value {
	if s := k.scalar[v]; s != nil {
		return s
	}
	if isCopied(v) {
		return k.define(&ir.Node{Op: v.Def.Op, Attrs: v.Def.Attrs, Pos: slices.Clone(v.Def.Pos)}, v)
	}
	s := &ir.Value{Name: v.Name, Spec: scalarSpec(v)}
	k.scalar[v] = s
	k.body.Inputs = append(k.body.Inputs, s)
	k.node.In = append(k.node.In, v)
	return s
}

func (k *kernelBody) define(m *ir.Node, of *ir.Value) *ir.Value {
	s := &ir.Value{Name: of.Name, Spec: scalarSpec(of), Def: m}
	m.Out = []*ir.Value{s}
	k.scalar[of] = s
	k.body.Nodes = append(k.body.Nodes, m)
	return s
}

// scalarSpec is the spec of the scalar that stands for v in a kernel.
func scalarSpec(v *ir.Value) ir.Spec { return ir.Spec{DType: v.Spec.DType, Device: v.Spec.Device} }

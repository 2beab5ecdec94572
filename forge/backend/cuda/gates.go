package cuda

import (
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// findGates finds the products whose only reader multiplies them by a value that is there
// before, as a gated feed-forward layer does. The product's kernel then does that as well,
// where it has the sums, and writes to memory of the result's own.
func (p *program) findGates() {
	p.gates = make(map[*ir.Node]*ir.Node)
	at, reader := make(map[*ir.Node]int), make(map[*ir.Value]*ir.Node)
	for i, n := range p.Graph.Nodes {
		at[n] = i
		for _, v := range n.In {
			reader[v] = n
		}
	}
	read := p.lastReads(at)
	for _, n := range p.Graph.Nodes {
		m := reader[n.Out[0]]
		if n.Op.Name != "linear" && n.Op.Name != "matmul" || m == nil || m.Op.Name != "mul" || p.uses[n.Out[0]] != 1 || !p.gated(n, m, at) {
			continue
		}
		p.gates[n], p.covered[m] = m, n
		p.rooms.move(p, m.Out[0], at[n], read[m.Out[0]])
	}
}

// gated reports whether the kernel of a product can multiply as well.
func (p *program) gated(n, m *ir.Node, at map[*ir.Node]int) bool {
	other, out := otherOperand(m, n.Out[0]), m.Out[0]
	place := p.Program.Place(out)
	if place.Buffer < 0 || p.Buffers[place.Buffer].Slot < 0 || p.covered[m] != nil || p.IsView(out) {
		return false
	}
	if owner := p.owner(other); owner.Def != nil && at[owner.Def] >= at[n] {
		return false
	}
	for _, v := range []*ir.Value{other, out} {
		if v.Spec.DType != tensor.F32 || !slices.Equal(v.Spec.Shape, n.Out[0].Spec.Shape) || !slices.Equal(p.Strides(v), p.Strides(n.Out[0])) {
			return false
		}
	}
	kernels, err := p.Program.Lower(n)
	return err == nil && len(kernels) == 1 && kernels[0].Contraction != nil && !ownMemory(kernels[0])
}

// otherOperand is what a product of two elements multiplies a value with, perhaps itself.
func otherOperand(m *ir.Node, v *ir.Value) *ir.Value {
	if m.In[0] == v {
		return m.In[1]
	}
	return m.In[0]
}

// Lower is [planned.Program.Lower], with what the product of a gate does besides.
func (p *program) Lower(n *ir.Node) ([]*loop.Kernel, error) {
	kernels, err := p.Program.Lower(n)
	return p.withGate(n, kernels), err
}

// withGate makes the kernel of a product multiply, too.
func (p *program) withGate(n *ir.Node, kernels []*loop.Kernel) []*loop.Kernel {
	m := p.gates[n]
	if m == nil {
		return kernels
	}
	k, c := *kernels[0], *kernels[0].Contraction
	k.Params = slices.Clone(k.Params)
	k.Params[c.Out.Param].Value = m.Out[0]
	other := c.Out
	other.Param = len(k.Params)
	k.Params = append(k.Params, loop.Param{Value: otherOperand(m, n.Out[0])})
	sum := c.Epilogue
	if sum == nil {
		sum = &loop.Expr{Op: loop.Acc, Type: tensor.F32}
	}
	args := []*loop.Expr{sum, {Op: loop.Load, Type: tensor.F32, Access: &other}}
	if m.In[0] != n.Out[0] {
		slices.Reverse(args)
	}
	c.Epilogue = &loop.Expr{Op: "mul", Type: tensor.F32, Args: args}
	k.Contraction = &c
	return []*loop.Kernel{&k}
}

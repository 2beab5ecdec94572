package cuda

import (
	"context"
	"fmt"
	"slices"

	"forgekernel/display"
	"forgekernel/forge/backend/cuda/peer"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// rankSum is an all-reduce of a small tensor that one kernel does through peer memory,
// with what a decoder does with the sum: it adds the residual stream and normalises the
// lines. The results of those nodes get memory of their own, since they are there before
// their turn.
type rankSum struct {
	node      *ir.Node
	add, norm *ir.Node // nil where there is none
	reduction peer.Reduction
	mailboxes mailboxes
}

// mailboxes are those of the ranks of a group, for so many of whom a kernel was made.
type mailboxes struct {
	group string
	size  int
}

// of is their memory in a run.
func (m *mailboxes) of(ctx context.Context) (*peer.Memory, error) {
	x, err := exchanging(ctx, m.group, m.size)
	if err != nil {
		return nil, err
	}
	memory, why := x.Peer()
	if memory == nil {
		return nil, fmt.Errorf("the program was compiled for ranks of group %q that exchange tensors by kernels, which these do not: %s", m.group, why)
	}
	return memory, nil
}

// mailed is [unit.mailed] for the groups of a context.
func mailed(ctx context.Context, group string, size int) string {
	x, err := exchanging(ctx, group, size)
	if err != nil {
		return err.Error()
	}
	memory, why := x.Peer()
	if memory == nil && why == "" {
		return "they have no memory for it"
	}
	return why
}

// findRankSums finds the all-reduces that one kernel does.
func (p *program) findRankSums() {
	p.sums = make(map[*ir.Node]*rankSum)
	at, readers := make(map[*ir.Node]int), make(map[*ir.Value][]*ir.Node)
	for i, n := range p.Graph.Nodes {
		at[n] = i
		for _, v := range n.In {
			readers[v] = append(readers[v], n)
		}
	}
	read := p.lastReads(at)
	for _, n := range p.Graph.Nodes {
		s := p.rankSum(n)
		if s == nil {
			continue
		}
		sum := n.Out[0]
		if list := readers[sum]; len(list) == 1 && p.uses[sum] == 1 && p.addsTo(list[0], sum, at) {
			s.add, s.reduction.Adds = list[0], true
			sum = s.add.Out[0]
		}
		for _, m := range readers[sum] {
			if s.norm == nil && s.normalise(p, m, sum, at) {
				s.norm = m
			}
		}
		for _, m := range []*ir.Node{s.add, s.norm} {
			if m != nil {
				p.covered[m] = n
				p.rooms.move(p, m.Out[0], at[n], read[m.Out[0]])
			}
		}
		p.sums[n] = s
	}
}

// rankSum is the sum of a node alone; nil where it is none, or too large.
func (p *program) rankSum(n *ir.Node) *rankSum {
	if n.Op.Name != "all_reduce" || n.Str("reduce") == "max" || n.In[0].Spec.DType != tensor.F32 || p.unit.mailed == nil {
		return nil
	}
	x, elements := n.In[0], n.In[0].Spec.Elements()
	s := &rankSum{node: n, mailboxes: mailboxes{n.Str("group"), n.Int("size")}}
	s.reduction = peer.Reduction{Ranks: s.mailboxes.size, Elements: elements}.Divide()
	if !s.reduction.Fits() || !slices.Equal(p.Strides(x), tensor.Strides(x.Spec.Shape)) || p.unit.mailed(s.mailboxes.group, s.mailboxes.size) != "" {
		return nil
	}
	return s
}

// addsTo reports whether a node adds a value that is there before to a sum, and nothing
// more.
func (p *program) addsTo(m *ir.Node, sum *ir.Value, at map[*ir.Node]int) bool {
	if m.Op.Name != "add" || !p.movable(m.Out[0]) || p.covered[m] != nil {
		return false
	}
	other := otherOperand(m, sum)
	return other != sum && slices.Equal(other.Spec.Shape, sum.Spec.Shape) && p.before(other, at[sum.Def], at) &&
		slices.Equal(p.Strides(other), tensor.Strides(other.Spec.Shape))
}

// normalise makes a norm of the last dimension part of the sum, if a node is one.
func (s *rankSum) normalise(p *program, m *ir.Node, sum *ir.Value, at map[*ir.Node]int) bool {
	rank := sum.Spec.Rank()
	if m.Op.Name != "rms_norm" || m.In[0] != sum || len(m.In) != 2 || m.Int("axis") != rank-1 || !p.movable(m.Out[0]) || p.covered[m] != nil {
		return false
	}
	with := s.reduction.DivideLines(sum.Spec.Shape[rank-1], p.unit.target.capability >= 90)
	with.Norms, with.Eps = true, float32(m.Float("eps"))
	weight := m.In[1]
	if !with.Fits() || !given(p.owner(weight)) || !slices.Equal(p.Strides(weight), tensor.Strides(weight.Spec.Shape)) {
		return false
	}
	s.reduction = with
	return true
}

// movable reports whether a result may stand elsewhere than the plan says.
func (p *program) movable(v *ir.Value) bool {
	place := p.Program.Place(v)
	return !p.IsView(v) && place.Buffer >= 0 && p.Buffers[place.Buffer].Slot >= 0 && v.Spec.DType == tensor.F32
}

// given reports whether no node computes a value, so that a kernel may read it before the
// one in front of it has ended.
func given(v *ir.Value) bool { return v.Def == nil || v.Def.Op.Class == ir.Constant }

// before reports whether a value is there before a node, by index.
func (p *program) before(v *ir.Value, n int, at map[*ir.Node]int) bool {
	owner := p.owner(v)
	return owner.Def == nil || at[owner.Def] < n
}

// addRankSum adds the step of a sum.
func (p *program) addRankSum(s *rankSum) (kernel, reason string, err error) {
	x, sum, kernel := s.node.In[0], s.node.Out[0], "sum over ranks"
	if s.add != nil {
		kernel += ", add"
		sum = s.add.Out[0]
	}
	args := []planned.Place{p.Place(sum)}
	if s.norm != nil {
		kernel += ", rms_norm"
		args = append(args, p.Place(s.norm.Out[0]))
	}
	args = append(args, p.Place(x))
	if s.add != nil {
		args = append(args, p.Place(otherOperand(s.add, s.node.Out[0])))
	}
	if s.norm != nil {
		args = append(args, p.Place(s.norm.In[1]))
	}
	s.reduction.Aligned = true
	for _, at := range args {
		s.reduction.Aligned = s.reduction.Aligned && at.Offset%vectorBytes == 0
	}
	text, blocks, threads := s.reduction.Kernel(placeholder)
	p.add(s.node, "all_reduce", []piece{{
		shared: []string{peer.Shared}, text: text, launch: flat(blocks, threads), args: args, enters: true, mailboxes: &s.mailboxes,
	}})
	reason = fmt.Sprintf("%s between %d ranks of group %s, which write to one another's memory", display.FormatBytes(int64(x.Spec.Bytes())), s.mailboxes.size, s.mailboxes.group)
	return kernel + ", one kernel", reason, nil
}

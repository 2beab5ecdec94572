package cuda

import (
	"math"
	"slices"

	"forgekernel/forge/backend/cuda/attention"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

func init() { templates = append(templates, attend) }

// attend is the template of attentions. What their loop form requires of positions and
// tables is checked by its nests, before the kernel.
func attend(p *program, n *ir.Node) ([]choice, string) {
	kernels, err := loop.LowerWide(n, p.Strides)
	if err != nil || kernels[len(kernels)-1].Attention == nil {
		return nil, ""
	}
	last := kernels[len(kernels)-1]
	shape, covers, result := p.attention(n, last)
	places := p.attentionPlaces(last)
	var list []attention.Kernel
	joined := p.joined[n]
	if joined != nil {
		list = shape.Joined(p.describe(joined), p.unit.target.attention())
		places[attention.Q] = planned.Place{Buffer: -1}
		places = append(places, p.Place(joined.q.source), p.Place(joined.k.source), p.Place(joined.v.source))
	} else if list, err = attention.Candidates(shape, p.unit.target.attention()); err != nil {
		return nil, err.Error()
	}
	var checks []piece
	for _, k := range kernels[:len(kernels)-1] {
		if p.appended(n.In[1]) {
			break // the kernel that appended the keys has checked the same
		}
		more, err := p.print(k, p.places(k))
		if err != nil {
			return nil, err.Error()
		}
		checks = append(checks, more...)
	}
	var moves []*ir.Value
	if result != nil {
		places[attention.Out], moves = moved(0), []*ir.Value{result}
	}
	var choices []choice
	for _, k := range list {
		places[attention.Counters] = counters(0)
		places[attention.Scratch] = scratch(0)
		choices = append(choices, choice{
			name: k.Name, reason: k.Reason, covers: covers, moves: moves, scratch: k.Scratch, counters: k.Counters,
			pieces: append(checks[:len(checks):len(checks)], piece{
				shared: k.Shared, text: k.Text, launch: launch{grid: k.Grid, threads: k.Threads, shared: k.Dynamic}, args: places, specific: k.Specific,
				enters: joined != nil && p.settled(joined), canFault: joined != nil,
			}),
		})
	}
	return choices, ""
}

// gathered finds what brings the result of an attention to [batch, query, head * channel],
// and in half precision to f32, and is read by nothing else: the nodes, and the value that
// they end with; nil where there is none, or where it is a view of the result.
func (p *program) gathered(n *ir.Node) (nodes []*ir.Node, v *ir.Value) {
	v = n.Out[0]
	shape := v.Spec.Shape
	next := func(name string) *ir.Node {
		if p.uses[v] != 1 {
			return nil
		}
		for _, m := range p.Graph.Nodes {
			if m.Op.Name == name && len(m.In) == 1 && m.In[0] == v {
				return m
			}
		}
		return nil
	}
	step := func(m *ir.Node) { nodes, v = append(nodes, m), m.Out[0] }
	if m := next("transpose"); m != nil && slices.Equal(m.Ints("perm"), []int64{0, 2, 1, 3}) {
		step(m)
	} else if shape[1] > 1 && shape[2] > 1 {
		return nil, nil
	}
	m := next("reshape")
	if m == nil || !slices.Equal(m.Out[0].Spec.Shape, []int{shape[0], shape[2], shape[1] * shape[3]}) {
		return nil, nil
	}
	step(m)
	half := n.Out[0].Spec.DType == tensor.F16 || n.Out[0].Spec.DType == tensor.BF16
	if m := next("cast"); m != nil && half && m.Out[0].Spec.DType == tensor.F32 {
		step(m)
	}
	// Only what has memory of its own can get other memory.
	if p.Graph.IsOutput(v) || p.IsView(v) || !(ir.Layout{Strides: p.Strides(v)}).Contiguous(v.Spec.Shape) {
		return nil, nil
	}
	return nodes, v
}

// attention is what the choice of a kernel depends on.
func (t target) attention() attention.Device {
	return attention.Device{Capability: int(t.capability), SMs: t.sms, Shared: t.shared}
}

// places are those of the parameters of a kernel without memory of its own.
func (p *program) places(k *loop.Kernel) []planned.Place {
	var args []planned.Place
	for _, q := range k.Params {
		args = append(args, p.Place(q.Value))
	}
	return args
}

// attentionPlaces are the operands of an attention; those that it does not have are
// nowhere.
func (p *program) attentionPlaces(k *loop.Kernel) []planned.Place {
	places := make([]planned.Place, attention.Operands)
	for i := range places {
		places[i] = planned.Place{Buffer: -1}
	}
	put := func(o attention.Operand, a *loop.Access) {
		if a != nil {
			places[o] = p.Place(k.Params[a.Param].Value)
		}
	}
	a := k.Attention
	put(attention.Q, &a.Q)
	put(attention.K, &a.K)
	put(attention.V, &a.V)
	put(attention.Out, &a.Out)
	put(attention.MaskOf, a.Mask)
	if c := a.Cache; c != nil {
		put(attention.TableOf, c.Table)
		put(attention.PosOf, &c.Pos)
		put(attention.LengthOf, c.Length)
	}
	return places
}

// attention describes the kernel k of a node, with what is gathered behind it.
func (p *program) attention(n *ir.Node, k *loop.Kernel) (shape attention.Shape, covers []*ir.Node, result *ir.Value) {
	shape = p.attentionAlone(n, k)
	if covers, result = p.gathered(n); result != nil {
		shape.Widened = result.Spec.DType != shape.DType
		shape.Out = attention.Steps{
			Batch: shape.Queries * shape.Heads * shape.E, Head: shape.E, Row: shape.Heads * shape.E, Channel: 1,
		}
	}
	return shape, covers, result
}

// attentionAlone is [program.attention] of the node alone.
func (p *program) attentionAlone(n *ir.Node, k *loop.Kernel) attention.Shape {
	a := k.Attention
	s := attention.Shape{
		DType: n.Out[0].Spec.DType, Batches: a.Batches, Heads: a.Heads, Groups: a.Groups, Queries: a.Queries, Keys: a.Keys, D: a.D, E: a.E,
		Causal: a.Causal, Strict: a.Strict, Scale: n.Float("scale"),
		Q: steps(a.Q), K: steps(a.K), V: steps(a.V), Out: steps(a.Out), Aligned: true,
	}
	if s.Scale == 0 {
		s.Scale = 1 / math.Sqrt(float64(a.D))
	}
	for _, x := range []loop.Access{a.Q, a.K, a.V, a.Out} {
		s.Aligned = s.Aligned && aligned(p.Place(k.Params[x.Param].Value))
	}
	if a.Mask != nil {
		s.Mask = &attention.Mask{Bool: k.MaskIsBool(), Steps: [4]int(a.Mask.Strides)}
	}
	c := a.Cache
	if c == nil {
		return s
	}
	index := func(x *loop.Access) attention.Index {
		return attention.Index{DType: k.Params[x.Param].DType(), Step: x.Strides[0]}
	}
	s.Cache = &attention.Cache{Pos: index(&c.Pos)}
	if c.Length != nil {
		length := index(c.Length)
		s.Cache.Length = &length
	}
	if t := c.Table; t != nil {
		s.Cache.Table = &attention.Table{DType: k.Params[t.Param].DType(), Row: t.Strides[0], Step: t.Strides[1], Block: c.Block, Blocks: c.Blocks}
	}
	return s
}

func steps(a loop.Access) attention.Steps {
	return attention.Steps{Batch: a.Strides[0], Head: a.Strides[1], Row: a.Strides[2], Channel: a.Strides[3]}
}

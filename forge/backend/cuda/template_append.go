package cuda

import (
	"slices"

	"forgekernel/forge/backend/cuda/attention"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/op"
)

// appending is what happens to new tokens before a cached attention: the nodes of
// rotary positions, casts and appends, which one kernel computes where the last of them
// would, or the kernel of the attention itself. What it reads gets memory of its own, which
// others do not take before, and so do the queries that it gives.
type appending struct {
	nodes     []*ir.Node // in the order of the program
	attention *ir.Node
	q, k, v   newTokens
	keys      *ir.Node // the appends
	values    *ir.Node
}

// newTokens is the way of new queries, keys or values: from a source by way of a rope and
// a cast, either of which may be missing.
type newTokens struct {
	source, result *ir.Value
	rope           *ir.Node
	nodes          []*ir.Node
}

// last is the node in whose place the kernel runs.
func (a *appending) last() *ir.Node { return a.nodes[len(a.nodes)-1] }

// addAppending adds the step of an appending.
func (p *program) addAppending(a *appending) (kernel, reason string, err error) {
	k, err := p.describe(a).Kernel()
	if err != nil {
		return "", "", err
	}
	args := make([]planned.Place, attention.AppendOperands)
	for i := range args {
		args[i] = planned.Place{Buffer: -1}
	}
	if len(a.q.nodes) > 0 {
		args[attention.NewQ], args[attention.TurnedQ] = p.Place(a.q.source), p.Place(a.q.result)
	}
	args[attention.NewK], args[attention.NewV] = p.Place(a.k.source), p.Place(a.v.source)
	args[attention.KeysOf], args[attention.ValuesOf] = p.Place(a.keys.Out[0]), p.Place(a.values.Out[0])
	rest := a.keys.In[2:]
	if a.keys.Op.Name == "paged_kv_append" {
		args[attention.AppendTable], rest = p.Place(rest[0]), rest[1:]
	}
	args[attention.AppendPos] = p.Place(rest[0])
	if len(rest) > 1 {
		args[attention.AppendLength] = p.Place(rest[1])
	}
	p.add(a.last(), "append", []piece{{
		shared: k.Shared, text: k.Text, launch: launch{grid: k.Grid, threads: k.Threads}, args: args, canFault: true,
	}})
	return k.Name, k.Reason, nil
}

// findAppends finds the appendings of a program, by their last nodes, and the memory of
// what they read and give.
func (p *program) findAppends() {
	p.appends, p.joined = make(map[*ir.Node]*appending), make(map[*ir.Node]*appending)
	at := make(map[*ir.Node]int)
	for i, n := range p.Graph.Nodes {
		at[n] = i
	}
	read := p.lastReads(at)
	for _, n := range p.Graph.Nodes {
		a := p.appending(n)
		if a == nil {
			continue
		}
		slices.SortFunc(a.nodes, func(x, y *ir.Node) int { return at[x] - at[y] })
		joined := p.late(a, at, at[n]) && len(p.joinedKernels(a)) > 0
		last := at[a.last()]
		if joined {
			last = at[n]
		} else if _, err := p.describe(a).Kernel(); err != nil || !p.late(a, at, last) {
			continue
		}
		for _, v := range []*ir.Value{a.q.source, a.k.source, a.v.source} {
			base := p.owner(v)
			if place := p.Program.Place(base); base.Def != nil && place.Buffer >= 0 && p.Buffers[place.Buffer].Slot >= 0 {
				p.rooms.move(p, base, at[base.Def], max(last, read[base]))
			}
		}
		if joined {
			p.joined[n] = a
			for _, m := range a.nodes {
				p.covered[m] = n
			}
			continue
		}
		if len(a.q.nodes) > 0 {
			p.rooms.move(p, a.q.result, last, at[n])
		}
		p.appends[a.last()] = a
		for _, m := range a.nodes[:len(a.nodes)-1] {
			p.covered[m] = a.last()
		}
	}
}

// joinedKernels are those of an attention that do what the appending does, too.
func (p *program) joinedKernels(a *appending) []attention.Kernel {
	kernels, err := loop.LowerWide(a.attention, p.Strides)
	if err != nil || kernels[len(kernels)-1].Attention == nil {
		return nil
	}
	shape, _, _ := p.attention(a.attention, kernels[len(kernels)-1])
	return shape.Joined(p.describe(a), p.unit.target.attention())
}

// settled reports whether nothing in the program but the attention's kernel writes the
// caches, or what says where in them keys are.
func (p *program) settled(a *appending) bool {
	for _, v := range a.keys.In[2:] {
		if !p.still(p.Place(v)) {
			return false
		}
	}
	return a.keys.In[0].Def == nil && a.values.In[0].Def == nil
}

// appended reports whether the kernel of an appending writes a cache.
func (p *program) appended(v *ir.Value) bool {
	return v.Def != nil && (p.covered[v.Def] != nil || p.appends[v.Def] != nil)
}

// lastReads are the nodes that read values, or views of them, last, by index.
func (p *program) lastReads(at map[*ir.Node]int) map[*ir.Value]int {
	read := make(map[*ir.Value]int)
	for _, n := range p.Graph.Nodes {
		for _, v := range n.In {
			read[p.owner(v)] = at[n]
		}
	}
	for _, v := range p.Graph.Outputs {
		read[p.owner(v)] = len(p.Graph.Nodes)
	}
	return read
}

// owner is the value in whose storage a view lies.
func (p *program) owner(v *ir.Value) *ir.Value {
	for p.IsView(v) {
		v = v.Def.In[0]
	}
	return v
}

// late reports whether the kernel of an appending can run in the place of a node: nobody
// reads what it gives before, and no node is of another appending.
func (p *program) late(a *appending, at map[*ir.Node]int, place int) bool {
	for _, n := range a.nodes {
		if p.covered[n] != nil || p.appends[n] != nil {
			return false
		}
	}
	for _, n := range p.Graph.Nodes[:place] {
		if slices.Contains(a.nodes, n) || p.IsView(n.Out[0]) {
			continue
		}
		for _, v := range n.In {
			if owner := p.owner(v); owner.Def != nil && slices.Contains(a.nodes, owner.Def) {
				return false
			}
		}
	}
	return true
}

// rooms is memory for values that stand elsewhere than the plan says, which those share
// whose times do not overlap.
type rooms []room

type room struct {
	place planned.Place
	bytes int64
	until int // the node that reads it last, by index
}

// move gives a value memory from the node that computes it to the one that reads it last.
func (r *rooms) move(p *program, v *ir.Value, from, until int) {
	if _, moved := p.moved[v]; moved {
		return
	}
	for i := range *r {
		if have := &(*r)[i]; have.until < from && have.bytes == v.Spec.Bytes() {
			p.moved[v], have.until = have.place, until
			return
		}
	}
	place := p.AddLocal(&loop.Local{Name: v.Name, DType: v.Spec.DType, Elements: v.Spec.Elements()})
	p.moved[v] = place
	*r = append(*r, room{place, v.Spec.Bytes(), until})
}

// appending is that of an attention; nil where there is none.
func (p *program) appending(n *ir.Node) *appending {
	if n.Op.Name != "cached_attention" && n.Op.Name != "paged_attention" {
		return nil
	}
	a := &appending{attention: n, keys: n.In[1].Def, values: n.In[2].Def}
	for _, m := range []*ir.Node{a.keys, a.values} {
		// The cache has the rows of the attention, and nobody reads it as it was.
		if m == nil || m.Op.Class != ir.State || !m.Op.Donates || !slices.Equal(m.In[2:], n.In[3:]) ||
			p.Program.Place(m.Out[0]) != p.Program.Place(m.In[0]) || p.uses[m.In[0]] != 1 {
			return nil
		}
	}
	pos := n.In[3]
	if n.Op.Name == "paged_attention" {
		pos = n.In[4]
	}
	a.q, a.k, a.v = p.newTokens(n.In[0], pos), p.newTokens(a.keys.In[1], pos), p.newTokens(a.values.In[1], pos)
	q, k := a.q.rope, a.k.rope
	turned := len(a.q.nodes) == 0 && k == nil || q != nil && k != nil && q.Str("style") == k.Str("style") && slices.Equal(op.Frequencies(q), op.Frequencies(k)) ||
		q == nil && k == nil
	d := a.k.source.Spec.DType
	if !turned || a.v.rope != nil || a.v.source.Spec.DType != d || len(a.q.nodes) > 0 && a.q.source.Spec.DType != d || a.v.source.Spec.Elements() == 0 {
		return nil
	}
	a.nodes = slices.Concat(a.q.nodes, a.k.nodes, a.v.nodes, []*ir.Node{a.keys, a.values})
	return a
}

// newTokens follows a value back over a cast and a rope that nothing else reads.
func (p *program) newTokens(v, pos *ir.Value) newTokens {
	t := newTokens{source: v, result: v}
	back := func() {
		t.nodes = append(t.nodes, t.source.Def)
		t.source = t.source.Def.In[0]
	}
	own := func(name string) bool {
		d := t.source.Def
		return d != nil && d.Op.Name == name && p.uses[t.source] == 1 && p.Idle(d) == ""
	}
	if own("cast") && t.source.Def.In[0].Spec.DType.IsFloat() {
		back()
	}
	if own("rope") && t.source.Def.In[1] == pos {
		t.rope = t.source.Def
		back()
	}
	return t
}

// describe is an appending for package attention.
func (p *program) describe(a *appending) *attention.Append {
	of := func(v *ir.Value) attention.Steps {
		s := p.Strides(v)
		return attention.Steps{Batch: s[0], Head: s[1], Row: s[2], Channel: s[3]}
	}
	k, v, cache := a.k.source.Spec.Shape, a.v.source.Spec.Shape, a.keys.In[0].Spec.Shape
	d := &attention.Append{
		From: a.k.source.Spec.DType, To: a.keys.Out[0].Spec.DType,
		Batches: k[0], Groups: k[1], Tokens: k[2], D: k[3], E: v[3], Capacity: cache[2],
		K: of(a.k.source), V: of(a.v.source), Keys: of(a.keys.Out[0]), Values: of(a.values.Out[0]),
	}
	if len(a.q.nodes) > 0 {
		shape := a.q.result.Spec.Shape
		d.Heads, d.Q = shape[1], of(a.q.source)
		d.QOut = attention.Steps{Batch: shape[1] * shape[2] * shape[3], Head: shape[2] * shape[3], Row: shape[3], Channel: 1}
	}
	if a.k.rope != nil {
		d.Frequencies, d.Interleaved = op.Frequencies(a.k.rope), a.k.rope.Str("style") != "half"
	}
	rest := a.keys.In[2:]
	index := func(v *ir.Value) attention.Index {
		step := 0
		if v.Spec.Rank() > 0 {
			step = p.Strides(v)[0]
		}
		return attention.Index{DType: v.Spec.DType, Step: step}
	}
	if a.keys.Op.Name == "paged_kv_append" {
		table := rest[0]
		rest = rest[1:]
		s := p.Strides(table)
		d.Cache.Table = &attention.Table{DType: table.Spec.DType, Row: s[0], Step: s[1], Block: cache[2], Blocks: cache[0]}
		d.Capacity *= table.Spec.Shape[1]
	}
	d.Cache.Pos = index(rest[0])
	if len(rest) > 1 {
		length := index(rest[1])
		d.Cache.Length = &length
	}
	return d
}

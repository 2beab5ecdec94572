package generate

import (
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

func (m *maker) activation() string {
	return choose(m, "none", "none", "relu", "gelu", "gelu_tanh", "silu")
}

// weightType is the type of what x of a type is multiplied by: mostly the same.
func (m *maker) weightType(x tensor.DType) tensor.DType {
	if x == tensor.F32 && m.chance(4) {
		return choose(m, tensor.F16, tensor.BF16)
	}
	return x
}

func matmul(m *maker, o *ir.Op) {
	dtype := m.float()
	rows, inner, columns := m.long(m.dim()), m.long(m.dim()), m.long(m.dim())
	batch := m.shape()
	batch = batch[:min(len(batch), 2)]
	a := append(slices.Clone(m.broadcastable(batch)), rows, inner)
	b := append(slices.Clone(m.broadcastable(batch)), inner, columns)
	m.apply(o, ir.Attrs{"act": m.activation()}, m.want(dtype, a...), m.want(dtype, b...))
}

func linear(m *maker, o *ir.Op) {
	x := m.floating(1)
	in, out := x.Spec.Shape[x.Spec.Rank()-1], m.long(m.dim())
	operands := []*ir.Value{x, m.want(m.weightType(x.Spec.DType), in, out)}
	if m.chance(2) {
		operands = append(operands, m.want(x.Spec.DType, out))
	}
	if len(operands) > 2 && m.chance(3) {
		residual := append(slices.Clone(x.Spec.Shape[:x.Spec.Rank()-1]), out)
		operands = append(operands, m.want(x.Spec.DType, residual...))
	}
	m.apply(o, ir.Attrs{"act": m.activation()}, operands...)
}

func conv(m *maker, o *ir.Op) {
	dtype := m.float()
	groups, perGroup := choose(m, 1, 1, 2), m.size()
	in, out := groups*perGroup, groups*m.long(m.size())
	h, w := 1+m.rng.IntN(3), 1+m.rng.IntN(3)
	attrs := ir.Attrs{"groups": groups, "act": m.activation()}
	m.window(attrs, "stride", "dilation", "padding")
	operands := []*ir.Value{m.want(dtype, m.dim(), in, 3+m.rng.IntN(4), m.long(3+m.rng.IntN(4))), m.want(dtype, out, perGroup, h, w)}
	if m.chance(2) {
		operands = append(operands, m.want(dtype, out))
	}
	m.apply(o, attrs, operands...)
}

// window sets some of the named attributes.
func (m *maker) window(attrs ir.Attrs, names ...string) {
	for _, name := range names {
		if !m.chance(3) {
			continue
		}
		pair := []int{1 + m.rng.IntN(2), 1 + m.rng.IntN(2)}
		if name == "padding" {
			pair = []int{m.rng.IntN(2), m.rng.IntN(2)}
		}
		attrs[name] = pair
	}
}

func pool(m *maker, o *ir.Op) {
	attrs := ir.Attrs{"kernel": []int{1 + m.rng.IntN(3), 1 + m.rng.IntN(3)}}
	m.window(attrs, "stride", "padding")
	if o.Name == "avg_pool2d" {
		attrs["count_include_pad"] = m.chance(2)
	}
	m.apply(o, attrs, m.want(m.float(), m.dim(), m.dim(), 3+m.rng.IntN(3), m.long(3+m.rng.IntN(3))))
}

// heads gives numbers of query and key heads.
func (m *maker) heads() (query, key int) {
	key = 1 + m.rng.IntN(2)
	return key * choose(m, 1, 1, 2), key
}

func sdpa(m *maker, o *ir.Op) {
	dtype := m.float()
	b, queries, keys, d, e := m.dim(), m.long(m.dim()), m.long(m.dim()), m.long(m.size()), m.long(m.dim())
	h, g := m.heads()
	operands := []*ir.Value{m.want(dtype, b, h, queries, d), m.want(dtype, b, g, keys, d), m.want(dtype, b, g, keys, e)}
	attrs := ir.Attrs{"strict": m.chance(3)}
	switch m.rng.IntN(4) {
	case 0:
		attrs["causal"] = true
	case 1:
		operands = append(operands, m.want(choose(m, dtype, tensor.Bool), m.broadcastable([]int{b, h, queries, keys})...))
	}
	if m.chance(3) {
		attrs["scale"] = 0.75
	}
	m.apply(o, attrs, operands...)
}

// places gives the operands pos and, sometimes, length of batches rows with the
// given number of tokens, in a cache with room.
func (m *maker) places(batches, tokens, room int) []*ir.Value {
	dtype := m.index()
	shape := []int{}
	if m.chance(2) {
		shape = []int{batches}
	}
	pos := []*ir.Value{m.fresh(dtype, shape, m.below(room-tokens+1))}
	if m.chance(2) {
		pos = append(pos, m.fresh(dtype, shape, m.below(room+1)))
	}
	return pos
}

func cachedAttention(m *maker, o *ir.Op) {
	dtype := m.float()
	b, tokens, d := m.size(), 1+m.rng.IntN(2), m.size()
	room := tokens + m.long(m.rng.IntN(4))
	h, g := m.heads()
	operands := []*ir.Value{m.want(dtype, b, h, tokens, d), m.want(dtype, b, g, room, d), m.want(dtype, b, g, room, m.size())}
	m.apply(o, nil, append(operands, m.places(b, tokens, room)...)...)
}

// table gives a block table of different blocks, and the number of blocks.
func (m *maker) table(batches, width int) (*ir.Value, int) {
	blocks := batches*width + m.rng.IntN(2)
	order := m.rng.Perm(blocks)
	return m.fresh(m.index(), []int{batches, width}, func(_ tensor.DType, i int) float64 { return float64(order[i]) }), blocks
}

func pagedAttention(m *maker, o *ir.Op) {
	dtype := m.float()
	b, width, size, tokens, d := m.size(), m.size(), m.size(), 1, m.size()
	h, g := m.heads()
	table, blocks := m.table(b, width)
	operands := []*ir.Value{m.want(dtype, b, h, tokens, d), m.want(dtype, blocks, g, size, d), m.want(dtype, blocks, g, size, m.size()), table}
	m.apply(o, nil, append(operands, m.places(b, tokens, width*size)...)...)
}

// cache gives a value that a node may take over, and a new one that shares no
// storage with it.
func (m *maker) cache(dtype tensor.DType, cache, tokens []int) (*ir.Value, *ir.Value) {
	state := m.want(dtype, cache...)
	fresh := m.want(dtype, tokens...)
	if fresh.Owner() == state.Owner() {
		fresh = m.fresh(dtype, tokens, m.fill)
	}
	return state, fresh
}

func kvAppend(m *maker, o *ir.Op) {
	b, g, d, tokens := m.size(), m.size(), m.size(), 1+m.rng.IntN(2)
	room := tokens + m.long(m.rng.IntN(4))
	state, fresh := m.cache(m.float(), []int{b, g, room, d}, []int{b, g, tokens, d})
	m.apply(o, nil, append([]*ir.Value{state, fresh}, m.places(b, tokens, room)...)...)
}

func pagedAppend(m *maker, o *ir.Op) {
	b, g, d, width, size := m.size(), m.size(), m.size(), m.size(), m.size()
	table, blocks := m.table(b, width)
	state, fresh := m.cache(m.float(), []int{blocks, g, size, d}, []int{b, g, 1, d})
	m.apply(o, nil, append([]*ir.Value{state, fresh, table}, m.places(b, 1, width*size)...)...)
}

func rope(m *maker, o *ir.Op) {
	b, tokens, d := m.size(), m.dim(), 2*(1+m.rng.IntN(2))
	attrs := ir.Attrs{"style": choose(m, "half", "interleaved")}
	if d == 4 && m.chance(2) {
		attrs["dims"] = 2
	}
	shape := []int{}
	if m.chance(2) {
		shape = []int{b}
	}
	m.apply(o, attrs, m.want(m.float(), b, m.size(), tokens, d), m.fresh(m.index(), shape, m.below(40)))
}

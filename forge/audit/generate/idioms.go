package generate

import (
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// idiom adds a pattern that passes look for. Sometimes an inner value of it is
// kept for later steps, which may then stand in the way of the pass.
func (m *maker) idiom() {
	x := m.floating(1)
	result, inner := choose(m, idioms...)(m, x)
	if m.chance(4) {
		for _, v := range inner {
			m.keep(v)
		}
	}
	m.keep(result)
}

// op applies an operator. Where that does not type-check it gives the first
// operand back, so that broken patterns come up as well.
func (m *maker) op(name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	v, err := m.b.Apply(name, attrs, in...)
	if err != nil {
		return in[0]
	}
	return v
}

// weight is a constant or an input of the type of like.
func (m *maker) weight(like *ir.Value, shape ...int) *ir.Value {
	if m.chance(4) {
		return m.input(like.Spec.DType, shape, m.plain)
	}
	return m.constant(like.Spec.DType, shape, m.plain)
}

func columns(v *ir.Value) int { return v.Spec.Shape[v.Spec.Rank()-1] }

var idioms = []func(m *maker, x *ir.Value) (result *ir.Value, inner []*ir.Value){
	layer, projections, gated, stableSoftmax, normOfParts, movedViews, attentionOfParts, attentionWithGuard, joinedRows, fromEnd, cacheInUse, undone, neutral, squares,
}

func layer(m *maker, x *ir.Value) (*ir.Value, []*ir.Value) {
	n := m.long(m.size())
	product := m.op("matmul", nil, x, m.weight(x, columns(x), n))
	biased := m.op("add", nil, product, m.weight(x, n))
	return m.op(choose(m, "relu", "gelu", "silu", "tanh"), nil, biased), []*ir.Value{product, biased}
}

func projections(m *maker, x *ir.Value) (*ir.Value, []*ir.Value) {
	var list []*ir.Value
	for range 2 + m.rng.IntN(2) {
		n := m.long(m.size())
		if w := m.weight(x, columns(x), n); m.chance(2) {
			list = append(list, m.op("matmul", nil, x, w))
		} else {
			list = append(list, m.op("linear", nil, x, w, m.weight(x, n)))
		}
	}
	for _, v := range list[1:] {
		m.keep(m.op("abs", nil, v))
	}
	return m.op("abs", nil, list[0]), list
}

// gated multiplies two projections, one of them behind an activation, and projects
// the product.
func gated(m *maker, x *ir.Value) (*ir.Value, []*ir.Value) {
	n := choose(m, 16, 32, m.long(m.size()))
	gate := m.op("matmul", nil, x, m.constant(x.Spec.DType, []int{columns(x), n}, m.plain))
	up := m.op("matmul", nil, x, m.constant(x.Spec.DType, []int{columns(x), n}, m.plain))
	h := m.op("mul", nil, m.op(choose(m, "silu", "gelu", "sigmoid"), nil, gate), up)
	return m.op("matmul", nil, h, m.weight(x, n, m.size())), []*ir.Value{gate, up, h}
}

func stableSoftmax(m *maker, x *ir.Value) (*ir.Value, []*ir.Value) {
	attrs := ir.Attrs{"axes": []int{m.axis(x)}, "keepdims": true}
	top := m.op("max", attrs, x)
	exp := m.op("exp", nil, m.op("sub", nil, x, top))
	return m.op("div", nil, exp, m.op("sum", attrs, exp)), []*ir.Value{top, exp}
}

// mean is the mean of the last dimension, written in one of three ways.
func (m *maker) mean(v *ir.Value) *ir.Value {
	attrs := ir.Attrs{"axes": []int{-1}, "keepdims": true}
	n := columns(v)
	switch {
	case n == 0 || !m.chance(3):
		return m.op("mean", attrs, v)
	case m.chance(2):
		return m.op("div", nil, m.op("sum", attrs, v), m.scalar(v.Spec.DType, float64(n)))
	}
	return m.op("mul", nil, m.op("sum", attrs, v), m.scalar(v.Spec.DType, 1/float64(n)))
}

func normOfParts(m *maker, x *ir.Value) (*ir.Value, []*ir.Value) {
	d := x
	if m.chance(2) {
		d = m.op("sub", nil, x, m.mean(x))
	}
	square := m.op("mul", nil, d, d)
	if m.chance(4) {
		square = m.op("pow", nil, d, m.scalar(x.Spec.DType, 2))
	}
	ms := m.mean(square)
	under := m.op("add", nil, ms, m.scalar(x.Spec.DType, choose(m, 0.125, 1e-5, 0)))
	var y *ir.Value
	switch m.rng.IntN(3) {
	case 0:
		y = m.op("div", nil, d, m.op("sqrt", nil, under))
	case 1:
		y = m.op("mul", nil, d, m.op("div", nil, m.scalar(x.Spec.DType, 1), m.op("sqrt", nil, under)))
	default:
		y = m.op("mul", nil, d, m.op("rsqrt", nil, under))
	}
	inner := []*ir.Value{ms, y}
	if m.chance(2) {
		y = m.op("mul", nil, y, m.weight(x, columns(x)))
	}
	if m.chance(2) {
		y = m.op("add", nil, y, m.weight(x, columns(x)))
	}
	return y, inner
}

func movedViews(m *maker, x *ir.Value) (*ir.Value, []*ir.Value) {
	a := m.op("exp", nil, x)
	b := m.op("transpose", nil, a)
	c := m.op("reshape", ir.Attrs{"shape": []int{-1}}, m.op("neg", nil, b))
	return m.op("tanh", nil, m.op("mul", nil, c, m.scalar(c.Spec.DType, 0.5))), []*ir.Value{a, b, c}
}

func attentionOfParts(m *maker, x *ir.Value) (*ir.Value, []*ir.Value) {
	b, h, n, keys, d := m.size(), m.size(), m.long(m.size()), m.long(m.size()), m.long(m.size())
	dtype := x.Spec.DType
	q, k, v := m.want(dtype, b, h, n, d), m.want(dtype, b, h, keys, d), m.want(dtype, b, h, keys, m.size())
	if m.chance(3) {
		q, k, v = m.reshaped(q, []int{b * h, n, d}), m.reshaped(k, []int{b * h, keys, d}), m.reshaped(v, []int{b * h, keys, columns(v)})
	}
	perm := []int{0, 1, 3, 2}[:q.Spec.Rank()]
	if q.Spec.Rank() == 3 {
		perm = []int{0, 2, 1}
	}
	scores := m.op("matmul", nil, q, m.op("transpose", ir.Attrs{"perm": perm}, k))
	inner := []*ir.Value{scores}
	switch m.rng.IntN(3) {
	case 0:
		scores = m.op("mul", nil, scores, m.scalar(dtype, choose(m, 0.75, 0.5)))
	case 1:
		scores = m.op("div", nil, scores, m.scalar(dtype, choose(m, 2.0, 3, 1.4142135)))
	}
	if m.chance(3) {
		scores = m.op("add", nil, scores, m.want(dtype, n, keys))
	}
	weights := m.op("softmax", nil, scores)
	return m.op("matmul", nil, weights, v), append(inner, weights)
}

// joinedRows multiplies x by a matrix with its leading dimensions joined, and divides them
// again, or otherwise.
func joinedRows(m *maker, x *ir.Value) (*ir.Value, []*ir.Value) {
	spare := max(0, maxRank-x.Spec.Rank()) // an idiom may have given x more dimensions
	x = m.reshaped(x, append([]int{1, 1}[:min(2, spare)], x.Spec.Shape...))
	k, n := columns(x), m.size()
	rows := 1
	for _, d := range x.Spec.Shape[:x.Spec.Rank()-1] {
		rows *= d
	}
	joined := m.reshaped(x, []int{rows, k})
	product := m.op("matmul", nil, joined, m.weight(x, k, n))
	v := product
	if m.chance(2) {
		v = m.op("add", nil, v, m.weight(x, n))
	}
	shape := append(slices.Clone(x.Spec.Shape[:x.Spec.Rank()-1]), n)
	if m.chance(4) {
		shape = []int{rows * n}
	}
	return m.op("reshape", ir.Attrs{"shape": shape}, v), []*ir.Value{joined, product, v}
}

// fromEnd picks slices of x by indices that count from its end below 0.
func fromEnd(m *maker, x *ir.Value) (*ir.Value, []*ir.Value) {
	n := max(1, x.Spec.Shape[0])
	shape := []int{m.size()}
	if x.Spec.Shape[0] == 0 {
		shape = []int{0}
	}
	i := m.fresh(tensor.I64, shape, m.within(n))
	sum := m.op("add", nil, i, m.scalar(tensor.I64, float64(n)))
	at := m.op("where", nil, m.op("lt", nil, i, m.scalar(tensor.I64, 0)), sum, i)
	return m.op("gather", nil, x, at), []*ir.Value{sum, at}
}

// attentionWithGuard multiplies batches of normed queries and keys, which have the root of
// the scale as a factor, and gives zeros to queries that the mask leaves no key.
func attentionWithGuard(m *maker, x *ir.Value) (*ir.Value, []*ir.Value) {
	b, h, n, keys, d := m.size(), m.size(), m.size(), m.size(), m.size()
	dtype := x.Spec.DType
	norm := func(length int) *ir.Value { return m.op("rms_norm", nil, m.want(dtype, b, h, length, d)) }
	root := m.scalar(dtype, choose(m, 0.75, 0.5))
	q, k, v := m.op("mul", nil, norm(n), root), norm(keys), norm(keys)
	k = m.op("mul", nil, m.op("transpose", ir.Attrs{"perm": []int{0, 1, 3, 2}}, k), root)
	flat := func(v *ir.Value) *ir.Value { return m.reshaped(v, append([]int{b * h}, v.Spec.Shape[2:]...)) }
	product := m.op("matmul", nil, flat(q), flat(k))
	scores := m.op("reshape", ir.Attrs{"shape": []int{b, h, n, keys}}, product)
	low := m.scalar(dtype, math.Inf(-1))
	if m.chance(2) {
		mask := m.constant(dtype, []int{n, keys}, func(tensor.DType, int) float64 { return choose(m, 0, 0, math.Inf(-1)) })
		scores = m.op("add", nil, scores, mask)
	}
	weights := m.op("softmax", nil, scores)
	some := m.op("cast", ir.Attrs{"dtype": "i64"}, m.op("not", nil, m.op("eq", nil, scores, low)))
	count := m.op("sum", ir.Attrs{"axes": []int64{3}, "keepdims": true}, some)
	empty := m.op("not", nil, m.op("gt", nil, count, m.scalar(tensor.I64, 0)))
	guarded := m.op("where", nil, empty, m.scalar(dtype, 0), weights)
	result := m.op("matmul", nil, flat(guarded), flat(v))
	return m.op("reshape", ir.Attrs{"shape": []int{b, h, n, d}}, result), []*ir.Value{product, scores, weights, guarded}
}

// cacheInUse copies a cache, reads a part of it, and lets it be taken over.
func cacheInUse(m *maker, x *ir.Value) (*ir.Value, []*ir.Value) {
	cache := m.op("reshape", ir.Attrs{"shape": []int{1, 1, x.Spec.Elements(), 1}}, m.op("mul", nil, x, m.scalar(x.Spec.DType, 1)))
	if x.Spec.Elements() == 0 || cache.Owner() == x.Owner() {
		return cache, nil
	}
	token := m.op("narrow", ir.Attrs{"axis": 2, "start": 0, "length": 1}, m.op("exp", nil, cache))
	m.keep(m.op("tanh", nil, token))
	pos := m.constant(tensor.I64, nil, m.below(x.Spec.Elements()))
	return m.op("neg", nil, m.op("kv_append", nil, cache, token, pos)), nil
}

// undone moves elements and casts types to and fro.
func undone(m *maker, x *ir.Value) (*ir.Value, []*ir.Value) {
	x = m.reshaped(x, append([]int{1}, x.Spec.Shape...))
	a := m.op("transpose", ir.Attrs{"perm": m.rng.Perm(x.Spec.Rank())}, x)
	b := m.op("transpose", ir.Attrs{"perm": m.rng.Perm(x.Spec.Rank())}, a)
	c := m.op("cast", ir.Attrs{"dtype": m.dtype().String()}, b)
	d := m.op("cast", ir.Attrs{"dtype": x.Spec.DType.String()}, c)
	return m.op("reshape", ir.Attrs{"shape": x.Spec.Shape}, m.op("reshape", ir.Attrs{"shape": []int{-1}}, d)), []*ir.Value{a, c}
}

// neutral computes with numbers that change little or nothing.
func neutral(m *maker, x *ir.Value) (*ir.Value, []*ir.Value) {
	v := x
	var inner []*ir.Value
	for range 1 + m.rng.IntN(4) {
		inner = append(inner, v)
		switch m.rng.IntN(4) {
		case 0:
			v = m.op(choose(m, "neg", "abs", "relu"), nil, v)
		case 1:
			v = m.op(choose(m, "maximum", "minimum", "add", "sub"), nil, v, choose(m, inner...))
		default:
			c := m.scalar(x.Spec.DType, m.telling(x.Spec.DType, 0))
			operands := []*ir.Value{v, c}
			if m.chance(3) {
				operands = []*ir.Value{c, v}
			}
			v = m.op(choose(m, "add", "sub", "mul", "div"), nil, operands...)
		}
	}
	return v, inner
}

func squares(m *maker, x *ir.Value) (*ir.Value, []*ir.Value) {
	root := m.op("sqrt", nil, m.op("abs", nil, x))
	inverse := m.op("div", nil, m.scalar(x.Spec.DType, 1), root)
	return m.op("pow", nil, inverse, m.scalar(x.Spec.DType, 2)), []*ir.Value{root, inverse}
}

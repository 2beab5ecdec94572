package generate

import (
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// recipe applies an operator to operands that fit it.
type recipe func(m *maker, o *ir.Op)

// classRecipes are for operators without a recipe of their own.
var classRecipes = map[ir.Class]recipe{
	ir.Elementwise: elementwise,
	ir.Reduction:   reduction,
	ir.Normalise:   normalise,
	ir.Transfer:    transfer,
}

var recipes map[string]recipe

func init() {
	recipes = map[string]recipe{
		"const": func(m *maker, _ *ir.Op) {
			shape := []int{}
			if m.chance(3) {
				shape = m.shape()
			}
			m.keep(m.constant(m.dtype(), shape, m.telling))
		},
		"cast":  func(m *maker, o *ir.Op) { m.apply(o, ir.Attrs{"dtype": m.dtype().String()}, m.some()) },
		"where": where, "pow": power, "div": divide,
		"argmax": argument, "argmin": argument, "cumsum": cumsum, "top_k": topK, "scatter": scatter,
		"layer_norm": norm, "rms_norm": norm,
		"gather": gather, "concat": concat, "split": split, "narrow": narrow, "reshape": reshape, "transpose": transpose, "expand": expand, "pad": pad,
		"matmul": matmul, "linear": linear, "conv2d": conv, "max_pool2d": pool, "avg_pool2d": pool,
		"sdpa": sdpa, "cached_attention": cachedAttention, "paged_attention": pagedAttention, "rope": rope,
		"send": send, "recv": receive,
		"kv_append": kvAppend, "paged_kv_append": pagedAppend,
	}
}

// elementwise tries a few types until the operator takes one.
func elementwise(m *maker, o *ir.Op) {
	shape := m.some().Spec.Shape
	attrs := ir.Attrs{}
	if o.Name == "gelu" && m.chance(2) {
		attrs["approximate"] = "tanh"
	}
	for _, dtype := range []tensor.DType{m.dtype(), m.float(), tensor.I64, tensor.Bool} {
		if !takes(o, dtype) {
			continue
		}
		in := make([]*ir.Value, len(o.Operands))
		for i := range in {
			in[i] = m.want(dtype, m.broadcastable(shape)...)
		}
		m.apply(o, attrs, in...)
		return
	}
}

// takes reports whether an operator is defined on a type.
func takes(o *ir.Op, dtype tensor.DType) bool {
	in := make([]*ir.Value, len(o.Operands))
	for i := range in {
		in[i] = &ir.Value{Name: "x", Spec: ir.Spec{DType: dtype}}
	}
	_, err := ir.NewNode(o, nil, in...)
	return err == nil
}

func where(m *maker, o *ir.Op) {
	v := m.some()
	in := []*ir.Value{
		m.want(tensor.Bool, m.broadcastable(v.Spec.Shape)...),
		m.want(v.Spec.DType, m.broadcastable(v.Spec.Shape)...),
		m.want(v.Spec.DType, m.broadcastable(v.Spec.Shape)...),
	}
	m.apply(o, nil, in...)
}

func power(m *maker, o *ir.Op) {
	x := m.floating(0)
	if m.chance(2) {
		m.apply(o, nil, x, m.scalar(x.Spec.DType, choose(m, 2.0, 0.5, 1, 3, -1)))
		return
	}
	m.apply(o, nil, x, m.want(x.Spec.DType, m.broadcastable(x.Spec.Shape)...))
}

// divide keeps integers from being divided by zero.
func divide(m *maker, o *ir.Op) {
	x := m.some()
	switch {
	case x.Spec.DType == tensor.Bool:
	case !x.Spec.DType.IsFloat():
		m.apply(o, nil, x, m.fresh(x.Spec.DType, m.broadcastable(x.Spec.Shape), func(tensor.DType, int) float64 { return choose(m, -2.0, -1, 1, 2, 3) }))
	case m.chance(3):
		m.apply(o, nil, x, m.scalar(x.Spec.DType, choose(m, 1.0, 2, 3, 4, -0.5)))
	default:
		m.apply(o, nil, x, m.want(x.Spec.DType, m.broadcastable(x.Spec.Shape)...))
	}
}

func reduction(m *maker, o *ir.Op) {
	x := m.some()
	attrs := ir.Attrs{"keepdims": m.chance(2)}
	if x.Spec.Rank() > 0 && !m.chance(4) {
		attrs["axes"] = m.rng.Perm(x.Spec.Rank())[:m.rng.IntN(x.Spec.Rank()+1)]
	}
	m.apply(o, attrs, x)
}

func argument(m *maker, o *ir.Op) {
	x := m.ranked(1)
	m.apply(o, ir.Attrs{"axis": m.axis(x), "keepdims": m.chance(2)}, x)
}

func cumsum(m *maker, o *ir.Op) {
	x := m.ranked(1)
	m.apply(o, ir.Attrs{"axis": m.axis(x), "exclusive": m.chance(2), "reverse": m.chance(2)}, x)
}

func topK(m *maker, o *ir.Op) {
	x := m.ranked(1)
	axis := m.rng.IntN(x.Spec.Rank())
	m.apply(o, ir.Attrs{"axis": axis, "k": m.rng.IntN(x.Spec.Shape[axis] + 1), "largest": m.chance(2)}, x)
}

func scatter(m *maker, o *ir.Op) {
	x := m.ranked(1)
	axis := m.rng.IntN(x.Spec.Rank())
	shape := slices.Clone(x.Spec.Shape)
	if shape[axis] == 0 {
		return
	}
	shape[axis] = m.rng.IntN(4)
	index := m.fresh(choose(m, tensor.I64, tensor.I32), shape, m.below(x.Spec.Shape[axis]))
	reduce := choose(m, "none", "add", "mul", "max", "min")
	m.apply(o, ir.Attrs{"axis": axis, "reduce": reduce}, x, index, m.want(x.Spec.DType, shape...))
}

func normalise(m *maker, o *ir.Op) {
	x := m.floating(1)
	m.apply(o, ir.Attrs{"axis": m.axis(x)}, x)
}

func norm(m *maker, o *ir.Op) {
	x := m.floating(1)
	axis := m.rng.IntN(x.Spec.Rank())
	in := []*ir.Value{x}
	for range m.rng.IntN(len(o.Operands)) {
		in = append(in, m.want(x.Spec.DType, x.Spec.Shape[axis:]...))
	}
	m.apply(o, ir.Attrs{"axis": axis, "eps": choose(m, 1e-5, 0.5, 0)}, in...)
}

// transfer is a collective operator of one rank or of two.
func transfer(m *maker, o *ir.Op) {
	x := m.ranked(1)
	attrs := ir.Attrs{"size": 1}
	if m.chance(2) {
		attrs = ir.Attrs{"size": 2, "group": peerGroup}
	}
	if o.Name == "all_gather" || o.Name == "reduce_scatter" {
		attrs["axis"] = m.axis(x)
	}
	if o.Name == "all_reduce" || o.Name == "reduce_scatter" {
		attrs["reduce"] = choose(m, "sum", "max")
	}
	m.apply(o, attrs, x)
}

func send(m *maker, o *ir.Op) {
	m.apply(o, ir.Attrs{"size": 2, "group": peerGroup, "peer": 1}, m.some())
}

func receive(m *maker, o *ir.Op) {
	m.apply(o, ir.Attrs{"size": 2, "group": peerGroup, "peer": 1, "shape": m.shape(), "dtype": m.dtype().String()})
}

func gather(m *maker, o *ir.Op) {
	table := m.ranked(1)
	axis := m.axis(table)
	n := table.Spec.Shape[(axis+table.Spec.Rank())%table.Spec.Rank()]
	shape := m.shape()
	if n == 0 {
		shape, n = []int{0}, 1
	}
	at := m.below(n)
	fromEnd := m.rng.IntN(3) == 0
	if fromEnd {
		at = m.within(n)
	}
	m.apply(o, ir.Attrs{"axis": axis, "from_end": fromEnd}, table, m.fresh(m.index(), shape[:min(len(shape), 2)], at))
}

func concat(m *maker, o *ir.Op) {
	x := m.ranked(1)
	axis := m.rng.IntN(x.Spec.Rank())
	in := []*ir.Value{x}
	for range m.rng.IntN(3) {
		shape := slices.Clone(x.Spec.Shape)
		shape[axis] = m.dim()
		in = append(in, m.want(x.Spec.DType, shape...))
	}
	m.apply(o, ir.Attrs{"axis": axis}, in...)
}

func split(m *maker, o *ir.Op) {
	x := m.ranked(1)
	axis := m.rng.IntN(x.Spec.Rank())
	left := x.Spec.Shape[axis]
	var sizes []int
	for range m.rng.IntN(3) {
		n := m.rng.IntN(left + 1)
		sizes, left = append(sizes, n), left-n
	}
	m.apply(o, ir.Attrs{"axis": axis, "sizes": append(sizes, left)}, x)
}

func narrow(m *maker, o *ir.Op) {
	x := m.ranked(1)
	axis := m.rng.IntN(x.Spec.Rank())
	n := x.Spec.Shape[axis]
	start, step := m.rng.IntN(n+1), choose(m, 1, 1, 2, -1)
	room := n - start
	if step < 0 {
		start = max(0, start-1)
		room = min(n, start+1)
	}
	count := (room + max(step, -step) - 1) / max(step, -step)
	m.apply(o, ir.Attrs{"axis": axis, "start": start, "length": m.rng.IntN(count + 1), "step": step}, x)
}

func reshape(m *maker, o *ir.Op) {
	x := m.some()
	n := x.Spec.Elements()
	shape := []int{n}
	for _, d := range []int{2, 3, 4, 5} {
		if n%d == 0 && m.chance(2) && len(shape) < maxRank {
			shape[0] /= d
			shape = append(shape, d)
			n = shape[0]
		}
	}
	if m.chance(3) {
		shape = append(shape, 1)
	}
	m.rng.Shuffle(len(shape), func(i, j int) { shape[i], shape[j] = shape[j], shape[i] })
	m.apply(o, ir.Attrs{"shape": shape}, x)
}

func transpose(m *maker, o *ir.Op) {
	x := m.ranked(2)
	attrs := ir.Attrs{}
	if !m.chance(3) {
		attrs["perm"] = m.rng.Perm(x.Spec.Rank())
	}
	m.apply(o, attrs, x)
}

func expand(m *maker, o *ir.Op) {
	x := m.some()
	shape := slices.Clone(x.Spec.Shape)
	for i, d := range shape {
		if d == 1 {
			shape[i] = m.dim()
		}
	}
	if len(shape) < maxRank && m.chance(2) {
		shape = append([]int{m.dim()}, shape...)
	}
	m.apply(o, ir.Attrs{"shape": shape}, x)
}

func pad(m *maker, o *ir.Op) {
	x := m.ranked(1)
	low, high := make([]int, x.Spec.Rank()), make([]int, x.Spec.Rank())
	for i := range low {
		low[i], high[i] = m.rng.IntN(2), m.rng.IntN(2)
	}
	m.apply(o, ir.Attrs{"low": low, "high": high, "value": choose(m, 0.0, 1)}, x)
}

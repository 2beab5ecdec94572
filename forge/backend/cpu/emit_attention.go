package cpu

import (
	"fmt"

	"forgekernel/forge/loop"
)

// keyBlock is the number of keys whose scores are summed side by side, to hide
// the latency of a multiply-add.
const keyBlock = 8

// attentionEmitter writes attention for a vector of queries at a time. Scores
// stand with the keys down and the queries across the lanes, so that the softmax
// has no fold over lanes; weights then meet the rows of V one number at a time,
// which gives results in their own layout.
type attentionEmitter struct {
	*emitter
	a    *loop.Attention
	part int // queries, when fewer than lanes
}

// attention writes the functions and returns the number of units, which are blocks
// of queries.
func (e *emitter) attention(name string) int {
	a := e.kernel.Attention
	lanes := e.target.Lanes
	whole, part := a.Queries/lanes*lanes, a.Queries%lanes
	if whole > 0 {
		(&attentionEmitter{emitter: e, a: a}).block(name + "_whole")
	}
	if part > 0 {
		(&attentionEmitter{emitter: e, a: a, part: part}).block(name + "_part")
	}
	e.open("KERNEL void %s(%s)", name, e.params())
	count := e.units([]string{"b", "h", "v"}, []int{a.Batches, a.Heads, (a.Queries + lanes - 1) / lanes})
	e.line("long i = v * %d;", lanes)
	group := fmt.Sprintf("(h * %d / %d)", a.Groups, a.Heads)
	base := func(x loop.Access, head string) string {
		return fmt.Sprintf("p%d + b * %d + %s * %d", x.Param, x.Strides[0], head, x.Strides[1])
	}
	call := func(kind string) {
		e.line("%s_%s(%s + i * %d, %s, %s, %s + i * %d, i);", name, kind,
			base(a.Q, "h"), a.Q.Strides[2], base(a.K, group), base(a.V, group), base(a.Out, "h"), a.Out.Strides[2])
	}
	if whole > 0 {
		e.open("if (i < %d)", whole)
		call("whole")
		e.close()
	}
	if part > 0 {
		e.open("if (i == %d)", whole)
		call("part")
		e.close()
	}
	e.close()
	e.close()
	return count
}

// block writes the function for the queries from i on.
func (e *attentionEmitter) block(name string) {
	a, lanes := e.a, e.target.Lanes
	queries := e.lanes(scope{part: e.part})
	e.open("KERNEL void %s(const float *p0, const float *p1, const float *p2, float *p3, long i)", name)
	e.line("float w[%d] __attribute__((aligned(64))), q[%d] __attribute__((aligned(64)));", max(1, a.Keys*lanes), a.D*lanes)
	e.line("for (long d = 0; d < %d; d++) store(q + d * %d, load_strided(p0 + d * %d, %d, %d));", a.D, lanes, a.Q.Strides[3], a.Q.Strides[2], queries)
	e.line("long n = %d, j = 0;", a.Keys)
	if a.Causal {
		e.line("if (n > i + %d) n = i + %d;", queries, queries)
	}
	e.line("vf top = set(-__builtin_inff()), total = set(0);")
	e.open("for (; j + %d <= n; j += %d)", keyBlock, keyBlock)
	e.scores(keyBlock)
	e.close()
	e.open("for (; j < n; j++)")
	e.scores(1)
	e.close()
	e.open("for (j = 0; j < n; j++)")
	e.line("vf p = v_exp(load(w + j * %d) - top);", lanes)
	e.line("store(w + j * %d, p);", lanes)
	e.line("total += p;")
	e.close()
	e.line("vf share = 1 / total; vi dead = top == -__builtin_inff();")
	e.line("for (j = 0; j < n; j++) store(w + j * %d, choose(dead, set(0), load(w + j * %d) * share));", lanes, lanes)
	vectors := (a.E + lanes - 1) / lanes
	for at := 0; at < vectors; at += 4 {
		width := min(4, vectors-at)
		for row, rows := 0, min(8, 24/width); row < queries; row += rows {
			e.average(row, min(rows, queries-row), at, width)
		}
	}
	e.close()
}

// scores computes those of some keys from j on.
func (e *attentionEmitter) scores(keys int) {
	a, lanes := e.a, e.target.Lanes
	for u := range keys {
		e.line("vf a%d = set(0);", u)
	}
	e.open("for (long d = 0; d < %d; d++)", a.D)
	e.line("vf x = load(q + d * %d); PIN(x);", lanes)
	for u := range keys {
		e.line("a%d = fma_(set(p1[(j + %d) * %d + d * %d]), x, a%d);", u, u, a.K.Strides[2], a.K.Strides[3], u)
	}
	e.close()
	for u := range keys {
		e.line("a%d = a%d * %s;", u, u, literal(a.Scale))
		if a.Causal {
			e.line("a%d = choose(first(j + %d - i), set(-__builtin_inff()), a%d);", u, u, u)
		}
		e.line("store(w + (j + %d) * %d, a%d);", u, lanes, u)
		e.line("top = v_maximum(top, a%d);", u)
	}
}

// average writes the results of some queries for some vectors of channels. What
// is left out by causality is not read: keys that all these queries see come
// first, and those that only the later ones see are written out.
func (e *attentionEmitter) average(row, rows, at, width int) {
	a := e.a
	e.open("")
	e.line("long m = n;")
	if a.Causal {
		e.line("if (m > i + %d) m = i + %d;", row+1, row+1)
	}
	for r := range rows {
		for c := range width {
			e.line("vf c%d_%d = set(0);", r, c)
		}
	}
	e.open("for (j = 0; j < m; j++)")
	e.addValues(row, 0, rows, at, width)
	e.close()
	if a.Causal {
		for first := 1; first < rows; first++ {
			e.open("if ((j = i + %d) < %d)", row+first, a.Keys)
			e.addValues(row, first, rows, at, width)
			e.close()
		}
	}
	for r := range rows {
		for c := range width {
			s := scope{vars: []string{fmt.Sprint(row + r), fmt.Sprint((at + c) * e.target.Lanes)}, lane: 1, part: e.channels(at + c)}
			e.store(s, loop.Access{Param: 3, Strides: a.Out.Strides[2:]}, fmt.Sprintf("c%d_%d", r, c))
		}
	}
	e.close()
}

// channels is how many lanes of a vector of channels there are; 0 means all.
func (e *attentionEmitter) channels(vector int) int {
	if left := e.a.E - vector*e.target.Lanes; left < e.target.Lanes {
		return left
	}
	return 0
}

// addValues adds row j of V, weighted, to the results from row first on.
func (e *attentionEmitter) addValues(row, first, rows, at, width int) {
	for c := range width {
		s := scope{vars: []string{"j", fmt.Sprint((at + c) * e.target.Lanes)}, lane: 1, part: e.channels(at + c)}
		e.line("vf v%d = %s; PIN(v%d);", c, e.load(s, loop.Access{Param: 2, Strides: e.a.V.Strides[2:]}), c)
	}
	for r := first; r < rows; r++ {
		e.line("vf x%d = set(w[j * %d + %d]);", r, e.target.Lanes, row+r)
		for c := range width {
			e.line("c%d_%d = fma_(x%d, v%d, c%d_%d);", r, c, r, c, r, c)
		}
	}
}

package cpu

import (
	"fmt"

	"forgekernel/forge/loop"
)

// queriesEmitter writes attention with queries across lanes. A weight stands at
// w[j * rows + r], for key j and query r of those that are done together.
type queriesEmitter struct {
	*attentionEmitter
	count int // queries of the function that is written
	wide  int // the same in whole vectors
}

// emit writes the functions and returns the number of units, blocks of queries.
func (x *queriesEmitter) emit() int {
	a := x.a
	x.keyStep, x.queryStep = x.rows, 1
	blocks, rest := a.Queries/x.rows, a.Queries%x.rows
	var counts []int
	if blocks > 0 {
		counts = append(counts, x.rows)
	}
	if rest > 0 {
		counts = append(counts, rest)
	}
	x.averages(counts...)
	for _, n := range counts {
		x.count, x.wide = n, x.target.whole(n)
		if x.masks() {
			x.exclude()
		}
		x.block()
	}
	x.Open("KERNEL void %s(%s)", x.name, x.params())
	defer x.Close()
	defer x.Close()
	units := x.units([]string{"b", "h", "block"}, []int{a.Batches, a.Heads, (a.Queries + x.rows - 1) / x.rows})
	if blocks > 0 {
		x.Line("if (block < %d) %s_%d(%s, b, h, block * %d);", blocks, x.name, x.rows, x.pass(), x.rows)
	}
	if rest > 0 {
		x.Line("if (block == %d) %s_%d(%s, b, h, %d);", blocks, x.name, rest, x.pass(), blocks*x.rows)
	}
	return units
}

// vectors calls write for each vector of queries, with its number.
func (x *queriesEmitter) vectors(write func(u int)) {
	for u := range x.wide / x.target.Lanes {
		write(u)
	}
}

// eachVector writes a loop over the vectors of queries, which begin at query i + u,
// and what is to be done for the last when it has only part of the lanes.
func (x *queriesEmitter) eachVector(write func(part int)) {
	lanes := x.target.Lanes
	whole := x.count / lanes * lanes
	if whole > 0 {
		x.Open("for (long u = 0; u < %d; u += %d)", whole, lanes)
		write(0)
		x.Close()
	}
	if whole < x.count {
		x.Open("")
		x.Line("const long u = %d;", whole)
		write(x.count - whole)
		x.Close()
	}
}

// block writes the function for the queries from i on.
func (x *queriesEmitter) block() {
	a := x.a
	x.Open("KERNEL void %s_%d(%s, long b, long h, long i)", x.name, x.count, x.pointers())
	x.Line("float q[%d] __attribute__((aligned(64))), w[%d] __attribute__((aligned(64)));", a.D*x.wide, x.keys*x.rows)
	x.Line("float factor[%d] __attribute__((aligned(64)));", x.wide)
	if !x.once {
		x.Line("float sums[%d] __attribute__((aligned(64))) = {0};", x.count*x.target.whole(a.E))
	}
	x.Line("long g = h / %d;", a.Heads/a.Groups)
	x.position()
	x.loadQueries()
	x.vectors(func(u int) { x.Line("vf top%d = set(-__builtin_inff()), total%d = set(0);", u, u) })
	x.Line("long n = %s;", x.seen("i", fmt.Sprintf("i + %d", x.count)))
	if x.once {
		x.Line("const long from = 0;")
		x.keyBlock()
		x.shares()
		at := scope{vars: []string{"b", "h", "i", ""}}.at(a.Out)
		x.callAverages(x.count, at, a.Out.Strides[2], "w", "m")
		x.Close()
		return
	}
	x.Open("for (long from = 0; from < n; from += %d)", x.keys)
	x.checkStop()
	x.keyBlock()
	x.callAverages(x.count, "sums", x.target.whole(a.E), "w", "m")
	x.Close()
	x.shares()
	x.Open("for (long r = 0; r < %d; r++)", x.count)
	x.result(fmt.Sprintf("sums + r * %d", x.target.whole(a.E)), "set(factor[r])", "h", "(i + r)")
	x.Close()
	x.Close()
}

// loadQueries puts them in q with the channels down and the queries across lanes.
func (x *queriesEmitter) loadQueries() {
	a, lanes := x.a, x.target.Lanes
	squares := 0 // channels that are loaded in squares
	if a.Q.Strides[3] == 1 {
		squares = a.D / lanes * lanes
	}
	if squares > 0 {
		x.Open("for (long u = 0; u < %d; u += %d) for (long c = 0; c < %d; c += %d)", x.count, lanes, squares, lanes)
		x.square(a.Q, "c")
		x.Line("UNROLL for (int d = 0; d < LANES; d++) store(q + (c + d) * %d + u, x[d]);", x.wide)
		x.Close()
	}
	if squares < a.D {
		x.eachVector(func(part int) {
			s := scope{vars: []string{"b", "h", "(i + u)", "d"}, lane: 2, part: part}
			x.Line("for (long d = %d; d < %d; d++) store(q + d * %d + u, %s);", squares, a.D, x.wide, x.load(s, a.Q))
		})
	}
}

// square declares vectors x[0], x[1], … of elements that are adjacent in the last
// dimension of an access, from at on: each of those of all queries of a vector,
// zeros beyond the last query.
func (x *queriesEmitter) square(a loop.Access, at string) {
	s := scope{vars: []string{"b", "h", "(i + u + l)", at}, lane: 3}
	x.Line("vf x[LANES];")
	x.Line("UNROLL for (int l = 0; l < LANES; l++) x[l] = u + l < %d ? (vf)%s : set(0);", x.count, x.load(s, a))
	x.Line("turn(x);")
}

// keyBlock makes the weights of a block of keys.
func (x *queriesEmitter) keyBlock() {
	a := x.a
	x.Line("long m = least(n - from, %d), j = 0;", x.keys)
	x.rowsOf("k", "keys", a.K)
	x.rowsOf("v", "values", a.V)
	tall := max(1, min(8, (x.target.Registers-1)/(x.wide/x.target.Lanes)-1))
	x.Open("for (; j + %d <= m; j += %d)", tall, tall)
	x.scores(tall)
	x.Close()
	x.Open("for (; j < m; j++)")
	x.scores(1)
	x.Close()
	if x.masks() {
		some := "1"
		if a.Mask == nil {
			some = "from + m > start + i + 1"
		}
		x.Line("int some = %s;", some)
		x.Line("if (some) %s_exclude_%d(w, -__builtin_inff(), 0, %s, b, h, i, from, m, start);", x.name, x.count, x.pass())
	}
	x.weigh()
	if x.excludes() {
		x.Line("int careful = some && !%s_finite(v, m);", x.name)
		x.Line("if (careful) %s_exclude_%d(w, -0.0f, 1, %s, b, h, i, from, m, start);", x.name, x.count, x.pass())
	}
}

// scores computes those of some keys from j on.
func (x *queriesEmitter) scores(keys int) {
	a, lanes, step := x.a, x.target.Lanes, x.rowStep(x.a.K)
	channel := a.K.Strides[3]
	if x.gathers(a.K) {
		channel = 1
	}
	for u := range keys {
		x.vectors(func(v int) { x.Line("vf a%d_%d = set(0);", u, v) })
	}
	x.Open("for (long d = 0; d < %d; d++)", a.D)
	x.vectors(func(v int) { x.Line("vf x%d = load(q + d * %d + %d); PIN(x%d);", v, x.wide, v*lanes, v) })
	for u := range keys {
		x.Line("{ vf y = set(k[(j + %d) * %d + d * %d]);", u, step, channel)
		x.vectors(func(v int) { x.Line("  a%d_%d = fma_(y, x%d, a%d_%d);", u, v, v, u, v) })
		x.Line("}")
	}
	x.Close()
	for u := range keys {
		x.vectors(func(v int) {
			x.Line("store(w + (j + %d) * %d + %d, a%d_%d * %s);", u, x.rows, v*lanes, u, v, literal(a.Scale))
		})
	}
}

// exclude writes the function that gives excluded pairs a value. It also adds a
// mask of numbers, unless it only marks.
func (x *queriesEmitter) exclude() {
	a, lanes := x.a, x.target.Lanes
	x.Open("KERNEL void %s_exclude_%d(float *w, float value, int marks, %s, long b, long h, long i, long from, long m, long start)", x.name, x.count, x.pointers())
	at := fmt.Sprintf("w + j * %d + u", x.rows)
	from := "0" // the first key that is not done in squares
	if a.Mask != nil && a.Mask.Strides[3] == 1 && a.Mask.Strides[2] != 0 {
		from = fmt.Sprintf("m / %d * %d", lanes, lanes)
		x.Open("for (long u = 0; u < %d; u += %d) for (long j = 0; j < %s; j += %d)", x.count, lanes, from, lanes)
		x.square(*a.Mask, "(from + j)")
		mask := "x[l]"
		if x.kernel.MaskIsBool() {
			mask = "(vi)x[l]"
		}
		x.Open("UNROLL for (int l = 0; l < LANES; l++)")
		x.applyMask(mask, fmt.Sprintf("%s + l * %d", at, x.rows))
		x.Close()
		x.Close()
	}
	x.eachVector(func(part int) {
		x.Open("for (long j = %s; j < m; j++)", from)
		if a.Mask == nil {
			x.Line("store(%s, choose(first(from + j - start - i - u), set(value), load(%s)));", at, at)
		} else {
			s := scope{vars: []string{"b", "h", "(i + u)", "(from + j)"}, lane: 2, part: part}
			x.applyMask(x.load(s, *a.Mask), at)
		}
		x.Close()
	})
	x.Close()
}

// applyMask applies the mask of a vector of pairs to the scores or weights at an
// address.
func (x *queriesEmitter) applyMask(mask, at string) {
	if x.kernel.MaskIsBool() {
		x.Line("store(%s, choose(%s, load(%s), set(value)));", at, mask, at)
		return
	}
	x.Line("vf s = load(%s), added = %s;", at, mask)
	x.Line("if (!marks) s += added;")
	if !x.a.Strict {
		x.Line("s = choose(added == -__builtin_inff(), set(value), s);")
	}
	x.Line("store(%s, s);", at)
}

// weigh turns scores into weights relative to the largest so far. NaN is not the
// largest: it is in the total.
func (x *queriesEmitter) weigh() {
	lanes := x.target.Lanes
	x.vectors(func(u int) { x.Line("vf next%d = top%d;", u, u) })
	x.Open("for (j = 0; j < m; j++)")
	x.vectors(func(u int) {
		x.Line("next%d = larger_(load(w + j * %d + %d), next%d);", u, x.rows, u*lanes, u)
	})
	x.Close()
	x.vectors(func(u int) {
		x.Line("vf base%d = choose(next%d == -__builtin_inff(), set(0), next%d);", u, u, u)
		if !x.once {
			x.Line("vf factor%d = v_exp(top%d - base%d); total%d *= factor%d;", u, u, u, u, u)
			x.Line("store(factor + %d, factor%d); top%d = next%d;", u*lanes, u, u, u)
		}
	})
	x.Open("for (j = 0; j < m; j++)")
	x.vectors(func(u int) {
		x.Line("vf p%d = v_exp(load(w + j * %d + %d) - base%d);", u, x.rows, u*lanes, u)
		x.Line("store(w + j * %d + %d, p%d); total%d += p%d;", x.rows, u*lanes, u, u, u)
	})
	x.Close()
}

// shares makes each factor that of the query's result.
func (x *queriesEmitter) shares() {
	x.vectors(func(u int) {
		x.Line("store(factor + %d, %s);", u*x.target.Lanes, x.share(fmt.Sprintf("total%d", u)))
	})
}

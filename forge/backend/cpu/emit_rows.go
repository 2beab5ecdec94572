package cpu

import (
	"fmt"
	"slices"
)

// sweeps adds a few rows of B at a time to all rows of results, a chunk of columns
// after another. A unit is a panel of columns; those that follow one another make
// chunks as wide as their sums fit the first cache, so that rows of B are read in
// long pieces.
func (x *contractionEmitter) sweeps() int {
	c, m := x.c, len(x.batch)
	most := sweptFloats / sweptPanel / c.M // panels of a chunk
	chunk, panels := most*sweptPanel, (c.N+sweptPanel-1)/sweptPanel
	x.Open("KERNEL void %s(%s)", x.name, x.params())
	x.array("sums", c.M*chunk)
	x.Open("for (long u = from, next; u < to; u = next)")
	x.checkStop()
	x.Line("long panel = u %% %d, begin = panel * %d;", panels, sweptPanel)
	units := x.batchOf(panels)
	x.Line("next = least(least(u + %d, u - panel + %d), to);", most, panels)
	x.Line("long count = least((next - u) * %d, %d - begin);", sweptPanel, c.N)
	x.columns(func(s scope) {
		for r := range c.M {
			start := x.zero()
			if c.Bias != nil && x.arithmetic == sumsF32 {
				s.vars[m] = fmt.Sprint(r)
				start = x.load(s, *c.Bias)
			}
			x.Line("store_%s(sums + %d + j, %s);", x.suffix, r*chunk, start)
		}
	})
	whole := c.K / x.cut.steps * x.cut.steps
	x.Open("for (long k = 0; k < %d; k += %d)", whole, x.cut.steps)
	x.Line("if (k %% %d == 0 && stopped(stop)) return;", x.cut.steps*64)
	x.sweep("k", x.cut.steps, chunk)
	x.Close()
	if whole < c.K {
		x.Line("long k = %d;", whole)
		x.sweep("k", c.K-whole, chunk)
	}
	x.columns(func(s scope) {
		for r := range c.M {
			s.vars[m] = fmt.Sprint(r)
			x.Line("%s sum%d = load_%s(sums + %d + j);", x.vector, r, x.suffix, r*chunk)
			x.finish(s, fmt.Sprintf("sum%d", r))
		}
	})
	x.Close()
	x.Close()
	return units
}

const (
	// sweptFloats is how many sums a chunk of columns has at most: half of a small
	// first cache.
	sweptFloats = 4 << 10
	// sweptPanel is the columns of a unit, whole vectors on every target.
	sweptPanel = 64
)

// columns opens a loop over the columns of a chunk, in vectors: j counts from the
// beginning of the chunk. The last vector of the matrix may be a part.
func (x *contractionEmitter) columns(body func(s scope)) {
	lanes := x.target.Lanes
	x.Open("for (long j = 0; j + %d <= count; j += %d)", lanes, lanes)
	body(x.over("", "(begin + j)"))
	x.Close()
	if part := x.c.N % lanes; part > 0 {
		x.Open("if (count %% %d)", lanes)
		x.Line("long j = count / %d * %d;", lanes, lanes)
		s := x.over("", "(begin + j)")
		s.part = part
		body(s)
		x.Close()
	}
}

// sweep adds rows k to k+steps-1 of B, times their elements of A.
func (x *contractionEmitter) sweep(k string, steps, chunk int) {
	c, m := x.c, len(x.batch)
	for r := range c.M {
		for q := range steps {
			s := x.over(fmt.Sprint(r), fmt.Sprintf("(%s + %d)", k, q))
			s.lane = -1
			x.Line("%s a%d_%d = %s;", x.vector, r, q, x.load(s, c.A))
		}
	}
	x.columns(func(s scope) {
		for r := range c.M {
			x.Line("%s c%d = load_%s(sums + %d + j);", x.vector, r, x.suffix, r*chunk)
		}
		for q := range steps {
			s.vars[m] = fmt.Sprintf("(%s + %d)", k, q)
			x.Line("%s b%d = %s;", x.vector, q, x.load(s, c.B))
			for r := range c.M {
				x.Line(x.product, fmt.Sprintf("c%d", r), fmt.Sprintf("a%d_%d", r, q), fmt.Sprintf("b%d", q))
			}
		}
		for r := range c.M {
			x.Line("store_%s(sums + %d + j, c%d);", x.suffix, r*chunk, r)
		}
	})
}

// dots computes a few rows by a few columns at a time, with lanes along k. Their
// sums are folded into rows of numbers, which are finished in vectors. Rows and
// columns beyond the last one repeat it.
func (x *contractionEmitter) dots() int {
	c, lanes, rows, m := x.c, x.target.Lanes, x.cut.rows, len(x.batch)
	x.Open("KERNEL void %s(%s)", x.name, x.params())
	x.Line("float sums[%d] __attribute__((aligned(64)));", rows*lanes)
	units := x.units(append(slices.Clone(x.batch), "panel", "block"), append(slices.Clone(c.Batch), x.target.vectors(c.N), (c.M+rows-1)/rows))
	x.Line("long c = panel * %d, r = block * %d;", lanes, rows)
	x.Open("for (long j = 0; j < %d; j += %d)", lanes, x.cut.vector)
	x.dot(m)
	x.Close()
	for q := range rows {
		x.Open("if (r + %d < %d)", q, c.M)
		for _, part := range []int{0, c.N % lanes} {
			s := x.over(fmt.Sprintf("(r + %d)", q), "c")
			s.part = part
			if part == 0 {
				x.Open("if (c + %d <= %d)", lanes, c.N)
			} else {
				x.Open("if (c + %d > %d)", lanes, c.N)
			}
			x.Line("vf sum = load(sums + %d);", q*lanes)
			if c.Bias != nil {
				x.Line("sum += %s;", x.load(s, *c.Bias))
			}
			x.finish(s, "sum")
			x.Close()
			if c.N%lanes == 0 {
				break
			}
		}
		x.Close()
	}
	x.Close()
	x.Close()
	return units
}

// dot sums the products of a tile whose first column is c + j.
func (x *contractionEmitter) dot(m int) {
	c, lanes := x.c, x.target.Lanes
	t := registerTile{x.emitter, sumsF32, x.cut.rows, x.cut.vector, 1, 1}
	for r := range t.rows {
		x.Line("long r%d = r + %d < %d ? r + %d : %d;", r, r, c.M, r, c.M-1)
	}
	for j := range t.vectors {
		x.Line("long c%d = c + j + %d < %d ? c + j + %d : %d;", j, j, c.N, j, c.N-1)
	}
	t.start(func(r, j int) string { return "set(0)" })
	step := func(k string, part int) {
		for r := range t.rows {
			s := x.over(fmt.Sprintf("r%d", r), k)
			s.part = part
			x.Line("vf a%d = %s;", r, x.load(s, c.A))
		}
		for j := range t.vectors {
			s := x.over(k, fmt.Sprintf("c%d", j))
			s.lane, s.part = m, part
			x.Line("vf b%d = %s;", j, x.load(s, c.B))
			for r := range t.rows {
				x.Line("%s = fma_(a%d, b%d, %s);", t.sum(0, r, j), r, j, t.sum(0, r, j))
			}
		}
	}
	x.Open("for (long k = 0; k + %d <= %d; k += %d)", lanes, c.K, lanes)
	step("k", 0)
	x.Close()
	if part := c.K % lanes; part > 0 {
		x.Open("")
		step(fmt.Sprint(c.K-part), part)
		x.Close()
	}
	for r := range t.rows {
		for j := range t.vectors {
			x.Line("if (j + %d < %d) sums[%d + j] = lane0_f32(fold_sum_f32(%s));", j, lanes, r*lanes+j, t.sum(0, r, j))
		}
	}
}

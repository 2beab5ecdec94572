package cpu

import (
	"fmt"
	"slices"

	"forgekernel/forge/loop"
)

// matrixBytes is how much of A may be read again for each panel of B, unless the
// schedule says otherwise; rows beyond it form a block of their own.
const matrixBytes = 256 << 10

// A panel of a matrix that is not constant is copied before it is used, when there
// are rows enough to repay that and it fits the stack: neighbours in a column are
// else as far apart as rows are, and fall into the same few lines of the caches.
const (
	copiedRows  = 32
	copiedBytes = 512 << 10
)

// contractionEmitter writes a contraction as one function for each size of
// register tile, and the loops that call them.
type contractionEmitter struct {
	*emitter
	c      *loop.Contraction
	name   string
	packed bool // B stands in panels
	copied bool // panels of B are copied before they are used
	tiles  map[string]bool
}

func (e *emitter) contraction(name string, packed bool) {
	x := &contractionEmitter{emitter: e, c: e.kernel.Contraction, name: name, packed: packed, tiles: make(map[string]bool)}
	cut := e.target.cut(x.c, e.schedule)
	lanes := e.target.Lanes
	widest := slices.Max(append([]int{0}, cut.panels...)) * lanes
	x.copied = !packed && x.c.M >= copiedRows && 4*x.c.K*widest <= copiedBytes
	for i, nv := range cut.panels {
		part := 0
		if i == len(cut.panels)-1 {
			part = x.c.N % lanes
		}
		for _, mr := range cut.rows {
			x.tile(mr, nv, part)
		}
	}
	e.open("KERNEL void %s(%s)", name, e.params())
	vars := make([]string, len(x.c.Batch))
	for i, d := range x.c.Batch {
		vars[i] = fmt.Sprintf("i%d", i)
		e.open("for (long i%d = 0; i%d < %d; i%d++)", i, i, d, i)
	}
	x.calls(cut, scope{vars: append(vars, "", "")})
	for range x.c.Batch {
		e.close()
	}
	e.close()
}

// calls runs the tiles: blocks of rows that fit the cache outside, panels within
// them, and the tiles of a block inside.
func (x *contractionEmitter) calls(cut tiling, s scope) {
	row := 0
	for from := 0; from < len(cut.rows); {
		to := from + tiling{rows: cut.rows[from:]}.block(x.schedule.Block)
		column, offset := 0, 0
		for i, nv := range cut.panels {
			part := 0
			if i == len(cut.panels)-1 {
				part = x.c.N % x.target.Lanes
			}
			x.column(cut.rows[from:to], nv, part, row, column, offset, s)
			column += nv * x.target.Lanes
			offset += nv * x.target.Lanes * x.c.K
		}
		for ; from < to; from++ {
			row += cut.rows[from]
		}
	}
}

// column calls the tiles of one panel, runs of equal tiles in a loop.
func (x *contractionEmitter) column(rows []int, nv, part, row, column, offset int, s scope) {
	c := x.c
	m := len(c.Batch)
	b := fmt.Sprintf("%s + %d", s.at(c.B), column*c.B.Strides[m+1])
	if x.packed {
		b = fmt.Sprintf("p%d + %d", c.B.Param, offset)
	}
	x.open("")
	defer x.close()
	if x.copied {
		b = x.copyPanel(nv, part, b)
	}
	bias := "0"
	if c.Bias != nil {
		bias = fmt.Sprintf("p%d + %d", c.Bias.Param, column*c.Bias.Strides[0])
	}
	x.checkStop()
	for i := 0; i < len(rows); {
		n := 1
		for i+n < len(rows) && rows[i+n] == rows[i] {
			n++
		}
		mr := rows[i]
		x.open("for (long r = %d; r < %d; r += %d)", row, row+n*mr, mr)
		x.line("%s_%dx%d_%d(%s + r * %d, %s, %s, %s + r * %d + %d);", x.name, mr, nv, part,
			s.at(c.A), c.A.Strides[m], b, bias, s.at(c.Out), c.Out.Strides[m], column)
		x.close()
		row += n * mr
		i += n
	}
}

// copyPanel copies a panel that begins at address from, and returns the copy.
func (x *contractionEmitter) copyPanel(nv, part int, from string) string {
	lanes, m := x.target.Lanes, len(x.c.Batch)
	source := len(x.kernel.Params) // a pointer beside those of the parameters
	x.line("float panel[%d] __attribute__((aligned(64)));", max(1, x.c.K*nv*lanes))
	x.line("const float *p%d = %s;", source, from)
	x.open("for (long k = 0; k < %d; k++)", x.c.K)
	for j := range nv {
		s := scope{vars: []string{"k", fmt.Sprint(j * lanes)}, lane: 1}
		if j == nv-1 {
			s.part = part
		}
		value := x.load(s, loop.Access{Param: source, Strides: x.c.B.Strides[m:]})
		x.line("store(panel + k * %d + %d, %s);", nv*lanes, j*lanes, value)
	}
	x.close()
	return "panel"
}

// tile writes the function of a register tile: mr rows by nv vectors, the last of
// which has part columns when part is not 0.
func (x *contractionEmitter) tile(mr, nv, part int) {
	c, lanes := x.c, x.target.Lanes
	name := fmt.Sprintf("%s_%dx%d_%d", x.name, mr, nv, part)
	if x.tiles[name] {
		return
	}
	x.tiles[name] = true
	partOf := func(j int) int {
		if j == nv-1 {
			return part
		}
		return 0
	}
	x.open("KERNEL void %s(const float *restrict p0, const float *restrict p1, const float *p2, float *restrict p3)", name)
	for j := range nv {
		start := "set(0)"
		if c.Bias != nil {
			start = x.load(scope{vars: []string{fmt.Sprint(j * lanes)}, part: partOf(j)}, loop.Access{Param: 2, Strides: c.Bias.Strides})
		}
		x.line("vf c0_%d = %s;", j, start)
		for r := 1; r < mr; r++ {
			x.line("vf c%d_%d = c0_%d;", r, j, j)
		}
	}
	if c.Bias == nil {
		x.line("(void)p2;")
	}
	x.sum(mr, nv, partOf)
	x.results(mr, nv, partOf)
	x.close()
}

// sum adds the products up, in order of k.
func (x *contractionEmitter) sum(mr, nv int, partOf func(int) int) {
	unroll := max(x.schedule.Unroll, 1)
	whole := x.c.K / unroll * unroll
	x.open("for (long k = 0; k < %d; k += %d)", whole, unroll)
	x.products("k", mr, nv, partOf)
	for u := 1; u < unroll; u++ {
		x.products(fmt.Sprintf("(k + %d)", u), mr, nv, partOf)
	}
	x.close()
	for k := whole; k < x.c.K; k++ {
		x.products(fmt.Sprint(k), mr, nv, partOf)
	}
}

// products adds those of one k.
func (x *contractionEmitter) products(k string, mr, nv int, partOf func(int) int) {
	c, lanes, m := x.c, x.target.Lanes, len(x.c.Batch)
	x.open("")
	defer x.close()
	for j := range nv {
		s := scope{vars: []string{k, fmt.Sprint(j * lanes)}, lane: 1, part: partOf(j)}
		b := loop.Access{Param: 1, Strides: c.B.Strides[m:]}
		if x.packed || x.copied {
			b.Strides, s.part = []int{nv * lanes, 1}, 0
		}
		x.line("vf b%d = %s; PIN(b%d);", j, x.load(s, b), j)
	}
	for r := range mr {
		x.line("{ vf a = set(p0[%d + %s * %d]);", r*c.A.Strides[m], k, c.A.Strides[m+1])
		for j := range nv {
			x.line("  c%d_%d = fma_(a, b%d, c%d_%d);", r, j, j, r, j)
		}
		x.line("}")
	}
}

// results applies the epilogue and stores.
func (x *contractionEmitter) results(mr, nv int, partOf func(int) int) {
	m := len(x.c.Batch)
	for r := range mr {
		for j := range nv {
			acc := fmt.Sprintf("c%d_%d", r, j)
			s := scope{vars: []string{fmt.Sprint(r), fmt.Sprint(j * x.target.Lanes)}, lane: 1, part: partOf(j), acc: acc}
			x.open("")
			if x.c.Epilogue != nil {
				acc = x.expr(s, x.c.Epilogue)
			}
			x.store(s, loop.Access{Param: 3, Strides: x.c.Out.Strides[m:]}, acc)
			x.close()
		}
	}
}

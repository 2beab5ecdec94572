package cpu

import (
	"fmt"
	"slices"

	"forgekernel/forge/loop"
)

// matrixBytes is how much of A may be read again for each panel of B; rows beyond
// it form a block of their own.
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

// contraction writes the functions and returns the number of units.
func (e *emitter) contraction(name string, packed bool) int {
	x := &contractionEmitter{emitter: e, c: e.kernel.Contraction, name: name, packed: packed, tiles: make(map[string]bool)}
	cut := e.target.tileFor(x.c)
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
	defer e.close()
	return x.grid(cut)
}

// grid writes the loop over units, which are the register tiles. Those of a panel
// follow one another; panels follow within a block of rows that fits the cache;
// then come blocks and batches.
func (x *contractionEmitter) grid(cut tiling) int {
	c, panels, tiles := x.c, len(cut.panels), len(cut.rows)
	block := min(tiles, max(1, matrixBytes/(4*max(1, c.K)*cut.rows[0])))
	count := panels * tiles
	x.open("for (long u = from, next; u < to; u = next)")
	x.checkStop()
	x.line("long v = u %% %d, head = v / %d * %d, size = least(%d, %d - head);", count, panels*block, block, block, tiles)
	x.line("long j = v %% %d / size, t = head + v %% %d %% size;", panels*block, panels*block)
	x.line("long end = least(head + size, t + to - u);")
	x.line("next = u + end - t;")
	vars := make([]string, len(c.Batch), len(c.Batch)+2)
	for i := len(vars) - 1; i >= 0; i-- {
		vars[i] = fmt.Sprintf("i%d", i)
		x.line("long %s = u / %d %% %d;", vars[i], count, c.Batch[i])
		count *= c.Batch[i]
	}
	s := scope{vars: append(vars, "", "")}
	if panels > 1 {
		x.open("if (j < %d)", panels-1)
		x.column(cut, cut.panels[0], 0, s)
		x.close()
		x.open("else")
	} else {
		x.open("")
	}
	x.column(cut, cut.panels[panels-1], c.N%x.target.Lanes, s)
	x.close()
	x.close()
	return count
}

// column calls the tiles t to end of a panel, those of either height in a loop.
func (x *contractionEmitter) column(cut tiling, nv, part int, s scope) {
	c := x.c
	m := len(c.Batch)
	width := cut.panels[0] * x.target.Lanes
	b := fmt.Sprintf("%s + j * %d", s.at(c.B), width*c.B.Strides[m+1])
	if x.packed {
		b = fmt.Sprintf("p%d + j * %d", c.B.Param, width*c.K)
	}
	if x.copied {
		b = x.copyPanel(nv, part, b)
	}
	bias := "0"
	if c.Bias != nil {
		bias = fmt.Sprintf("p%d + j * %d", c.Bias.Param, width*c.Bias.Strides[0])
	}
	high, low := cut.rows[0], cut.rows[len(cut.rows)-1]
	tall := 0
	for tall < len(cut.rows) && cut.rows[tall] == high {
		tall++
	}
	call := func(limit string, mr, skip int) {
		x.open("for (; t < %s; t++)", limit)
		x.line("long r = t * %d + %d;", mr, skip)
		x.line("%s_%dx%d_%d(%s + r * %d, %s, %s, %s + r * %d + j * %d);", x.name, mr, nv, part,
			s.at(c.A), c.A.Strides[m], b, bias, s.at(c.Out), c.Out.Strides[m], width)
		x.close()
	}
	if tall == len(cut.rows) {
		call("end", high, 0)
		return
	}
	call(fmt.Sprintf("end && t < %d", tall), high, 0)
	call("end", low, tall*(high-low))
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
	c, lanes, m := x.c, x.target.Lanes, len(x.c.Batch)
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
	x.open("for (long k = 0; k < %d; k++)", c.K)
	for j := range nv {
		s := scope{vars: []string{"k", fmt.Sprint(j * lanes)}, lane: 1, part: partOf(j)}
		b := loop.Access{Param: 1, Strides: c.B.Strides[m:]}
		if x.packed || x.copied {
			b.Strides, s.part = []int{nv * lanes, 1}, 0
		}
		x.line("vf b%d = %s; PIN(b%d);", j, x.load(s, b), j)
	}
	for r := range mr {
		x.line("{ vf a = set(p0[%d + k * %d]);", r*c.A.Strides[m], c.A.Strides[m+1])
		for j := range nv {
			x.line("  c%d_%d = fma_(a, b%d, c%d_%d);", r, j, j, r, j)
		}
		x.line("}")
	}
	x.close()
	x.results(mr, nv, partOf)
	x.close()
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

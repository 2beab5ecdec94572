package cpu

import (
	"fmt"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// contractionEmitter writes a contraction. A unit of its work is a register tile, a
// panel of columns or a dot product of a vector.
type contractionEmitter struct {
	*emitter
	c      *loop.Contraction
	cut    tiling
	name   string
	elem   tensor.DType
	weight tensor.DType // of B
	arithmetic
	packed []int    // the steps between batches of packed panels; nil when B is not packed
	batch  []string // the variables of the batch dimensions
}

// contraction writes the functions and returns the number of units.
func (e *emitter) contraction(name string, cut tiling, packed []int) int {
	x := &contractionEmitter{emitter: e, c: e.kernel.Contraction, cut: cut, name: name, packed: packed}
	for _, p := range e.kernel.Params {
		e.elems = append(e.elems, p.DType())
	}
	x.elem, x.weight = x.c.Elem, x.c.Weight
	x.arithmetic = arithmeticOf(x.elem)
	for i := range x.c.Batch {
		x.batch = append(x.batch, fmt.Sprintf("i%d", i))
	}
	switch cut.form {
	case inSweeps:
		return x.sweeps()
	case inDots:
		return x.dots()
	}
	return x.tiles()
}

// over is a scope at a row and a column.
func (x *contractionEmitter) over(row, column string) scope {
	return scope{vars: append(append([]string{}, x.batch...), row, column), lane: len(x.batch) + 1}
}

// locals are the arguments of a part of the kernel beside the parameters.
func (x *contractionEmitter) locals(kind string, names ...string) string {
	text := ""
	for _, v := range append(append([]string{}, x.batch...), names...) {
		text += ", " + kind + v
	}
	return text
}

// variant is a register tile and its function.
type variant struct {
	rows, vectors int // no vectors are those of the fold
	part          int // columns of the last vector, when not all
}

func (x *contractionEmitter) function(v variant) string {
	return fmt.Sprintf("%s_%dx%d_%d", x.name, v.rows, v.vectors, v.part)
}

// tiles writes a function for each size of register tile, and the loop over units,
// which are the tiles. Those of a panel follow one another; panels follow within a
// block of rows that fits the cache; then come blocks and batches.
func (x *contractionEmitter) tiles() int {
	lanes := x.target.Lanes
	rows := even(x.c.M, x.cut.rows)
	kinds := x.kinds()
	panels := kinds[len(kinds)-1].to
	made := make(map[variant]bool)
	for _, k := range kinds {
		if made[k.variant] {
			continue
		}
		made[k.variant] = true
		x.tile(k.variant)
		if v := k.variant; rows.first < rows.count {
			v.rows--
			x.tile(v)
		}
	}
	x.Open("KERNEL void %s(%s)", x.name, x.params())
	if x.cut.copied {
		x.array("copy", x.c.K*x.cut.vector*lanes)
	}
	count := x.grid(panels, rows.count)
	x.Line("long c = panel * %d;", x.pace()*lanes)
	b := x.panelAt()
	if x.cut.copied {
		x.copies(kinds, b)
		b = "copy"
	}
	x.Line("const %s *b = %s;", x.panelElem(), b)
	x.eachKind(kinds, func(v variant) { x.calls(v, rows) })
	x.Close()
	x.Close()
	return count
}

// grid opens the loop over runs of tiles t to end-1 of one panel.
func (x *contractionEmitter) grid(panels, tiles int) int {
	block := tiles
	if x.cut.block > 0 {
		block = min(block, x.cut.block)
	}
	count := panels * tiles
	x.Open("for (long u = from, next; u < to; u = next)")
	x.checkStop()
	x.Line("long v = u %% %d, head = v / %d * %d, size = least(%d, %d - head);", count, panels*block, block, block, tiles)
	x.Line("long panel = v %% %d / size, t = head + v %% %d %% size;", panels*block, panels*block)
	x.Line("long end = least(head + size, t + to - u);")
	x.Line("next = u + end - t;")
	return x.batchOf(count)
}

// batchOf declares the variables of the batch that unit u belongs to, each of which
// has so many units, and returns the number of all units.
func (x *contractionEmitter) batchOf(count int) int {
	for i := len(x.batch) - 1; i >= 0; i-- {
		x.Line("long %s = u / %d %% %d;", x.batch[i], count, x.c.Batch[i])
		count *= x.c.Batch[i]
	}
	return count
}

// calls runs the tiles t to end-1, of which the first ones have a row more.
func (x *contractionEmitter) calls(v variant, rows cutting) {
	call := func(v variant) {
		x.Line("%s(%s, b%s);", x.function(v), x.pass(), x.locals("", "r", "c"))
	}
	x.Open("for (; t < end; t++)")
	if rows.first == rows.count {
		x.Line("long r = t * %d;", v.rows)
		call(v)
	} else {
		x.Line("long r = t * %d + (t < %d ? t : %d);", v.rows-1, rows.first, rows.first)
		x.Line("if (t < %d)", rows.first)
		x.Depth++
		call(v)
		x.Depth--
		x.Line("else")
		v.rows--
		x.Depth++
		call(v)
		x.Depth--
	}
	x.Close()
}

// array declares an array of numbers as they are computed with.
func (x *contractionEmitter) array(name string, size int) {
	x.Line("%s %s[%d] __attribute__((aligned(64)));", forms[x.elemOf()].elem, name, max(1, size))
}

// elemOf is the type of numbers as they are computed with.
func (x *contractionEmitter) elemOf() tensor.DType {
	if x.arithmetic == sumsF64 {
		return tensor.F64
	}
	return tensor.F32
}

// tile writes the function of a register tile whose first result is at row r and
// column c.
func (x *contractionEmitter) tile(v variant) {
	if v.vectors == 0 {
		x.foldTile(v)
		return
	}
	c, lanes := x.c, x.target.Lanes
	t := registerTile{x.emitter, x.arithmetic, v.rows, v.vectors, x.cut.chains, x.cut.unroll}
	x.Open("KERNEL void %s(%s, const %s *b%s)", x.function(v), x.pointers(), x.panelElem(), x.locals("long ", "r", "c"))
	a := x.factors(v)
	t.start(func(r, j int) string {
		if c.Bias == nil || x.arithmetic == sumsF64 {
			return x.zero()
		}
		return x.load(x.result(v, r, j), *c.Bias)
	})
	t.loop(c.K, func(chain int, k string) {
		x.fetch(v, k)
		t.add(chain, func(r int) string { return a(r, k) }, func(j int) string {
			if x.cut.copied {
				return fmt.Sprintf("load_%s(b + %s * %d + %d)", x.suffix, k, v.vectors*lanes, j*lanes)
			}
			return x.vectorOf(v, j, k)
		})
	})
	t.join()
	for r := range v.rows {
		for j := range v.vectors {
			x.finish(x.result(v, r, j), t.sum(0, r, j))
		}
	}
	x.Close()
}

// widenedFloats is how many elements of half precision of A a tile converts before
// it uses them; rows that are longer are converted one element at a time.
const widenedFloats = 64 << 10

// factors makes the rows of A ready, and returns how to read an element: what set_
// completes.
func (x *contractionEmitter) factors(v variant) func(r int, k string) string {
	c, m := x.c, len(x.batch)
	s := x.over("r", "")
	s.lane = -1
	x.Line("const %s *a = %s;", forms[x.elem].elem, s.at(c.A))
	direct := func(r int, k string) string {
		return fmt.Sprintf("%v(a[%d + %s * %d])", x.elem, r*c.A.Strides[m], k, c.A.Strides[m+1])
	}
	if x.elem == tensor.F32 || x.elem == tensor.F64 || v.rows*c.K > widenedFloats {
		return direct
	}
	lanes := x.target.Lanes
	x.array("wide", v.rows*c.K)
	for r := range v.rows {
		s := x.over(fmt.Sprintf("(r + %d)", r), "k")
		x.Line("for (long k = 0; k + %d <= %d; k += %d) store(wide + %d + k, %s);", lanes, c.K, lanes, r*c.K, x.load(s, c.A))
		if s.part = c.K % lanes; s.part > 0 {
			s.vars[m+1] = fmt.Sprint(c.K - s.part)
			x.Line("store_part(wide + %d, %s, %d);", r*c.K+c.K-s.part, x.load(s, c.A), s.part)
		}
	}
	return func(r int, k string) string { return fmt.Sprintf("f32(wide[%d + %s])", r*c.K, k) }
}

// result is the scope of vector j of row r of a tile.
func (x *contractionEmitter) result(v variant, r, j int) scope {
	s := x.over(fmt.Sprintf("(r + %d)", r), fmt.Sprintf("(c + %d)", x.column(j)*x.target.Lanes))
	if j == v.vectors-1 {
		s.part = v.part
	}
	return s
}

// finish applies the epilogue to a sum and stores it.
func (x *contractionEmitter) finish(s scope, sum string) {
	x.Open("")
	if x.c.Bias != nil && x.arithmetic == sumsF64 {
		x.Line("%s = v_add_f64(%s, %s);", sum, sum, x.load(s, *x.c.Bias))
	}
	s.acc = sum
	if x.c.Epilogue != nil {
		sum = x.expr(s, x.c.Epilogue)
	}
	x.store(s, x.c.Out, sum)
	x.Close()
}

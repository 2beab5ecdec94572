package cpu

import (
	"fmt"

	"forgekernel/forge/loop"
)

// convolutionEmitter writes a convolution. A unit of its work is a band of one image
// and group.
type convolutionEmitter struct {
	*emitter
	arithmetic
	c    *loop.Convolution
	w    windowing
	name string
}

// convolution writes the functions and returns the number of units.
func (e *emitter) convolution(name string, w windowing) int {
	x := &convolutionEmitter{emitter: e, c: e.kernel.Convolution, w: w, name: name}
	x.arithmetic = arithmeticOf(x.c.Elem)
	for _, p := range e.kernel.Params {
		e.elems = append(e.elems, p.Value.Spec.DType)
	}
	c, lanes := x.c, e.target.Lanes
	_, vectors := w.grid(e.target, c)
	masked := (c.V.Padded() || c.H.Padded()) && !w.finite
	if masked {
		x.exactly()
	}
	tiles := x.tiles(vectors)
	e.Open("KERNEL void %s(%s)", name, e.params())
	x.Line("%s s[%d] __attribute__((aligned(64)));", x.number(), w.scratch(e.target, c))
	if w.flat {
		x.Line("%s line[%d] __attribute__((aligned(64)));", x.number(), w.channels*vectors*lanes)
	}
	if masked {
		x.Line("const int exact = %s;", x.notFinite())
	}
	bands, columns := (c.V.Out+w.band-1)/w.band, (vectors+w.width-1)/w.width
	count := x.units([]string{"i", "g", "band", "column"}, []int{c.Images, c.Groups, bands, columns})
	x.Line("long top = band * %d, left = column * %d;", w.band, w.width*lanes)
	x.Line("long rows = least(%d, %d - top);", w.band, c.V.Out)
	if masked {
		x.Line("if (exact) { %s_exact(%s, i, g, top, top + rows, left, least(left + %d, %d)); continue; }", name, x.pass(), w.width*lanes, c.H.Out)
	}
	x.fill(columns)
	x.channels(tiles, vectors)
	x.Close()
	x.Close()
	return count
}

// number is the C type in which is computed.
func (x *convolutionEmitter) number() string {
	if x.arithmetic == sumsF64 {
		return "double"
	}
	return "float"
}

// fill copies the input of a band into the scratch array.
func (x *convolutionEmitter) fill(columns int) {
	c, w := x.c, x.w
	x.Open("for (long k = 0; k < %d; k++)", c.Inputs)
	first, end := 0, w.rows*c.V.Stride
	if w.shared && w.whole(c) { // the others are not read
		first, end = c.V.Before, min(end, c.V.Before+c.V.In)
	}
	x.Open("for (long y = %d; y < %d; y++)", first, end)
	x.Line("long from = top * %d + y - %d;", c.V.Stride, c.V.Before)
	x.Open("for (long q = 0; q < %d; q++)", c.H.Stride)
	x.Line("%s *to = s + k * %d + ((q * %d + y %% %d) * %d + y / %d) * %d;", x.number(), w.plane, c.V.Stride, c.V.Stride, w.rows, c.V.Stride, w.pitch)
	if x.fillConstant(columns) {
		for range 3 {
			x.Close()
		}
		return
	}
	x.Line("long begin = left * %d + q - %d;", c.H.Stride, c.H.Before)
	x.Line("long lo = begin < 0 ? (%d - begin) / %d : 0, hi = begin < %d ? (%d - begin) / %d + 1 : 0;", c.H.Stride-1, c.H.Stride, c.H.In, c.H.In-1, c.H.Stride)
	x.Line("if (from < 0 || from >= %d) hi = 0;", c.V.In)
	x.Line("if (hi > %d) hi = %d;", w.pitch, w.pitch)
	x.Line("if (lo > hi) lo = hi;")
	x.Line("long n = 0;")
	x.Line("for (; n < lo; n++) to[n] = 0;")
	step := c.H.Stride * c.X.Strides[3]
	source := fmt.Sprintf("p%d + i * %d + (g * %d + k) * %d + from * %d + (begin + n * %d) * %d",
		c.X.Param, c.X.Strides[0], c.Inputs, c.X.Strides[1], c.X.Strides[2], c.H.Stride, c.X.Strides[3])
	lanes := x.target.Lanes
	load := fmt.Sprintf("load_%v(%s)", c.Elem, source)
	if step != 1 {
		load = fmt.Sprintf("load_strided_%v(%s, %d, %d)", c.Elem, source, step, lanes)
	}
	x.Line("for (; n + %d <= hi; n += %d) store_%s(to + n, %s);", lanes, lanes, x.suffix, load)
	x.Line("for (; n < hi; n++) to[n] = lane0_%s(set_%v(*(%s)));", x.suffix, c.Elem, source)
	x.Line("for (; n < %d; n++) to[n] = 0;", w.pitch)
	x.Close()
	x.Close()
	x.Close()
}

// fillConstant copies a line that has the same ends in every band, as one piece of
// known size.
func (x *convolutionEmitter) fillConstant(columns int) bool {
	c := x.c
	if columns > 1 || c.H.Stride*c.X.Strides[3] != 1 || c.Elem.Size() < 4 {
		return false
	}
	size, pitch := c.Elem.Size(), x.w.pitch
	lo, hi := min(c.H.Before, pitch), min(c.H.Before+c.H.In, pitch)
	x.Line("if (from < 0 || from >= %d) { __builtin_memset(to, 0, %d); continue; }", c.V.In, size*pitch)
	x.Line("__builtin_memset(to, 0, %d);", size*lo)
	x.Line("__builtin_memcpy(to + %d, p%d + i * %d + (g * %d + k) * %d + from * %d, %d);",
		lo, c.X.Param, c.X.Strides[0], c.Inputs, c.X.Strides[1], c.X.Strides[2], size*(hi-lo))
	x.Line("__builtin_memset(to + %d, 0, %d);", hi, size*(pitch-hi))
	return true
}

// pixelTile is the variant of a register tile and its function.
type pixelTile struct{ channels, lines, vectors, part int }

func (x *convolutionEmitter) function(p pixelTile) string {
	return fmt.Sprintf("%s_%dx%dx%d_%d", x.name, p.channels, p.lines, p.vectors, p.part)
}

// tiles writes the register tiles that occur: two heights, two numbers of lines, the
// last vectors of a line.
func (x *convolutionEmitter) tiles(vectors int) map[pixelTile]bool {
	tiles := make(map[pixelTile]bool)
	add := func(p pixelTile) {
		if !tiles[p] {
			tiles[p] = true
			x.tile(p)
		}
	}
	x.each(vectors, func(_ string, p pixelTile) {
		rows := even(x.c.Outputs, x.w.channels)
		p.channels = rows.large
		add(p)
		if rows.first < rows.count {
			p.channels--
			add(p)
		}
	})
	return tiles
}

// each visits the variants of lines and vectors with the condition of each.
func (x *convolutionEmitter) each(vectors int, visit func(condition string, p pixelTile)) {
	w := x.w
	lines := []int{w.lines}
	if rest := x.c.V.Out % w.lines; rest > 0 && !w.flat {
		lines = append(lines, rest)
		if x.c.V.Out < w.lines {
			lines = lines[1:]
		}
	}
	whole := pixelTile{lines: w.lines, vectors: w.vectors}
	last := whole
	last.vectors = vectors - (vectors-1)/w.vectors*w.vectors
	if !w.flat {
		last.part = x.c.H.Out % x.target.Lanes
	}
	end := (vectors - 1) / w.vectors * w.vectors * x.target.Lanes
	for i, n := range lines {
		which := fmt.Sprintf("y + %d <= rows", n)
		if i > 0 {
			which = fmt.Sprintf("y + %d > rows", w.lines)
		}
		if end > 0 {
			p := whole
			p.lines = n
			visit(fmt.Sprintf("%s && v < %d", which, end), p)
		}
		p := last
		p.lines = n
		visit(fmt.Sprintf("%s && v == %d", which, end), p)
	}
}

// channels runs the tiles of a band: all pixels for some channels, then the next.
func (x *convolutionEmitter) channels(tiles map[pixelTile]bool, vectors int) {
	w, rows := x.w, even(x.c.Outputs, x.w.channels)
	lines := "rows"
	if w.flat {
		lines = "1"
	}
	x.Open("for (long t = 0; t < %d; t++)", rows.count)
	x.Line("long o = t * %d + least(t, %d);", rows.large-1, rows.first)
	x.Open("for (long y = 0; y < %s; y += %d)", lines, w.lines)
	x.Open("for (long v = left; v < least(left + %d, %d); v += %d)", w.width*x.target.Lanes, vectors*x.target.Lanes, w.vectors*x.target.Lanes)
	x.each(vectors, func(condition string, p pixelTile) {
		p.channels = rows.large
		if w.flat {
			condition = condition[len("y + 1 <= rows && "):]
		}
		line := "0"
		if w.flat {
			line = "line"
		}
		call := func(p pixelTile) string {
			return fmt.Sprintf("%s(%s, s + y * %d + v - left, %s, i, g, o, top + y, v);", x.function(p), x.pass(), w.pitch, line)
		}
		if rows.first == rows.count {
			x.Line("if (%s) %s", condition, call(p))
			return
		}
		x.Line("if (%s && t < %d) %s", condition, rows.first, call(p))
		p.channels--
		x.Line("if (%s && t >= %d) %s", condition, rows.first, call(p))
	})
	x.Close()
	x.Close()
	if w.flat {
		x.unflatten(rows, vectors)
	}
	x.Close()
}

// unflatten stores the rows of an image that were one line.
func (x *convolutionEmitter) unflatten(rows cutting, vectors int) {
	c, lanes := x.c, x.target.Lanes
	x.Open("for (long r = 0; r < %d - (t >= %d); r++)", rows.large, rows.first)
	x.Open("for (long y = 0; y < %d; y++)", c.V.Out)
	for at := 0; at < c.H.Out; at += lanes {
		s := scope{vars: []string{"i", x.channel("o + r"), "y", fmt.Sprint(at)}, lane: 3}
		if left := c.H.Out - at; left < lanes {
			s.part = left
		}
		x.store(s, c.Out, fmt.Sprintf("load_%s(line + r * %d + y * %d + %d)", x.suffix, vectors*lanes, x.w.pitch, at))
	}
	x.Close()
	x.Close()
}

func (x *convolutionEmitter) channel(o string) string {
	return fmt.Sprintf("(g * %d + %s)", x.c.Outputs, o)
}

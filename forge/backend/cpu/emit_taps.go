package cpu

import (
	"fmt"
)

// Taps of a kernel are written out when there are few, else those of a row.
const (
	unrolledKernel = 9
	unrolledRow    = 8
)

// tile writes the function of a register tile: s points to the input of its first
// result in the scratch array, line to where an image is one line.
func (x *convolutionEmitter) tile(p pixelTile) {
	c, w, lanes := x.c, x.w, x.target.Lanes
	number := x.number()
	x.Open("KERNEL void %s(%s, const %s *s, %s *line, long i, long g, long o, long y, long v)", x.function(p), x.pointers(), number, number)
	t := registerTile{x.emitter, x.arithmetic, p.channels, p.lines * p.vectors, 1, 1}
	result := func(r, j int) scope {
		s := scope{vars: []string{"i", x.channel(fmt.Sprintf("o + %d", r)), fmt.Sprintf("(y + %d)", j/p.vectors), fmt.Sprintf("(v + %d)", j%p.vectors*lanes)}, lane: 3}
		if j%p.vectors == p.vectors-1 {
			s.part = p.part
		}
		return s
	}
	t.start(func(r, j int) string {
		if c.Bias == nil || x.arithmetic == sumsF64 {
			return x.zero()
		}
		return x.load(result(r, j), *c.Bias)
	})
	x.Line("const %s *weights = %s;", forms[c.Elem].elem, scope{vars: []string{x.channel("o"), "", "", ""}}.at(c.W))
	x.Open("for (long k = 0; k < %d; k++)", c.Inputs)
	taps := func(a, b string) {
		at := fmt.Sprintf("(%s * %d %% %d * %d + %s * %d / %d)", b, c.H.Dilation, c.H.Stride, c.V.Stride*w.rows*w.pitch, b, c.H.Dilation, c.H.Stride)
		t.add(0, func(r int) string {
			return fmt.Sprintf("%v(weights[%d + k * %d + %s * %d + %s * %d])", c.Elem, r*c.W.Strides[0], c.W.Strides[1], a, c.W.Strides[2], b, c.W.Strides[3])
		}, func(j int) string {
			return fmt.Sprintf("load_%s(from + %s + %d)", x.suffix, at, j/p.vectors*w.pitch+j%p.vectors*lanes)
		})
	}
	if w.shared {
		x.sharedRows(p, t)
		x.Close()
		x.results(p, t, result)
		return
	}
	x.over("a", c.V.Taps, c.V.Taps*c.H.Taps <= unrolledKernel, func(a string) {
		x.Line("const %s *from = s + k * %d + (%s * %d %% %d * %d + %s * %d / %d) * %d;", number, w.plane,
			a, c.V.Dilation, c.V.Stride, w.rows, a, c.V.Dilation, c.V.Stride, w.pitch)
		x.over("b", c.H.Taps, c.H.Taps <= unrolledRow, func(b string) { taps(a, b) })
	})
	x.Close()
	x.results(p, t, result)
}

// results finishes and stores the sums of a tile, which ends its function.
func (x *convolutionEmitter) results(p pixelTile, t registerTile, at func(r, j int) scope) {
	for r := range p.channels {
		for j := range p.lines * p.vectors {
			x.finish(at(r, j), t.sum(0, r, j), fmt.Sprintf("line + %d + v", (r*x.lineVectors()+j)*x.target.Lanes))
		}
	}
	x.Close()
}

// sharedRows adds the taps of a tile of several lines row of input by row of input,
// each of which is loaded once for all lines that it is a tap of. Rows that are
// padding in every tile are left out.
func (x *convolutionEmitter) sharedRows(p pixelTile, t registerTile) {
	c, w := x.c, x.w
	first, end := 0, c.V.Span(p.lines)
	if w.whole(c) {
		first, end = max(first, c.V.Before), min(end, c.V.Before+c.V.In)
	}
	x.Line("const %s *from = s + k * %d;", x.number(), w.plane)
	for row := first; row < end; row++ {
		for b := range c.H.Taps {
			x.Open("")
			column := b * c.H.Dilation
			for j := range p.vectors {
				at := (column%c.H.Stride*c.V.Stride + row%c.V.Stride) * w.rows * w.pitch
				at += row/c.V.Stride*w.pitch + column/c.H.Stride + j*x.target.Lanes
				x.Line("%s b%d = load_%s(from + %d);", x.vector, j, x.suffix, at)
				if x.arithmetic == sumsF32 {
					x.Line("PIN(b%d);", j)
				}
			}
			for l := range p.lines {
				a := row - l*c.V.Stride
				if a < 0 || a >= c.V.Taps {
					continue
				}
				x.Line("%s a%d = set_%v(weights[k * %d + %d]);", x.vector, l, c.Elem, c.W.Strides[1], a*c.W.Strides[2]+b*c.W.Strides[3])
				for j := range p.vectors {
					x.Line(x.product, t.sum(0, 0, l*p.vectors+j), fmt.Sprintf("a%d", l), fmt.Sprintf("b%d", j))
				}
			}
			x.Close()
		}
	}
}

// over repeats what body writes for each of n taps, in a loop or written out.
func (x *convolutionEmitter) over(name string, n int, unrolled bool, body func(tap string)) {
	if !unrolled {
		x.Open("for (long %s = 0; %s < %d; %s++)", name, name, n, name)
		body(name)
		x.Close()
		return
	}
	for i := range n {
		x.Open("")
		body(fmt.Sprint(i))
		x.Close()
	}
}

func (x *convolutionEmitter) lineVectors() int {
	_, vectors := x.w.grid(x.target, x.c)
	return vectors
}

// finish adds what is missing to a sum and stores it.
func (x *convolutionEmitter) finish(s scope, sum, line string) {
	x.Open("")
	if x.c.Bias != nil && x.arithmetic == sumsF64 {
		x.Line("%s = v_add_f64(%s, %s);", sum, sum, x.load(s, *x.c.Bias))
	}
	s.acc = sum
	if x.c.Epilogue != nil {
		sum = x.expr(s, x.c.Epilogue)
	}
	if x.w.flat && line != "" {
		x.Line("store_%s(%s, %s);", x.suffix, line, sum)
	} else {
		x.store(s, x.c.Out, sum)
	}
	x.Close()
}

// notFinite is a condition: whether a weight is NaN or infinite, so that zeros
// cannot stand for the padding.
func (x *convolutionEmitter) notFinite() string {
	if x.w.exact {
		return "1"
	}
	return fmt.Sprintf("%s_odd(%s)", x.name, x.pass())
}

// exactly writes the functions for weights that are not finite: one finds out, the
// other leaves out taps in the padding one by one.
func (x *convolutionEmitter) exactly() {
	c := x.c
	each := func(v string, n int) { x.Open("for (long %s = 0; %s < %d; %s++)", v, v, n, v) }
	weight := scope{vars: []string{"o", "k", "a", "b"}, lane: -1}
	if !x.w.exact {
		x.Open("static int %s_odd(%s)", x.name, x.pointers())
		x.Line("int odd = 0;")
		for i, v := range weight.vars {
			each(v, []int{c.Outputs * c.Groups, c.Inputs, c.V.Taps, c.H.Taps}[i])
		}
		x.Line("%s w = lane0_%s(%s);", x.number(), x.suffix, x.load(weight, c.W))
		x.Line("odd |= w - w != 0;")
		for range weight.vars {
			x.Close()
		}
		x.Line("return odd;")
		x.Close()
	}
	x.Open("static void %s_exact(%s, long i, long g, long top, long bottom, long left, long right)", x.name, x.pointers())
	each("r", c.Outputs)
	x.Line("long o = %s;", x.channel("r"))
	x.Open("for (long y = top; y < bottom; y++)")
	x.checkStop()
	x.Open("for (long v = left; v < right; v++)")
	out := scope{vars: []string{"i", "o", "y", "v"}, lane: -1}
	start := x.zero()
	if c.Bias != nil && x.arithmetic == sumsF32 {
		start = x.load(out, *c.Bias)
	}
	x.Line("%s sum = %s;", x.vector, start)
	each("k", c.Inputs)
	each("a", c.V.Taps)
	each("b", c.H.Taps)
	x.Line("long row = y * %d - %d + a * %d, col = v * %d - %d + b * %d;", c.V.Stride, c.V.Before, c.V.Dilation, c.H.Stride, c.H.Before, c.H.Dilation)
	x.Line("if (row < 0 || row >= %d || col < 0 || col >= %d) continue;", c.V.In, c.H.In)
	pixel := scope{vars: []string{"i", fmt.Sprintf("(g * %d + k)", c.Inputs), "row", "col"}, lane: -1}
	x.Line("%s w = %s, p = %s;", x.vector, x.load(weight, c.W), x.load(pixel, c.X))
	x.Line(x.product, "sum", "w", "p")
	for range 3 {
		x.Close()
	}
	x.finish(out, "sum", "")
	for range 3 {
		x.Close()
	}
	x.Close()
}

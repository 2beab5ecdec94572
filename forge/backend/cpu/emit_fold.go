package cpu

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// fold is how the columns behind the last whole vector are computed without empty
// lanes: half a vector of them with two steps of k side by side, and single ones with
// their lanes along k. Their sums are folded in the end. The zero fold is none.
type fold struct {
	half bool // the first columns are half a vector
	dots int  // columns by themselves
}

const (
	foldedRows = 4 // fewer give too few sums at a time to hide the latency of a multiply-add
	foldedDots = 3 // more would leave registers for few rows only
)

// foldFor folds the last columns of a small packed matrix of f32 where they leave
// lanes empty that a fold fills, and rows of A are contiguous.
func (t Target) foldFor(c *loop.Contraction, packed bool) fold {
	part, half := c.N%t.Lanes, t.Lanes/2
	f := fold{part >= half, part % half}
	small := c.Weight.Size()*c.K*c.N < streamedBytes && c.K >= 2*t.Lanes
	single := c.Elem == tensor.F32 && c.Weight == tensor.F32
	if !packed || !small || !single || t.Lanes <= minLanes || c.M < foldedRows || f.dots > foldedDots || c.A.Strides[len(c.Batch)+1] != 1 {
		return fold{}
	}
	return f
}

// columns is how many a fold computes.
func (f fold) columns(lanes int) int {
	if f.half {
		return lanes/2 + f.dots
	}
	return f.dots
}

// sums is the number of vectors that add up a row.
func (f fold) sums() int {
	if f.half {
		return 1 + f.dots
	}
	return f.dots
}

// panelWidths are the columns of the panels of a packed matrix: whole vectors, then those of
// the fold.
func (t Target) panelWidths(n int, f fold) []int {
	if f == (fold{}) {
		return slices.Repeat([]int{t.Lanes}, t.vectors(n))
	}
	list := slices.Repeat([]int{t.Lanes}, n/t.Lanes)
	if f.half {
		list = append(list, t.Lanes/2)
	}
	return append(list, slices.Repeat([]int{1}, f.dots)...)
}

// foldTile writes the function of the last columns of a tile of rows, which are taken
// some at a time so that their sums stay in registers.
func (x *contractionEmitter) foldTile(v variant) {
	f, lanes, whole := x.cut.fold, x.target.Lanes, x.c.N/x.target.Lanes
	panels := (whole + x.cut.vector - 1) / x.cut.vector
	x.Open("KERNEL void %s(%s, const float *b%s)", x.function(v), x.pointers(), x.locals("long ", "r", "c"))
	x.Line("b += %d, c = %d;", (whole-panels*x.pace())*x.panelStep(), whole*lanes)
	s := x.over("r", "")
	s.lane = -1
	x.Line("const float *a = %s;", s.at(x.c.A))
	most := min(8, (x.target.Registers-6)/f.sums(), lanes/max(1, f.dots))
	row := 0
	for _, n := range even(v.rows, most).parts() {
		x.foldRows(row, n)
		row += n
	}
	x.Close()
}

// foldRows computes the last columns of n rows.
func (x *contractionEmitter) foldRows(row, n int) {
	lanes, k := x.target.Lanes, x.c.K
	x.Open("")
	for r := range n {
		if x.cut.fold.half {
			x.Line("vf h%d = set(0);", r)
		}
		for q := range x.cut.fold.dots {
			x.Line("vf d%d_%d = set(0);", r, q)
		}
	}
	x.Open("for (long k = 0; k + %d <= %d; k += %d)", lanes, k, lanes)
	x.foldSteps(row, n, "k", lanes)
	x.Close()
	if part := k % lanes; part > 0 {
		x.foldSteps(row, n, fmt.Sprint(k-part), part)
	}
	x.foldEnd(row, n)
	x.Close()
}

// foldSteps adds the products of some k, at most as many as there are lanes.
func (x *contractionEmitter) foldSteps(row, n int, k string, steps int) {
	f, lanes, stride := x.cut.fold, x.target.Lanes, x.c.A.Strides[len(x.batch)]
	half, dots := lanes/2, "b"
	if f.half {
		dots = fmt.Sprintf("b + %d", x.c.K*half+panelGap(x.weight))
		for i := 0; i < steps; i += 2 {
			part := ""
			if i+1 == steps {
				part = "_one"
			}
			x.Open("")
			x.Line("vf w = beside%s(b + (%s + %d) * %d); PIN(w);", part, k, i, half)
			for r := range n {
				x.Line("h%d = fma_(pairs%s(a + %d + %s + %d), w, h%d);", r, part, (row+r)*stride, k, i, r)
			}
			x.Close()
		}
	}
	if f.dots == 0 {
		return
	}
	s := scope{}
	if steps < lanes {
		s.part = steps
	}
	x.Open("")
	for q := range f.dots {
		x.Line("vf w%d = %s; PIN(w%d);", q, x.loadAt(s, "f32", fmt.Sprintf("%s + %d + %s", dots, q*(x.c.K+panelGap(x.weight)), k), 1), q)
	}
	for r := range n {
		x.Line("vf x%d = %s; PIN(x%d);", r, x.loadAt(s, "f32", fmt.Sprintf("a + %d + %s", (row+r)*stride, k), 1), r)
		for q := range f.dots {
			x.Line("d%d_%d = fma_(x%d, w%d, d%d_%d);", r, q, r, q, r, q)
		}
	}
	x.Close()
}

// foldDots adds up the lanes of each sum of n rows, and returns the vector in which
// they then stand, column after column, row after row.
func (x *contractionEmitter) foldDots(n int) string {
	const none = "set(0)"
	f, lanes := x.cut.fold, x.target.Lanes
	list := slices.Repeat([]string{none}, lanes)
	for i := range n * f.dots {
		list[i] = fmt.Sprintf("d%d_%d", i/f.dots, i%f.dots)
	}
	for h := lanes / 2; h > 0; h /= 2 {
		low, high := make([]int, lanes), make([]int, lanes)
		for l := range lanes {
			low[l], high[l] = l, l+h
			if l&h != 0 {
				low[l], high[l] = lanes+l-h, lanes+l
			}
		}
		for i, a := range list[:h] {
			if b := list[i+h]; a != none { // else b is none too
				list[i] = fmt.Sprintf("f%d_%d", h, i)
				x.Line("vf %s = shuffle(%s, %s, %s) + shuffle(%s, %s, %s);", list[i], a, b, laneNumbers(low), a, b, laneNumbers(high))
			}
		}
	}
	return list[0]
}

// foldEnd brings the sums of each of n rows together and stores them.
func (x *contractionEmitter) foldEnd(row, n int) {
	f, lanes := x.cut.fold, x.target.Lanes
	dots, halves, swap := "", 0, make([]int, lanes)
	if f.dots > 0 {
		dots = x.foldDots(n)
	}
	if f.half {
		halves = lanes / 2
	}
	for l := range lanes {
		swap[l] = l ^ 1
	}
	for r := range n {
		a, b, order := dots, dots, make([]int, lanes)
		if f.half {
			a = fmt.Sprintf("h%d", r)
			x.Line("%s += shuffle(%s, %s, %s);", a, a, a, laneNumbers(swap))
			b = cmp.Or(dots, a)
		}
		for l := range halves {
			order[l] = 2 * l
		}
		for q := range f.dots {
			order[halves+q] = 2*halves + r*f.dots + q
		}
		sum := fmt.Sprintf("y%d", r)
		x.Line("vf %s = shuffle(%s, %s, %s);", sum, a, b, laneNumbers(order))
		s := x.over(fmt.Sprintf("(r + %d)", row+r), "c")
		s.part = f.columns(lanes)
		if x.c.Bias != nil {
			x.Line("%s += %s;", sum, x.load(s, *x.c.Bias))
		}
		x.finish(s, sum)
	}
}

// laneNumbers is a vector of lane numbers.
func laneNumbers(list []int) string {
	text := make([]string, len(list))
	for i, n := range list {
		text[i] = fmt.Sprint(n)
	}
	return "(vi){" + strings.Join(text, ", ") + "}"
}

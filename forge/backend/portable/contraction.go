package portable

import (
	"errors"
	"fmt"
	"slices"

	"forgekernel/forge/backend/planned"
	"forgekernel/forge/backend/portable/vector"
	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// matrixElements is how much of A may be read again for each panel of B; rows
// beyond it form a block of their own.
const matrixElements = 64 << 10

// Panels of a matrix that is not constant are copied when there are rows enough to
// repay that.
const copiedRows = 32

// maxPanel is the most elements of a panel that is copied.
const maxPanel = 16 << 20

// contraction is a [loop.Contraction] in tiles. Its epilogue is a nest over the
// stored sums, while they are in a cache.
type contraction struct {
	product
	c        *loop.Contraction
	packed   bool
	epilogue *nest
}

// contraction packs a constant matrix, and makes it the parameter of the step.
func (x *Executable) contraction(k *loop.Kernel, s *step) (kernel, error) {
	c := k.Contraction
	if c.Elem != tensor.F32 {
		return nil, fmt.Errorf("products of %v are not in tiles", c.Elem)
	}
	if c.N > 1 && c.Out.Strides[len(c.Batch)+1] != 1 {
		return nil, errors.New("the columns of its results lie apart")
	}
	t := &contraction{product: newProduct(x.set, c.M, c.N, c.K), c: c}
	if c.Bias != nil && slices.ContainsFunc(c.Bias.Strides[:len(c.Batch)+1], func(s int) bool { return s != 0 }) {
		return nil, errors.New("its bias differs from row to row")
	}
	if c.Epilogue != nil {
		finish := loop.Stage{Expr: onStored(c.Epilogue, &c.Out), Store: &c.Out}
		var err error
		t.epilogue, err = newNest(x.set, &loop.Nest{Outer: append(append([]int{}, c.Batch...), c.M), Line: []int{c.N}, Stages: []loop.Stage{finish}})
		if err != nil {
			return nil, err
		}
	}
	if !slices.ContainsFunc(c.B.Strides[:len(c.Batch)], func(step int) bool { return step != 0 }) {
		var at planned.Place
		if at, t.packed = x.PackMatrix(k, planned.Panels{Widths: t.widths(), Elem: tensor.F32}); t.packed {
			s.args[c.B.Param] = at
			return t, nil
		}
	}
	if c.Weight != tensor.F32 {
		return nil, fmt.Errorf("the matrix is %v and no constant, which could be widened before", c.Weight)
	}
	if t.panelSize() > maxPanel {
		return nil, fmt.Errorf("sums of %d products need a panel of %d MiB", t.k, t.panelSize()>>18)
	}
	return t, nil
}

// onStored is an epilogue that reads the sum where it is stored.
func onStored(e *loop.Expr, out *loop.Access) *loop.Expr {
	made := make(map[*loop.Expr]*loop.Expr)
	e.Walk(func(x *loop.Expr) {
		y := *x
		if x.Op == loop.Acc {
			y = loop.Expr{Op: loop.Load, Type: tensor.F32, Access: out}
		}
		y.Args = nil
		for _, a := range x.Args {
			y.Args = append(y.Args, made[a])
		}
		made[x] = &y
	})
	return made[e]
}

func (t *contraction) doc() string {
	if t.packed {
		return t.product.doc() + ", the matrix packed at compile time"
	}
	return t.product.doc() + ", the matrix read where the second operand stands"
}

// paddedN is the columns of all panels.
func (t *contraction) paddedN() int { return padded(t.n) }

// biasStep is the step of the bias from one column to the next.
func (t *contraction) biasStep() int { return t.c.Bias.Strides[len(t.c.Batch)+1] }

// panelSize is the room for the copy of a panel.
func (t *contraction) panelSize() int {
	if t.packed {
		return 0
	}
	return t.k * t.widest()
}

// scratch holds the bias, a panel and a tile, and what the epilogue needs.
func (t *contraction) scratch() int {
	n := t.paddedN() + t.panelSize() + t.spill()
	if t.epilogue != nil {
		n += t.epilogue.scratch()
	}
	return n
}

// work is one run of a contraction.
type work struct {
	*contraction
	*call
	bias, panel, tile []float32
	a, b, out         matrix
	point             []int // of the batch
}

func (t *contraction) run(c *call) bool {
	w := &work{contraction: t, point: make([]int, len(t.c.Batch))}
	rest := c.scratch
	take := func(n int) []float32 {
		s := rest[:n:n]
		rest = rest[n:]
		return s
	}
	w.bias, w.panel, w.tile = take(t.paddedN()), take(t.panelSize()), take(t.spill())
	w.call = &call{params: c.params, scratch: rest, stop: c.stop}
	if t.c.Bias == nil {
		w.bias = nil
	} else {
		p := c.params[t.c.Bias.Param]
		copyPanel(w.bias, matrix{p.data, p.first + t.c.Bias.Offset, 0, t.biasStep()}, 1, 0, t.n, len(w.bias))
	}
	count := 1
	for _, d := range t.c.Batch {
		count *= d
	}
	for range count {
		w.a, w.b, w.out = w.at(t.c.A), w.at(t.c.B), w.at(t.c.Out)
		if !w.multiply() {
			return false
		}
		w.next()
	}
	return true
}

// next steps to the next point of the batch.
func (w *work) next() {
	for i := len(w.point) - 1; i >= 0; i-- {
		if w.point[i]++; w.point[i] < w.c.Batch[i] {
			return
		}
		w.point[i] = 0
	}
}

// at is a matrix at this point of the batch.
func (w *work) at(a loop.Access) matrix {
	p, m := w.params[a.Param], len(w.point)
	at := p.first + a.Offset
	for i, x := range w.point {
		at += x * a.Strides[i]
	}
	return matrix{p.data, at, a.Strides[m], a.Strides[m+1]}
}

// multiply goes through blocks of rows that fit a cache, the panels of each, and
// the tiles of each panel.
func (w *work) multiply() bool {
	row := 0
	for from := 0; from < len(w.rows); {
		to, end := from, row
		for to < len(w.rows) && (to == from || (end-row+w.rows[to])*w.k <= matrixElements) {
			end += w.rows[to]
			to++
		}
		column, offset := 0, 0
		for _, g := range w.panels {
			if w.stop.Load() {
				return false
			}
			b := w.panelAt(g, column, offset)
			r := row
			for _, rows := range w.rows[from:to] {
				w.block(w.a, b, g, w.k, w.bias, w.out, r, rows, column, w.tile)
				r += rows
			}
			column += g * vector.Lanes
			offset += g * vector.Lanes * w.k
		}
		if w.epilogue != nil && !w.finish(row, end) {
			return false
		}
		row, from = end, to
	}
	return true
}

// panelAt is a panel of B: one that was packed, B itself, or a copy.
func (w *work) panelAt(g, column, offset int) matrix {
	width := g * vector.Lanes
	if w.packed {
		return matrix{w.params[w.c.B.Param].data, offset, width, 1}
	}
	b := w.b
	b.first += column * b.step
	if b.step == 1 && column+width <= w.n && w.m < copiedRows {
		return b
	}
	copyPanel(w.panel, w.b, w.k, column, w.n, width)
	return matrix{w.panel, 0, width, 1}
}

// finish runs the epilogue on rows of this point of the batch.
func (w *work) finish(from, to int) bool {
	low, high := append([]int{}, w.point...), append([]int{}, w.point...)
	for i := range high {
		high[i]++
	}
	return w.epilogue.part(w.call, append(low, from), append(high, to))
}

package portable

import (
	"errors"
	"fmt"
	"math"

	"forgekernel/forge/backend/portable/vector"
	"forgekernel/forge/loop"
)

// queryBlock is the most queries whose scores stand side by side.
const queryBlock = 16

// attention is a [loop.Attention]: a product for the scores of a block of queries,
// the softmax of each row, and a product with the values. Keys and values of a
// group are copied into panels once.
type attention struct {
	a              *loop.Attention
	set            *vector.Set
	scores, values product
	mul, sub       vector.Binary
	exp            vector.Unary
	largest, sum   *folding
}

func newAttention(set *vector.Set, a *loop.Attention) (*attention, error) {
	if a.Mask != nil || a.Strict || a.Cache != nil {
		return nil, errors.New("attention with a mask, a cache or every NaN has no vector form yet")
	}
	rows := min(queryBlock, a.Queries)
	t := &attention{
		a: a, set: set, scores: newProduct(set, rows, padded(a.Keys), a.D),
		mul: set.Binary["mul"], sub: set.Binary["sub"], exp: set.Unary["exp"],
	}
	var err error
	if t.largest, err = newFolding(set, loop.Max); err != nil {
		return nil, err
	}
	if t.sum, err = newFolding(set, loop.Sum); err != nil {
		return nil, err
	}
	if a.Causal { // each row has keys of its own
		rows = 1
	}
	t.values = newProduct(set, rows, a.E, a.Keys)
	return t, nil
}

func (t *attention) doc() string {
	return fmt.Sprintf("%d queries at a time, their scores in rows", t.scores.m)
}

func (t *attention) scratch() int {
	n, e := padded(t.a.Keys), padded(t.a.E)
	return n*t.a.D + n*e + t.scores.m*n + n + max(t.values.spill(), n) + vector.Lanes
}

// attending is one run of attention.
type attending struct {
	*attention
	stop  func() bool
	keys  []float32 // panels of the transposed keys
	value []float32 // panels of the values
	s     matrix    // scores
	scale []float32
	spill []float32 // a tile, or a row
	acc   *[vector.Lanes]float32
}

func (t *attention) run(c *call) bool {
	rest := c.scratch
	take := func(n int) []float32 {
		s := rest[:n:n]
		rest = rest[n:]
		return s
	}
	n, e := padded(t.a.Keys), padded(t.a.E)
	w := &attending{attention: t, stop: c.stop.Load, keys: take(n * t.a.D), value: take(n * e), scale: take(n)}
	w.s = matrix{take(t.scores.m * n), 0, n, 1}
	w.acc = (*[vector.Lanes]float32)(take(vector.Lanes))
	w.spill = rest
	at := func(a loop.Access, batch, head int) matrix {
		p := c.params[a.Param]
		return matrix{p.data, p.first + a.Offset + batch*a.Strides[0] + head*a.Strides[1], a.Strides[2], a.Strides[3]}
	}
	perGroup := t.a.Heads / t.a.Groups
	for b := range t.a.Batches {
		for h := range t.a.Heads {
			if h%perGroup == 0 {
				k := at(t.a.K, b, h/perGroup)
				w.copyGroup(matrix{k.data, k.first, k.step, k.row}, at(t.a.V, b, h/perGroup))
			}
			for row := 0; row < t.a.Queries; row += t.scores.m {
				if w.stop() {
					return false
				}
				w.block(at(t.a.Q, b, h), at(t.a.Out, b, h), row)
			}
		}
	}
	return true
}

// copyGroup puts keys, which are columns, and values of a group into panels.
func (w *attending) copyGroup(k, v matrix) {
	into := func(dst []float32, p *product, m matrix, n int) {
		column := 0
		for _, width := range p.widths() {
			copyPanel(dst[column*p.k:], m, p.k, column, n, width)
			column += width
		}
	}
	into(w.keys, &w.scores, k, w.a.Keys)
	into(w.value, &w.values, v, w.a.E)
}

// block computes the queries from row on.
func (w *attending) block(q, out matrix, row int) {
	rows := min(w.scores.m, w.a.Queries-row)
	seen := w.a.Keys // keys that any of these queries sees
	if w.a.Causal {
		seen = min(seen, row+rows)
	}
	q.first += row * q.row
	out.first += row * out.row
	w.product(&w.scores, q, w.keys, w.a.D, seen, rows, w.s)
	w.set.Fill(w.scale, w.a.Scale)
	for r := range rows {
		n := w.a.Keys
		if w.a.Causal {
			n = min(n, row+r+1)
		}
		w.softmax(w.s.data[r*w.s.row:][:padded(n)], n)
		if w.a.Causal { // what is left out is not multiplied either
			from, to := w.s, out
			from.first += r * from.row
			to.first += r * to.row
			w.product(&w.values, from, w.value, n, w.a.E, 1, to)
		}
	}
	if !w.a.Causal {
		w.product(&w.values, w.s, w.value, w.a.Keys, w.a.E, rows, out)
	}
}

// product computes some rows and the panels of the first columns of a product
// whose second matrix is in panels of p.k rows, over the first k of them.
func (w *attending) product(p *product, a matrix, panels []float32, k, columns, rows int, c matrix) {
	column := 0
	for i, width := range p.widths() {
		if column >= columns {
			return
		}
		b := matrix{panels, column * p.k, width, 1}
		row := 0
		for _, mr := range even(rows, p.highest()) {
			p.block(a, b, p.panels[i], k, nil, c, row, mr, column, w.spill)
			row += mr
		}
		column += width
	}
}

// softmax makes shares of a row of n scores, and zeros of scores that are all
// -inf. The lanes behind them become zeros.
func (w *attending) softmax(x []float32, n int) {
	inf := float32(math.Inf(1))
	w.mul(x, x, w.scale[:len(x)])
	for i := n; i < len(x); i++ {
		x[i] = -inf
	}
	top := w.fold(w.largest, x)
	if top == -inf {
		clear(x)
		return
	}
	shift := w.spill[:len(x)]
	w.set.Fill(shift, top)
	w.sub(x, x, shift)
	w.exp(x, x)
	total := w.fold(w.sum, x)
	w.set.Fill(shift, 1/total)
	w.mul(x, x, shift)
}

// fold combines all of x.
func (w *attending) fold(f *folding, x []float32) float32 {
	w.set.Fill(w.acc[:], f.start)
	f.fold(w.acc, x)
	return f.across(w.acc[:])
}

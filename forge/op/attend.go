package op

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/mathf"
)

// attentionArithmetic is the inner loops of attention in one type.
type attentionArithmetic[T float] struct {
	dots    func(dst, q, k []T)
	step    axpy[T]
	softmax lineFunc[T]
}

var (
	arithmetic32 = &attentionArithmetic[float32]{mathf.Dots, axpy32, softmaxLine(mathf.Exp)}
	arithmetic64 = &attentionArithmetic[float64]{dots64, axpy64, softmaxLine(math.Exp)}
)

// dots64 is [mathf.Dots] in float64 with separate roundings.
func dots64(dst, q, k []float64) {
	for j := range dst {
		row := k[j*len(q):][:len(q)]
		sum := 0.0
		for i, x := range q {
			sum += float64(x * row[i])
		}
		dst[j] = sum
	}
}

// keyRun says that keys lo to hi-1 of a query stand one after another in
// storage, from row at on: in rows of D channels for keys, E for values.
type keyRun struct{ lo, hi, at int }

// attentionRow is the work space for the result row of one query.
type attentionRow[T float] struct {
	index   int // b, h and i as one number
	weights []T
	runs    []keyRun
	// mask is added to the scores; excluded pairs take no part. Nil for none.
	mask     []T
	excluded []bool
	strict   bool // keep every NaN of the separate operators

	maskBuf     []T
	excludedBuf []bool
}

// attend computes the result of every query. layout returns the runs of visible
// keys of query i of batch b for key head g, in order and without gaps from key
// 0 on, and the width of the softmax; the keys beyond the runs are excluded.
func attend[T float](c *ir.Call, a *attentionArithmetic[T], d heads, layout func(row *attentionRow[T], b, g, i int) ([]keyRun, int)) error {
	q, k, v, out := data[T](c.In[0]), data[T](c.In[1]), data[T](c.In[2]), data[T](c.Out[0])
	if len(out) == 0 {
		return nil
	}
	scale := T(scaleOf(c.Node))
	work := max(1, d.keys*(d.d+d.e))
	return parallel(c, d.b*d.h*d.q, max(1, 1<<16/work), func(lo, hi int) error {
		stop := stopper{call: c}
		row := &attentionRow[T]{weights: make([]T, d.keys), maskBuf: make([]T, d.keys), excludedBuf: make([]bool, d.keys)}
		for row.index = lo; row.index < hi; row.index++ {
			head := row.index / d.q
			runs, width := layout(row, head/d.h, head%d.h*d.g/d.h, row.index%d.q)
			row.runs = runs
			row.weights = row.weights[:width]
			if err := row.scores(&stop, a, q[row.index*d.d:][:d.d], k, scale); err != nil {
				return err
			}
			if err := row.softmax(&stop, a.softmax); err != nil {
				return err
			}
			if err := row.average(&stop, a, out[row.index*d.e:][:d.e], v); err != nil {
				return err
			}
		}
		return nil
	})
}

// excludeAfter excludes the keys after i.
func (r *attentionRow[T]) excludeAfter(i int) {
	r.excluded = r.excludedBuf
	for j := range r.excluded {
		r.excluded[j] = j > i
	}
}

// visible is the number of keys in the runs.
func (r *attentionRow[T]) visible() int {
	if len(r.runs) == 0 {
		return 0
	}
	return r.runs[len(r.runs)-1].hi
}

// scores fills the weights with scale * q.k + mask, and -inf for excluded
// pairs.
func (r *attentionRow[T]) scores(stop *stopper, a *attentionArithmetic[T], q, k []T, scale T) error {
	for _, run := range r.runs {
		err := stop.blocks(run.hi-run.lo, len(q), func(lo, hi int) {
			a.dots(r.weights[run.lo+lo:run.lo+hi], q, k[(run.at+lo)*len(q):])
		})
		if err != nil {
			return err
		}
	}
	visible := r.visible()
	for j := range r.weights[:visible] {
		s := T(r.weights[j] * scale)
		if r.mask != nil {
			s += r.mask[j]
		}
		if r.excluded != nil && r.excluded[j] {
			s = T(math.Inf(-1))
		}
		r.weights[j] = s
	}
	for j := visible; j < len(r.weights); j++ {
		r.weights[j] = T(math.Inf(-1))
	}
	return nil
}

// softmax turns scores into weights. When all scores are -inf there is nothing
// to attend to, and all weights are zero.
func (r *attentionRow[T]) softmax(stop *stopper, f lineFunc[T]) error {
	for _, s := range r.weights {
		if r.strict || !math.IsInf(float64(s), -1) {
			return f(stop, r.weights, func(i int) T { return r.weights[i] })
		}
	}
	clear(r.weights)
	return nil
}

// average adds up the values of the visible keys that are not excluded, in
// order, each times its weight.
func (r *attentionRow[T]) average(stop *stopper, a *attentionArithmetic[T], dst, v []T) error {
	clear(dst)
	for _, run := range r.runs {
		for j := run.lo; j < run.hi; {
			if r.excluded != nil && r.excluded[j] && !r.strict {
				j++
				continue
			}
			end := j + 1
			for end < min(j+4, run.hi) && (r.excluded == nil || r.strict || !r.excluded[end]) {
				end++
			}
			a.step(dst, v[(run.at+j-run.lo)*len(dst):], len(dst), r.weights[j:end])
			if err := stop.did((end - j) * len(dst)); err != nil {
				return err
			}
			j = end
		}
	}
	return nil
}

package portable

import (
	"fmt"
	"math"

	"forgekernel/forge/backend/portable/vector"
	"forgekernel/forge/loop"
)

// chunk is the most elements that an operation works on at once: a few such
// registers fit the nearest cache. It is also the most elements that one set of
// partial sums takes before it is added to a total, so that the chain of
// roundings of a long sum stays short.
const chunk = 1024

// lineLength is how many visits of a line one partial result takes where the
// results of many lines stand side by side.
const lineLength = 64

// nest runs the stages of a [loop.Nest]. Vectors run along one dimension, the
// lane: the last of the line, or the last outer one where the operand is
// contiguous there and results of many lines are folded side by side.
type nest struct {
	set       *vector.Set
	dims      []int // outer, then line
	outer     int   // how many are outer
	lane      int
	columns   bool // the lane is an outer dimension
	stages    []stage
	registers int
	width     int // elements of a register
}

func newNest(set *vector.Set, n *loop.Nest) (*nest, error) {
	k := &nest{set: set, dims: append(append([]int{}, n.Outer...), n.Line...), outer: len(n.Outer)}
	k.lane = len(k.dims) - 1
	if k.columns = wantsColumns(n); k.columns {
		k.lane = k.outer - 1
	}
	k.width = max(vector.Lanes, min(chunk, padded(k.dims[k.lane])))
	for i, s := range n.Stages {
		st, err := k.compile(s, i)
		if err != nil {
			return nil, err
		}
		k.stages = append(k.stages, st)
	}
	return k, nil
}

// padded is the next multiple of the vectors' length.
func padded(n int) int { return (n + vector.Lanes - 1) / vector.Lanes * vector.Lanes }

// wantsColumns looks at the operand of a reduction.
func wantsColumns(n *loop.Nest) bool {
	outer, last := len(n.Outer), len(n.Outer)+len(n.Line)-1
	columns := false
	if outer > 0 && n.Stages[0].Reduce != loop.NoReduction {
		n.Stages[0].Expr.Walk(func(x *loop.Expr) {
			if x.Op == loop.Load && x.Access.Strides[last] > 1 && x.Access.Strides[outer-1] == 1 {
				columns = true
			}
		})
	}
	return columns
}

func (k *nest) doc() string { return fmt.Sprintf("chunks of up to %d elements", k.width) }

// scratch holds the registers, partial results, and room for the end of a fold.
func (k *nest) scratch() int { return (len(k.stages)+k.registers+1)*k.width + 2*vector.Lanes }

// walk is one run of a nest: where it is, and its registers.
type walk struct {
	*nest
	*call
	from, to []int // corners of the outer points
	at       []int // coordinates; of the lane, where the chunk begins
	n        int   // elements of the chunk
	room     [][]float32
	regs     [][]float32 // what stands in each register for this chunk
	refs     [][]float32 // results of stages
	partial  []float32   // results of many lines, or the end of one
	acc      *[vector.Lanes]float32
	total    []float32 // of one line
}

func (k *nest) run(c *call) bool { return k.part(c, make([]int, len(k.dims)), k.dims) }

// part runs the points of the outer dimensions that lie between two corners.
func (k *nest) part(c *call, from, to []int) bool {
	w := walk{nest: k, call: c, from: from, to: to, at: make([]int, len(k.dims)), regs: make([][]float32, k.registers)}
	rest := c.scratch
	take := func(n int) []float32 {
		s := rest[:n:n]
		rest = rest[n:]
		return s
	}
	for range k.stages {
		w.refs = append(w.refs, take(k.width))
	}
	for range k.registers {
		w.room = append(w.room, take(k.width))
	}
	w.partial = take(k.width)
	w.acc = (*[vector.Lanes]float32)(take(vector.Lanes))
	w.total = take(vector.Lanes)
	return w.points(0)
}

// points visits the outer points from dimension i on.
func (w *walk) points(i int) bool {
	limit := w.outer
	if w.columns {
		limit--
	}
	if i < limit {
		for w.at[i] = w.from[i]; w.at[i] < w.to[i]; w.at[i]++ {
			if !w.points(i + 1) {
				return false
			}
		}
		return true
	}
	if !w.columns {
		return w.point()
	}
	for w.at[i] = 0; w.at[i] < w.dims[i]; w.at[i] += w.n {
		w.n = min(w.width, w.dims[i]-w.at[i])
		if !w.point() {
			return false
		}
	}
	return true
}

// point runs all stages at an outer point, or at a chunk of them.
func (w *walk) point() bool {
	for i := range w.stages {
		s := &w.stages[i]
		switch {
		case w.stop.Load():
			return false
		case s.fold != nil:
			w.reduce(s, i)
		case s.once:
			w.once(s, i)
		default:
			w.sweep(w.outer, func() { w.visit(s) })
		}
	}
	return true
}

// sweep calls body for each chunk of the line, from dimension i on.
func (w *walk) sweep(i int, body func()) {
	last := len(w.dims) - 1
	switch {
	case i < last || w.columns && i == last:
		for w.at[i] = 0; w.at[i] < w.dims[i] && !w.stop.Load(); w.at[i]++ {
			if i == last {
				body()
			} else {
				w.sweep(i+1, body)
			}
		}
	default:
		for w.at[i] = 0; w.at[i] < w.dims[i] && !w.stop.Load(); w.at[i] += w.n {
			w.n = min(w.width, w.dims[i]-w.at[i])
			body()
		}
	}
	w.at[i] = 0
}

// once evaluates a stage for one number, or for one of each line side by side.
func (w *walk) once(s *stage, i int) {
	if w.columns {
		copy(w.refs[i], w.visit(s)[:w.n])
		return
	}
	w.n = 1
	w.keep(i, w.visit(s)[0])
}

// keep makes a number the result of stage i.
func (w *walk) keep(i int, x float32) { w.set.Fill(w.refs[i], x) }

// reduce folds the line.
func (w *walk) reduce(s *stage, i int) {
	if w.columns {
		w.reduceColumns(s, i)
		return
	}
	w.set.Fill(w.acc[:], s.fold.start)
	w.set.Fill(w.total, s.fold.start)
	taken := 0
	flush := func() {
		s.fold.pairs(w.total, w.total, w.acc[:])
		w.set.Fill(w.acc[:], s.fold.start)
		taken = 0
	}
	w.sweep(w.outer, func() {
		x, whole := w.visit(s), w.n/vector.Lanes*vector.Lanes
		s.fold.fold(w.acc, x[:whole])
		if whole < w.n {
			end := w.partial[:vector.Lanes]
			w.set.Fill(end, s.fold.start)
			copy(end, x[whole:w.n])
			s.fold.fold(w.acc, end)
		}
		if taken += padded(w.n); taken >= chunk {
			flush()
		}
	})
	flush()
	w.keep(i, s.fold.across(w.total))
}

// reduceColumns folds lines side by side.
func (w *walk) reduceColumns(s *stage, i int) {
	m := padded(w.n)
	total, part := w.refs[i][:m], w.partial[:m]
	w.set.Fill(total, s.fold.start)
	w.set.Fill(part, s.fold.start)
	taken := 0
	flush := func() {
		s.fold.pairs(total, total, part)
		w.set.Fill(part, s.fold.start)
		taken = 0
	}
	w.sweep(w.outer, func() {
		s.fold.pairs(part, part, w.visit(s))
		if taken++; taken == lineLength {
			flush()
		}
	})
	flush()
}

// folding is how a reduction starts and combines.
type folding struct {
	start  float32
	scalar func(x, y float32) float32
	pairs  vector.Binary
	fold   vector.Fold
}

// across combines partial results, which it overwrites.
func (f *folding) across(x []float32) float32 {
	for h := vector.Lanes / 2; h > 0; h /= 2 {
		for l := range h {
			x[l] = f.scalar(x[l], x[l+h])
		}
	}
	return x[0]
}

func newFolding(set *vector.Set, r loop.Reduction) (*folding, error) {
	inf := float32(math.Inf(1))
	f := &folding{fold: set.Folds[string(r)]}
	switch r {
	case loop.Sum:
		f.pairs, f.scalar = set.Binary["add"], func(x, y float32) float32 { return x + y }
	case loop.Max:
		f.start, f.pairs, f.scalar = -inf, set.Binary["maximum"], func(x, y float32) float32 { return max(x, y) }
	case loop.Min:
		f.start, f.pairs, f.scalar = inf, set.Binary["minimum"], func(x, y float32) float32 { return min(x, y) }
	default:
		return nil, fmt.Errorf("the reduction %s has no vector form", r)
	}
	return f, nil
}

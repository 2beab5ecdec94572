package op

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// blockSize is the number of elements that flow through a scalar program at a
// time: few enough for its intermediate vectors to stay in the first-level
// cache, many enough to hide the cost of a call.
const blockSize = 512

// program is the scalar program of an elementwise or fused node: a list of
// steps over numbered vectors. Vectors 0 to inputs-1 are the operands.
type program struct {
	inputs int
	types  []tensor.DType // of operands, constants and intermediate vectors
	consts []constVector
	steps  []step
	result int
	// computed says that a step computes the result, so that its vector can be
	// the output itself.
	computed bool
}

type constVector struct {
	vector int
	value  *tensor.Tensor // a scalar
}

type step struct {
	name   string // of the operator
	kernel ir.Kernel
	dst    int
	args   []int
	// round is the half-precision type of the result, else 0.
	round tensor.DType
}

func newStep(n *ir.Node, types []tensor.DType, args []int, dst int) step {
	in := make([]tensor.DType, len(args))
	for i, a := range args {
		in[i] = types[a]
	}
	s := step{name: n.Op.Name, kernel: n.Op.Scalar(n, in, types[dst]), dst: dst, args: args}
	if isHalf(types[dst]) {
		s.round = types[dst]
	}
	return s
}

func isHalf(d tensor.DType) bool { return d == tensor.F16 || d == tensor.BF16 }

// evalElementwise evaluates a node of an elementwise operator: a program of
// one step.
func evalElementwise(c *ir.Call) error {
	k := len(c.In)
	args := make([]int, k)
	types := make([]tensor.DType, k, k+1)
	for i, t := range c.In {
		args[i], types[i] = i, t.DType()
	}
	types = append(types, c.Out[0].DType())
	p := &program{inputs: k, types: types, result: k, computed: true}
	p.steps = []step{newStep(c.Node, types, args, k)}
	return p.run(c)
}

// run applies the program to every element of the result.
func (p *program) run(c *ir.Call) error {
	shape := c.Out[0].Shape()
	loads := make([]func(w *worker, lo, hi int), len(c.In))
	for i, t := range c.In {
		loads[i] = loader(t, shape, i)
	}
	grain := max(blockSize, (1<<14)/max(1, len(p.steps))/blockSize*blockSize)
	return parallel(c, c.Out[0].Len(), grain, func(lo, hi int) error {
		w := p.newWorker(c.Out[0])
		for ; lo < hi; lo += blockSize {
			if err := c.Ctx.Err(); err != nil {
				return err
			}
			if err := w.block(loads, lo, min(lo+blockSize, hi)); err != nil {
				return err
			}
		}
		return nil
	})
}

// worker holds the vectors of one goroutine.
type worker struct {
	*program
	buffers *ir.Vectors // storage of each vector
	half    []uint16    // operands of f16 and bf16 before widening
	vectors *ir.Vectors // the vectors of the current block; may alias operands
	out     *tensor.Tensor
}

func (p *program) newWorker(out *tensor.Tensor) *worker {
	n, size := len(p.types), min(blockSize, out.Len())
	w := &worker{program: p, buffers: ir.NewVectors(n), vectors: ir.NewVectors(n), out: out}
	for i, t := range p.types {
		switch t {
		case tensor.F64:
			w.buffers.F64[i] = make([]float64, size)
		case tensor.I64:
			w.buffers.I64[i] = make([]int64, size)
		case tensor.I32:
			w.buffers.I32[i] = make([]int32, size)
		case tensor.Bool:
			w.buffers.Bool[i] = make([]bool, size)
		default:
			w.buffers.F32[i] = make([]float32, size)
		}
		if isHalf(t) && w.half == nil {
			w.half = make([]uint16, size)
		}
	}
	for _, k := range p.consts {
		w.fill(k)
	}
	return w
}

// fill repeats a constant over its vector.
func (w *worker) fill(k constVector) {
	switch t := k.value; t.DType() {
	case tensor.F64:
		repeat(w.buffers.F64[k.vector], t.Float64()[0])
	case tensor.I64:
		repeat(w.buffers.I64[k.vector], t.Int64()[0])
	case tensor.I32:
		repeat(w.buffers.I32[k.vector], t.Int32()[0])
	case tensor.Bool:
		repeat(w.buffers.Bool[k.vector], t.Bool()[0])
	default:
		repeat(w.buffers.F32[k.vector], float32(t.Elem(0)))
	}
}

func repeat[T any](dst []T, v T) {
	for i := range dst {
		dst[i] = v
	}
}

// block computes result elements lo to hi-1.
func (w *worker) block(loads []func(*worker, int, int), lo, hi int) error {
	for i := range w.types {
		w.reset(i, hi-lo)
	}
	for _, load := range loads {
		load(w, lo, hi)
	}
	if w.computed {
		w.aim(lo, hi)
	}
	for _, s := range w.steps {
		if err := s.kernel(w.vectors, s.dst, s.args); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if s.round != tensor.Invalid {
			tensor.RoundHalf(s.round, w.vectors.F32[s.dst])
		}
	}
	w.store(lo, hi)
	return nil
}

// reset gives vector i its own buffer.
func (w *worker) reset(i, n int) {
	switch w.types[i] {
	case tensor.F64:
		w.vectors.F64[i] = w.buffers.F64[i][:n]
	case tensor.I64:
		w.vectors.I64[i] = w.buffers.I64[i][:n]
	case tensor.I32:
		w.vectors.I32[i] = w.buffers.I32[i][:n]
	case tensor.Bool:
		w.vectors.Bool[i] = w.buffers.Bool[i][:n]
	default:
		w.vectors.F32[i] = w.buffers.F32[i][:n]
	}
}

// aim makes the output itself the vector of the result, where the types agree.
func (w *worker) aim(lo, hi int) {
	r := w.result
	switch w.types[r] {
	case tensor.F32:
		w.vectors.F32[r] = w.out.Float32()[lo:hi]
	case tensor.F64:
		w.vectors.F64[r] = w.out.Float64()[lo:hi]
	case tensor.I64:
		w.vectors.I64[r] = w.out.Int64()[lo:hi]
	case tensor.I32:
		w.vectors.I32[r] = w.out.Int32()[lo:hi]
	case tensor.Bool:
		w.vectors.Bool[r] = w.out.Bool()[lo:hi]
	}
}

// store writes the result that is not in the output yet.
func (w *worker) store(lo, hi int) {
	r := w.result
	if t := w.types[r]; isHalf(t) {
		tensor.NarrowHalf(t, w.out.Bits16()[lo:hi], w.vectors.F32[r])
		return
	}
	if w.computed {
		return
	}
	switch w.types[r] {
	case tensor.F32:
		copy(w.out.Float32()[lo:hi], w.vectors.F32[r])
	case tensor.F64:
		copy(w.out.Float64()[lo:hi], w.vectors.F64[r])
	case tensor.I64:
		copy(w.out.Int64()[lo:hi], w.vectors.I64[r])
	case tensor.I32:
		copy(w.out.Int32()[lo:hi], w.vectors.I32[r])
	case tensor.Bool:
		copy(w.out.Bool()[lo:hi], w.vectors.Bool[r])
	}
}

// loader returns what brings operand i, broadcast to shape, into its vector.
func loader(t *tensor.Tensor, shape []int, i int) func(w *worker, lo, hi int) {
	at := newWalker(t.Shape(), shape)
	switch t.DType() {
	case tensor.F32:
		src := t.Float32()
		return func(w *worker, lo, hi int) { w.vectors.F32[i] = load(&at, src, w.buffers.F32[i], lo, hi) }
	case tensor.F64:
		src := t.Float64()
		return func(w *worker, lo, hi int) { w.vectors.F64[i] = load(&at, src, w.buffers.F64[i], lo, hi) }
	case tensor.I64:
		src := t.Int64()
		return func(w *worker, lo, hi int) { w.vectors.I64[i] = load(&at, src, w.buffers.I64[i], lo, hi) }
	case tensor.I32:
		src := t.Int32()
		return func(w *worker, lo, hi int) { w.vectors.I32[i] = load(&at, src, w.buffers.I32[i], lo, hi) }
	case tensor.Bool:
		src := t.Bool()
		return func(w *worker, lo, hi int) { w.vectors.Bool[i] = load(&at, src, w.buffers.Bool[i], lo, hi) }
	}
	src, dtype := t.Bits16(), t.DType()
	return func(w *worker, lo, hi int) {
		tensor.WidenHalf(dtype, w.vectors.F32[i], load(&at, src, w.half, lo, hi))
	}
}

package op

import (
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// blockSize is the number of elements that flow through a scalar program at a
// time: few enough for its intermediate vectors to stay in the first-level
// cache, many enough to hide the cost of a call.
const blockSize = 512

// evalElementwise evaluates a node of an elementwise operator.
func evalElementwise(c *ir.Call) error {
	return evalFloat(c, elementwiseProgram[float32], elementwiseProgram[float64])
}

// evalFloat runs a scalar program in the type of the result.
func evalFloat(c *ir.Call, f32 func(*ir.Node) *program[float32], f64 func(*ir.Node) *program[float64]) error {
	if c.Out[0].DType() == tensor.F32 {
		return f32(c.Node).run(c)
	}
	return f64(c.Node).run(c)
}

// program is the scalar program of an elementwise or fused node: a list of
// steps over numbered vectors. Vectors 0 to inputs-1 are the operands.
type program[T float] struct {
	inputs  int
	vectors int // operands, constants and intermediate vectors
	consts  []constVector[T]
	steps   []step[T]
	result  int
	direct  bool // a step computes the result, so its vector can be the output
}

type constVector[T float] struct {
	vector int
	value  T
}

type step[T float] struct {
	kernel func(dst []T, args ...[]T)
	dst    int
	args   []int
}

// kernelOf returns a node's scalar kernel for T.
func kernelOf[T float](n *ir.Node) func(dst []T, args ...[]T) {
	var k any
	switch any(T(0)).(type) {
	case float32:
		k = n.Op.Scalar.F32(n)
	default:
		k = n.Op.Scalar.F64(n)
	}
	return k.(func(dst []T, args ...[]T))
}

// elementwiseProgram is the one-step program of a single operator.
func elementwiseProgram[T float](n *ir.Node) *program[T] {
	k := len(n.In)
	args := make([]int, k)
	for i := range args {
		args[i] = i
	}
	return &program[T]{
		inputs: k, vectors: k + 1, result: k, direct: true,
		steps: []step[T]{{kernel: kernelOf[T](n), dst: k, args: args}},
	}
}

// bodyProgram is the program of a fused node. The vector of a value that has
// been read for the last time is used again, also in place.
func bodyProgram[T float](n *ir.Node) *program[T] {
	body := n.Body
	p := &program[T]{inputs: len(body.Inputs), vectors: len(body.Inputs)}
	vector := make(map[*ir.Value]int)
	for i, v := range body.Inputs {
		vector[v] = i
	}
	last := lastReaders(body)
	var free []int
	for _, m := range body.Nodes {
		v := m.Out[0]
		if m.Op.Class == ir.Constant {
			vector[v] = p.newVector()
			p.consts = append(p.consts, constVector[T]{vector[v], T(m.Tensor("value").Item())})
			continue
		}
		s := step[T]{kernel: kernelOf[T](m)}
		for i, u := range m.In {
			s.args = append(s.args, vector[u])
			computed := u.Def != nil && u.Def.Op.Class != ir.Constant
			if computed && last[u] == m && !slices.Contains(m.In[:i], u) {
				free = append(free, vector[u])
			}
		}
		if len(free) > 0 {
			s.dst = free[len(free)-1]
			free = free[:len(free)-1]
		} else {
			s.dst = p.newVector()
		}
		vector[v] = s.dst
		p.steps = append(p.steps, s)
		p.direct = v == body.Outputs[0] || p.direct
	}
	p.result = vector[body.Outputs[0]]
	return p
}

// lastReaders maps each value to the last node that reads it. An output has
// none: it is read at the end.
func lastReaders(g *ir.Graph) map[*ir.Value]*ir.Node {
	last := make(map[*ir.Value]*ir.Node)
	for _, n := range g.Nodes {
		for _, v := range n.In {
			last[v] = n
		}
	}
	for _, v := range g.Outputs {
		delete(last, v)
	}
	return last
}

func (p *program[T]) newVector() int {
	p.vectors++
	return p.vectors - 1
}

// run applies the program to every element of the result.
func (p *program[T]) run(c *ir.Call) error {
	out := data[T](c.Out[0])
	shape := c.Out[0].Shape()
	in := make([][]T, len(c.In))
	walkers := make([]walker, len(c.In))
	for i, t := range c.In {
		in[i] = data[T](t)
		walkers[i] = newWalker(t.Shape(), shape)
	}
	grain := max(blockSize, (1<<14)/max(1, len(p.steps))/blockSize*blockSize)
	return parallel(c, len(out), grain, func(lo, hi int) error {
		w := p.newWorker()
		for ; lo < hi; lo += blockSize {
			if err := c.Ctx.Err(); err != nil {
				return err
			}
			w.block(in, walkers, out, lo, min(lo+blockSize, hi))
		}
		return nil
	})
}

// worker holds the vectors of one goroutine.
type worker[T float] struct {
	*program[T]
	buffers [][]T // storage of each vector
	vectors [][]T // the vectors of the current block; may alias operands
	args    [][]T
}

func (p *program[T]) newWorker() *worker[T] {
	w := &worker[T]{program: p, buffers: make([][]T, p.vectors), vectors: make([][]T, p.vectors)}
	storage := make([]T, p.vectors*blockSize)
	for i := range w.buffers {
		w.buffers[i] = storage[i*blockSize : (i+1)*blockSize]
	}
	for _, k := range p.consts {
		b := w.buffers[k.vector]
		for i := range b {
			b[i] = k.value
		}
	}
	return w
}

// block computes result elements lo to hi-1.
func (w *worker[T]) block(in [][]T, walkers []walker, out []T, lo, hi int) {
	for i, b := range w.buffers {
		w.vectors[i] = b[:hi-lo]
	}
	for i := range in {
		w.vectors[i] = load(&walkers[i], in[i], w.buffers[i], lo, hi)
	}
	if w.direct {
		w.vectors[w.result] = out[lo:hi]
	}
	for _, s := range w.steps {
		w.args = w.args[:0]
		for _, a := range s.args {
			w.args = append(w.args, w.vectors[a])
		}
		s.kernel(w.vectors[s.dst], w.args...)
	}
	if !w.direct {
		copy(out[lo:hi], w.vectors[w.result])
	}
}

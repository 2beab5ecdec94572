// Package portable compiles graphs to calls of vector functions, at once and
// without a C compiler.
//
// A program has the memory plan and the kernels of backend cpu (packages planned
// and loop). A nest of loops becomes a list of operations, each of which works on
// a chunk of elements that stays in the nearest cache; a contraction becomes calls
// of register tiles over panels of its second matrix; attention is made of both.
// Package vector has the operations and the tiles for this machine.
//
// A node without such a form runs by its operator's own evaluation;
// [backend.Executable.Kernels] names each with the reason.
//
// Elementwise results equal those of the interpreter bit by bit. Sums run in
// another order, and a bias is where the sum of a contraction begins.
package portable

import (
	"context"
	"errors"
	"fmt"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/backend/portable/vector"
	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// DefaultMaxBytes is the default of [Backend.MaxBytes].
const DefaultMaxBytes = 4 << 30

// Backend compiles for the vector functions of this machine.
type Backend struct {
	Set *vector.Set
	// MaxBytes bounds the memory that intermediate values of one run may need.
	MaxBytes int64
	// Workers is the number of goroutines of a node that runs by its operator's
	// evaluation; 0 means one per core. Kernels run on one.
	Workers int
}

var _ backend.Backend = (*Backend)(nil)

// New returns the backend for the quickest functions of this machine.
func New() *Backend { return &Backend{Set: vector.Sets()[0], MaxBytes: DefaultMaxBytes} }

// Name is "portable".
func (b *Backend) Name() string { return "portable" }

// kernel is the work of one node. It is immutable.
type kernel interface {
	// run does the work, and reports false when the run was stopped.
	run(c *call) bool
	// scratch is the number of elements of memory that it needs beside.
	scratch() int
	// doc says how the work is done, one clause.
	doc() string
}

// step is a kernel with the places of its parameters, or a node that runs by its
// operator's evaluation.
type step struct {
	node   *ir.Node
	kernel kernel // nil for a node
	why    string // a node has no kernel
	args   []planned.Place
}

// Compile plans a graph and prepares its kernels.
func (b *Backend) Compile(_ context.Context, g *ir.Graph) (backend.Executable, error) {
	laid, err := planned.New(g, b.MaxBytes)
	if err != nil {
		return nil, err
	}
	laid.Workers = b.Workers
	x := &Executable{Program: laid, set: b.Set}
	for _, n := range x.Program.Graph.Nodes {
		if n.Op.Class != ir.Constant {
			x.kernels = append(x.kernels, x.add(n))
		}
	}
	for _, s := range x.steps {
		if s.kernel != nil {
			x.scratch = max(x.scratch, s.kernel.scratch())
		}
	}
	return x, nil
}

// add appends the step of a node, if it needs one, and tells what runs it.
func (x *Executable) add(n *ir.Node) backend.Kernel {
	told := backend.Kernel{Value: n.Out[0].String(), Reason: x.Idle(n)}
	if told.Reason != "" {
		return told
	}
	steps, err := x.lower(n)
	if err != nil {
		told.Kernel, told.Reason = n.Op.Name+", reference", err.Error()
		x.steps = append(x.steps, step{node: n, why: told.Reason})
		return told
	}
	told.Kernel = fmt.Sprintf("%s, vectors of %s", n.Op.Name, x.set.Name)
	if told.Reason = steps[len(steps)-1].kernel.doc(); len(steps) > 1 {
		told.Reason = fmt.Sprintf("%d kernels; the last in %s", len(steps), told.Reason)
	}
	x.steps = append(x.steps, steps...)
	return told
}

// lower makes the kernels of a node. The error says why there are none.
func (x *Executable) lower(n *ir.Node) ([]step, error) {
	kernels, err := x.Lower(n)
	if err != nil {
		return nil, err
	}
	var steps []step
	locals := make(map[*loop.Local]planned.Place)
	for _, k := range kernels {
		s := step{node: n}
		for i, p := range k.Params {
			weight := k.Contraction != nil && i == k.Contraction.B.Param // which may be packed as f32
			if d := p.DType(); d != tensor.F32 && !weight {
				return nil, fmt.Errorf("%v is %v; vectors hold f32", p, d)
			}
			at, known := locals[p.Local]
			switch {
			case p.Local == nil:
				at = x.Place(p.Value)
			case !known:
				at = x.AddLocal(p.Local)
				locals[p.Local] = at
			}
			s.args = append(s.args, at)
		}
		if s.kernel, err = x.compile(k, &s); err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// compile chooses the form of a kernel.
func (x *Executable) compile(k *loop.Kernel, s *step) (kernel, error) {
	switch {
	case k.Nest != nil:
		return newNest(x.set, k.Nest)
	case k.Contraction != nil:
		return x.contraction(k, s)
	case k.Attention != nil:
		return newAttention(x.set, k.Attention)
	}
	return nil, errors.New("its kernel has no vector form")
}

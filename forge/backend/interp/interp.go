// Package interp runs a graph node by node with the operators' own
// evaluation. It defines what a program means.
//
// [New] computes in the program's types: float32 results are those that
// generated kernels reproduce. [Reference] computes the same program in
// float64 with the functions of package math and rounds nothing in between; it
// is what all other backends are compared with.
package interp

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// DefaultMaxBytes is the default of [Interp.MaxBytes].
const DefaultMaxBytes = 4 << 30

// Interp is the interpreter as a [backend.Backend].
type Interp struct {
	// MaxBytes bounds the memory that live intermediate values and outputs of
	// one run may need; Compile refuses a program that needs more. What a kernel
	// needs while it runs comes on top: float32 copies of half-precision
	// operands, partial sums, one line per goroutine.
	MaxBytes int64
	// Workers is the number of goroutines of a kernel; 0 means one per core.
	// Results do not depend on it.
	Workers int

	reference bool
}

var _ backend.Backend = (*Interp)(nil)

// New returns the interpreter in the program's own types.
func New() *Interp { return &Interp{MaxBytes: DefaultMaxBytes} }

// Reference returns the float64 interpreter. Inputs have the program's types
// and are widened; outputs are f64 tensors.
func Reference() *Interp { return &Interp{MaxBytes: DefaultMaxBytes, reference: true} }

// Name is "interp" or "reference".
func (b *Interp) Name() string {
	if b.reference {
		return "reference"
	}
	return "interp"
}

// Compile verifies the graph and finds the last use of every value.
func (b *Interp) Compile(_ context.Context, g *ir.Graph) (backend.Executable, error) {
	if err := ir.Verify(g); err != nil {
		return nil, err
	}
	x := &executable{graph: g.Clone(), reference: b.reference, workers: b.Workers, constants: make(map[*ir.Value]*tensor.Tensor)}
	if x.workers <= 0 {
		x.workers = runtime.GOMAXPROCS(0)
	}
	x.findWindows()
	if peak := x.plan(); peak > b.MaxBytes {
		return nil, fmt.Errorf("%s needs %d MiB for its intermediate values; the limit is %d MiB", g.Name, peak>>20, b.MaxBytes>>20)
	}
	for _, n := range x.graph.Nodes {
		if n.Op.Class == ir.Constant {
			t, err := n.Tensor("value").Convert(x.spec(n.Out[0]).DType)
			if err != nil {
				return nil, err
			}
			x.constants[n.Out[0]] = t
		}
	}
	return x, nil
}

type executable struct {
	graph     *ir.Graph
	reference bool
	workers   int
	dead      [][]*ir.Value // per node: values that nothing reads afterwards
	constants map[*ir.Value]*tensor.Tensor
	windows   map[*ir.Node][]int      // views that share storage; see storage.go
	inPlace   map[*ir.Node]bool       // nodes whose result is their first operand
	owner     map[*ir.Value]*ir.Value // whose storage each value lies in
}

// Graph is the program.
func (x *executable) Graph() *ir.Graph { return x.graph }

// spec is the type that a value has when it runs.
func (x *executable) spec(v *ir.Value) ir.Spec {
	s := v.Spec
	if x.reference && s.DType.IsFloat() {
		s.DType = tensor.F64
	}
	return s
}

// plan fills dead and returns the largest number of bytes that are live at
// once, inputs and constants excluded. Storage lives as long as its last view.
func (x *executable) plan() int64 {
	count := len(x.graph.Nodes)
	last := make(map[*ir.Value]int)    // the last node that touches a value
	release := make(map[*ir.Value]int) // the same for the storage that a value owns
	for i, n := range x.graph.Nodes {
		for _, v := range slices.Concat(n.Out, n.In) {
			last[v] = i
			release[x.owner[v]] = i
		}
	}
	for _, v := range x.graph.Outputs {
		last[v] = count
		release[x.owner[v]] = count
	}
	x.dead = make([][]*ir.Value, count+1)
	freed := make([]int64, count+1)
	for v := range x.graph.Values {
		if v.Def == nil {
			continue
		}
		x.dead[last[v]] = append(x.dead[last[v]], v)
		if x.allocates(v) {
			freed[release[v]] += x.spec(v).Bytes()
		}
	}
	x.dead = x.dead[:count] // outputs stay
	var live, peak int64
	for i, n := range x.graph.Nodes {
		for _, v := range n.Out {
			if x.allocates(v) {
				live += x.spec(v).Bytes()
			}
		}
		peak = max(peak, live)
		live -= freed[i]
	}
	return peak
}

// Run evaluates the nodes in order. Values are dropped after their last use.
func (x *executable) Run(ctx context.Context, inputs ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	if err := backend.CheckInputs(x.graph, inputs); err != nil {
		return nil, err
	}
	values := maps.Clone(x.constants)
	for i, v := range x.graph.Inputs {
		t := inputs[i]
		if want := x.spec(v).DType; t.DType() != want {
			wide, err := t.Convert(want)
			if err != nil {
				return nil, err
			}
			t = wide
		}
		values[v] = t
	}
	for i, n := range x.graph.Nodes {
		if n.Op.Class == ir.Constant {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := x.eval(ctx, n, values); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, fmt.Errorf("%s: %v = %s: %w", x.graph.Name, n.Out[0], n.Op.Name, err)
		}
		for _, v := range x.dead[i] {
			delete(values, v)
		}
	}
	return x.outputs(values), nil
}

func (x *executable) eval(ctx context.Context, n *ir.Node, values map[*ir.Value]*tensor.Tensor) error {
	if offsets, ok := x.windows[n]; ok {
		return share(n, offsets, values)
	}
	call := &ir.Call{Ctx: ctx, Node: n, Wide: x.reference, Workers: x.workers}
	for _, v := range n.In {
		call.In = append(call.In, values[v])
	}
	if x.inPlace[n] {
		values[n.Out[0]] = call.In[0]
		call.Out = call.In[:1]
		return n.Op.Eval(call)
	}
	for _, v := range n.Out {
		s := x.spec(v)
		t, err := tensor.Zeros(s.DType, s.Shape...)
		if err != nil {
			return err
		}
		call.Out = append(call.Out, t)
		values[v] = t
	}
	return n.Op.Eval(call)
}

// outputs returns tensors that share no memory with inputs, constants or one
// another, also where an output is one of these, a view or listed twice.
func (x *executable) outputs(values map[*ir.Value]*tensor.Tensor) []*tensor.Tensor {
	given := make(map[*ir.Value]bool) // owners of storage that must not be given away
	for _, v := range x.graph.Inputs {
		given[v] = true
	}
	for v := range x.constants {
		given[v] = true
	}
	outs := make([]*tensor.Tensor, len(x.graph.Outputs))
	for i, v := range x.graph.Outputs {
		t, owner := values[v], x.owner[v]
		if given[owner] || t.Bytes() < int(x.spec(owner).Bytes()) { // a window would keep all of its owner
			t = t.Clone()
		} else {
			given[owner] = true
		}
		outs[i] = t
	}
	return outs
}
